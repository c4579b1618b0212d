"""Answers from any `/v1/chat/completions` endpoint: OpenAI, Ollama, vLLM, Volcengine Ark."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from contextfind.adapters.remote.breaker import Breaker
from contextfind.adapters.remote.dialect import Dialect
from contextfind.adapters.remote.endpoint import Endpoint, EndpointSettings, Patience
from contextfind.adapters.remote.failures import ProviderError
from contextfind.domain.plain_text import plain_text
from contextfind.ports.models import Message, ModelStanding

_ATTEMPTS = 3  # of one request, all within the time of one
_THOUGHT, _THOUGHT_END = "<think>", "</think>"


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """One chat model of a provider."""

    model: str
    temperature: float = 0.0


class OpenAIChat:
    """The `ChatModel` over HTTP.

    What the endpoint refuses about the request (a JSON schema, a temperature, the name of the length
    limit) is left out from then on: see `Dialect`.
    """

    def __init__(
        self,
        settings: ChatSettings,
        endpoint: EndpointSettings,
        breaker: Breaker | None = None,
        patience: Patience | None = None,
    ) -> None:
        self._settings = settings
        self._seconds = endpoint.timeout
        self._endpoint = Endpoint(endpoint, breaker, patience)
        self._dialect = Dialect()

    @property
    def name(self) -> str:
        """The model's name at its provider."""
        return self._settings.model

    @property
    def standings(self) -> Sequence[ModelStanding]:
        """How its endpoint does."""
        return [self._endpoint.standing]

    async def complete(
        self,
        messages: Sequence[Message],
        max_tokens: int,
        schema: Mapping[str, object] | None = None,
    ) -> str:
        """Return the answer within the endpoint's `timeout` (retries included), never blank.

        Raises:
            UnavailableError: no usable answer; `details` hold provider, status, reason, retryable.

        """
        said = [(message.role, plain_text(message.text)) for message in messages]
        answer = await self._ask(said, max_tokens, schema)
        try:
            return _said(answer)
        except _WordlessError as error:
            raise self._endpoint.unusable(str(error)) from error

    async def aclose(self) -> None:
        """Close the connections."""
        await self._endpoint.aclose()

    async def _ask(
        self,
        messages: Sequence[tuple[str, str]],
        max_tokens: int,
        schema: Mapping[str, object] | None,
    ) -> object:
        """Ask, and ask again without what is refused; remember what was not."""
        due = asyncio.get_running_loop().time() + self._seconds
        known = dialect = self._dialect
        while True:
            body = {
                "model": self._settings.model,
                **dialect.limits(max_tokens, self._settings.temperature),
                **dialect.question(messages, schema),
            }
            try:
                left = due - asyncio.get_running_loop().time()
                answer = await self._endpoint.post("chat/completions", body, _ATTEMPTS, left)
            except ProviderError as error:
                plainer = dialect.plainer(error.status, error.reason, with_schema=bool(schema))
                if plainer is None:
                    raise
                dialect = plainer
            else:
                if dialect is not known:
                    self._dialect = dialect
                return answer


class _WordlessError(ValueError):
    """The answer says nothing; the text is for people."""


def _said(answer: object) -> str:
    """Return what the first choice says, without its thinking."""
    choices = answer.get("choices") if isinstance(answer, Mapping) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, Mapping) else None
    if not isinstance(message, Mapping):
        raise _WordlessError("gave an answer without a message")
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal:
        raise _WordlessError(f"the model refuses: {refusal[:200]}")
    text = _without_thoughts(plain_text(_text_of(message.get("content")))).strip()
    if not text:
        raise _WordlessError("the answer is empty")
    return text


def _text_of(content: object) -> str:
    """Return a string as it is, and the texts of a list of parts joined."""
    if isinstance(content, list):
        return "".join(_text_of(part) for part in content)
    if isinstance(content, Mapping):
        return _text_of(content.get("text"))
    return content if isinstance(content, str) else ""


def _without_thoughts(text: str) -> str:
    """Drop all up to `</think>`; an opening that was never closed means that no answer came."""
    answer = text.rpartition(_THOUGHT_END)[2]
    return "" if answer.lstrip().startswith(_THOUGHT) else answer
