"""What ov.conf may say about a language model."""

from pydantic import Field

from contextfind.config.section import OPENAI, Seconds, Section, Url, secret


class ChatSettings(Section):
    """A language model behind a `/v1/chat/completions` endpoint. No model: none is asked; searches are then planned by `vlm` in place of `query_planner`. A planner with neither address nor key is asked where `vlm` is."""

    provider: str = Field(
        default="openai",
        description="Whoever it is, it is spoken to in OpenAI's way.",
    )
    model: str = Field(default="", description="Name of the model. Empty: there is none.")
    api_base: Url = Field(
        default=OPENAI, description="Address of the endpoint, without `/chat/completions`."
    )
    api_key: str = secret("Key of the endpoint.")
    temperature: float = Field(
        default=0.0,
        ge=0,
        le=2,
        description="0 gives the same answer each time, as far as the model can.",
    )
    concurrency: int = Field(
        default=4,
        ge=1,
        le=256,
        description="Requests under way at once: of those that somebody waits for (plans, answers) and of those of work behind them (summaries, memories), each. Also spelled `max_concurrent`.",
    )
    timeout: Seconds = Field(
        default=60.0, description="Seconds in which an answer must be there, retries included."
    )
