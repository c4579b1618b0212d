"""Stand-ins for engines and models: deterministic, instant, honest to their ports."""

import asyncio
import json
import re
from collections.abc import Mapping, Sequence

from contextfind.adapters.local.hash import HashEmbedder
from contextfind.domain.errors import UnavailableError
from contextfind.domain.records import Matrix
from contextfind.ports import Message, Purpose


class SimpleTokenizer:
    """A `Tokenizer` that knows lower-case letters and digits."""

    def terms(self, text: str) -> list[str]:
        """Return the runs of letters and digits, in lower case."""
        return re.findall(r"[^\W_]+", text.lower())


class FakeEmbedder(HashEmbedder):
    """A `HashEmbedder` that writes down what it was asked, and is down while `down` is set."""

    def __init__(self, dimension: int = 32) -> None:
        super().__init__("recipe1", dimension)
        self.calls: list[tuple[Purpose, tuple[str, ...]]] = []
        self.down: UnavailableError | None = None

    async def embed(self, inputs: Sequence[str], purpose: Purpose) -> Matrix:
        """Return the rows, or raise `down`."""
        self.calls.append((purpose, tuple(inputs)))
        if self.down is not None:
            raise self.down
        return await super().embed(inputs, purpose)


class FakeReranker:
    """A perfect judge: gives each text the score it was told; texts it was not told of get None.

    calls: query and texts, as they came. down: raised while it is set.
    """

    def __init__(self, scores: Mapping[str, float | None]) -> None:
        self.scores = dict(scores)
        self.calls: list[tuple[str, tuple[str, ...]]] = []
        self.down: UnavailableError | None = None

    async def rerank(self, query: str, documents: Sequence[str]) -> Sequence[float | None]:
        """Return the scores, or raise `down`."""
        self.calls.append((query, tuple(documents)))
        if self.down is not None:
            raise self.down
        return [self.scores.get(text) for text in documents]


class FakeChat:
    """A `ChatModel` that says one thing, raises it, or (None) says nothing ever.

    answer: a text as it is, anything else as JSON. asked: the messages of each call. tokens, structured: what each
    call must allow and ask for; tokens None: any number.
    """

    def __init__(
        self, answer: object, name: str = "fake", *, tokens: int | None, structured: bool = True
    ) -> None:
        self.answer = answer
        self.name = name
        self.asked: list[Sequence[Message]] = []
        self._tokens = tokens
        self._structured = structured

    async def complete(
        self,
        messages: Sequence[Message],
        max_tokens: int,
        schema: Mapping[str, object] | None = None,
    ) -> str:
        """Return the answer."""
        assert messages
        assert schema if self._structured else schema is None
        assert max_tokens > 0
        assert self._tokens in (None, max_tokens)
        self.asked.append(messages)
        if isinstance(self.answer, UnavailableError):
            raise self.answer
        if self.answer is None:
            await asyncio.Event().wait()
        return self.answer if isinstance(self.answer, str) else json.dumps(self.answer)

    async def aclose(self) -> None:
        """Hold nothing that could be let go."""
