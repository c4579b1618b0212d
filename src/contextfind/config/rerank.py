"""What ov.conf may say about the reranker."""

from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from contextfind.config.section import Seconds, Section, secret

# who is meant by another name in `rerank.provider`; `openai` is anybody who speaks Cohere's form
_RERANKERS = {"vikingdb": "volcengine", "volc": "volcengine", "vllm": "openai", "litellm": "openai"}
_WITHOUT_ADDRESS = ("openai", "tei")  # these are no provider's own: they run somewhere


def _reranker(name: object) -> object:
    low = name.lower() if isinstance(name, str) else name
    return _RERANKERS.get(low, low) if isinstance(low, str) else low


class RerankSettings(Section):
    """A model that judges pairs of query and text, used by `search`. No model: none is asked."""

    provider: Annotated[
        Literal["", "cohere", "jina", "tei", "dashscope", "volcengine", "openai"],
        BeforeValidator(_reranker),
    ] = Field(
        default="",
        description="Whose form of rerank endpoint: `volcengine` (also `vikingdb`, `volc`) signs with `ak` and `sk`, and is meant when those are given alone; `openai` (also `vllm`, `litellm`) is any `/rerank` endpoint in Cohere's form.",
    )
    model: str = Field(
        default="",
        description="Name of the model. Also spelled `model_name`. Empty: there is none; `tei` needs no name, only an address.",
    )
    api_base: str = Field(
        default="",
        pattern=r"^($|https?://[^\s/]+)",
        description="Address of the endpoint, without `/rerank`. Empty: the provider's own; `tei` and `openai` have none.",
    )
    api_key: str = secret("Key of the endpoint.")
    ak: str = secret("Access key, for `volcengine`.")
    sk: str = secret("Secret key, for `volcengine`.")
    region: str = Field(
        default="cn-north-1", min_length=1, description="Region to sign for, for `volcengine`."
    )
    timeout: Seconds = Field(
        default=10.0, description="Seconds of one request; then the blended scores are used."
    )
    batch_size: int = Field(default=32, ge=1, le=1_000, description="Texts in one request.")
    concurrency: int = Field(
        default=4,
        ge=1,
        le=256,
        description="Requests under way at once. Also spelled `max_concurrent`.",
    )
    max_characters: int = Field(
        default=2_000,
        ge=100,
        le=100_000,
        description="Longer texts are cut; a passage with its headings has less.",
    )

    @property
    def enabled(self) -> bool:
        """Whether there is a model to ask."""
        return bool(self.model or (self.provider == "tei" and self.api_base))

    @model_validator(mode="before")
    @classmethod
    def _signed_is_volcengine(cls, given: object) -> object:
        if not isinstance(given, dict) or given.get("provider"):
            return given
        return given | {"provider": "volcengine"} if given.get("ak") and given.get("sk") else given

    @model_validator(mode="after")
    def _provider_and_keys_agree(self) -> Self:
        if self.provider == "" and (self.model or self.api_base):
            raise ValueError(
                "rerank.provider is missing; expected cohere, jina, tei, dashscope, volcengine, or "
                "openai for another endpoint in Cohere's form"
            )
        if self.provider == "volcengine" and self.enabled and not (self.ak and self.sk):
            raise ValueError("rerank.ak and rerank.sk are needed by provider 'volcengine'")
        if self.provider in _WITHOUT_ADDRESS and self.model and not self.api_base:
            raise ValueError(
                f"rerank.api_base is missing; provider {self.provider!r} runs where you run it"
            )
        return self
