"""The kinds of model the house may call, and the tokenizer of the word index."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from contextfind.domain.records import Matrix
from contextfind.domain.scoring import Calibration

Purpose = Literal["query", "document"]


@dataclass(frozen=True, slots=True)
class ModelStanding:
    """How a model that is asked over the network does.

    state: `closed` while it is asked as usual; `open` while it is down and left alone; `half_open` when the
    next call is to find out. calls, failures: requests sent since the start, and how many of them brought
    nothing of use. fault: why the last one failed, in one line; empty once it has answered again.
    """

    name: str
    state: str
    calls: int
    failures: int
    fault: str

    @property
    def line(self) -> str:
        """`ok`, or what is wrong."""
        if not self.fault:
            return "ok"
        return self.fault if self.state == "closed" else f"down: {self.fault}"


class RemoteModel(Protocol):
    """A model that is asked over the network."""

    @property
    def standings(self) -> Sequence[ModelStanding]:
        """How its endpoints do."""
        ...


class Embedder(Protocol):
    """Text to unit vectors.

    dimension: length of a vector. accepts_images: whether pictures can be embedded too.
    fingerprint: provider, model, dimension and text recipe; data made under another one is refused.
    calibration: what its cosines mean. max_characters: longer inputs are cut by the caller.
    """

    @property
    def dimension(self) -> int: ...  # noqa: D102 - described above
    @property
    def fingerprint(self) -> str: ...  # noqa: D102
    @property
    def accepts_images(self) -> bool: ...  # noqa: D102
    @property
    def calibration(self) -> Calibration: ...  # noqa: D102
    @property
    def max_characters(self) -> int: ...  # noqa: D102

    async def embed(self, inputs: Sequence[str], purpose: Purpose) -> Matrix:
        """Return shape (len(inputs), dimension), rows of unit length, finite.

        Any text is accepted (NUL, lone surrogates, blank); the same text gives the same row
        whatever else is in the call.

        Raises:
            UnavailableError: no answer; `details["retryable"]` false when trying again cannot help.

        """
        ...

    async def aclose(self) -> None:
        """Let go of threads and sockets."""
        ...


class Tokenizer(Protocol):
    """Text to the terms of the word index; the same for documents and queries."""

    def terms(self, text: str) -> list[str]:
        """Return the terms in reading order, repeats included. Pure, no I/O, safe from any thread."""
        ...


class Reranker(Protocol):
    """A slower, better judge of (query, document) pairs."""

    async def rerank(self, query: str, documents: Sequence[str]) -> Sequence[float | None]:
        """Return one score in [0, 1] per document, in order; None where there is no judgement.

        A higher score is a better match, whatever else is in the call. Any text is accepted (NUL,
        lone surrogates, blank); equal texts get equal scores. Without documents nothing is asked.

        Raises:
            UnavailableError: nothing was judged; the caller falls back to its own scores;
                `details["retryable"]` false when trying again cannot help.

        """
        ...


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation with a model."""

    role: Literal["system", "user", "assistant"]
    text: str


class ChatModel(Protocol):
    """A language model that answers in text.

    name: which model answers; another name may give other answers to the same messages.
    """

    @property
    def name(self) -> str: ...  # noqa: D102 - described above

    async def complete(
        self,
        messages: Sequence[Message],
        max_tokens: int,
        schema: Mapping[str, object] | None = None,
    ) -> str:
        """Return the answer, never blank, without the model's thinking aloud.

        Any text is accepted. schema: a JSON schema of an object (all properties required, no others)
        that is asked for; not all models keep to it, so read the answer with `json_in` and check it.

        Raises:
            UnavailableError: no answer within the model's time, or a blank one;
                `details["retryable"]` false when trying again cannot help.

        """
        ...

    async def aclose(self) -> None:
        """Let go of sockets."""
        ...
