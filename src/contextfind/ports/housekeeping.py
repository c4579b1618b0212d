"""What is left behind by deletes and updates, and taken away in small steps."""

from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from contextfind.domain.records import Level, RecordId

_KEY_DIGITS = (
    16  # hex digits: 64 bits; two names that share them keep a loose blob, and lose nothing
)
NameKeys = npt.NDArray[np.uint64]  # of each digest its `key_of`


def key_of(digest: str) -> int:
    """Return the first 16 hex digits of a blob's name as a number: what names and blobs are compared by."""
    return int(digest[:_KEY_DIGITS], 16)


@dataclass(frozen=True, slots=True)
class Swept:
    """What one step has taken away: so many things, so many bytes given back to the disk."""

    things: int = 0
    bytes: int = 0

    def __add__(self, other: "Swept") -> "Swept":
        """Return both together."""
        return Swept(self.things + other.things, self.bytes + other.bytes)


@dataclass(frozen=True, slots=True)
class Chore:
    """One kind of tidying: what its things are called, and its steps from the beginning.

    A step is short, right at any moment beside reads and writes, and loses nothing when the process dies in it;
    so is ending after any of them.

    Raises (each step):
        UnavailableError: the disk or the file refuses.

    """

    things: str
    steps: Callable[[], AsyncGenerator[Swept, None]]


class BlobNames(Protocol):
    """Tells which blobs records name."""

    async def settle(self) -> None:
        """Return when every commit that was handed in before is done."""
        ...

    async def named(self, after: RecordId, limit: int) -> tuple[Sequence[RecordId], NameKeys]:
        """Return the next `limit` records by id, and the keys of every digest that they name.

        Nothing is left out that records name, something else may be in it. No records: there are no more.
        """
        ...


class BlobSweep(Protocol):
    """Takes away blobs that nobody names."""

    @property
    def shelves(self) -> Sequence[str]:
        """What `sweep` may be asked for; all of them hold all blobs."""
        ...

    async def watch(self) -> None:
        """Remember what is put from now on until `rest`; return when all filings open now are closed."""
        ...

    def rest(self) -> None:
        """End of the watch."""
        ...

    async def sweep(self, shelf: str, named: NameKeys) -> Swept:
        """Remove from a shelf what is not `named` (ascending keys) and not remembered as put."""
        ...


@dataclass(frozen=True, slots=True)
class NamedText:
    """Which blob a record has its text in (`content`), and which digest it was made from (`source`)."""

    id: RecordId
    account: str
    uri: str
    level: Level
    content: str
    source: str


class TextNames(Protocol):
    """Tells where texts lie, and is told which are lost."""

    async def texts(self, after: RecordId, limit: int) -> Sequence[NamedText]:
        """Return the next `limit` records that have their text in a blob, by id."""
        ...

    async def give_up(self, lost: Sequence[NamedText], sources: Sequence[str]) -> int:
        """Note that texts are lost, and return for how many records that still name them.

        A directory's summary is written again (it is stale now). A file keeps its name for the text; one that was
        made from one of `sources` counts as changed when its tree is added again, which brings the text back.
        """
        ...


class BlobPresence(Protocol):
    """Tells which blobs are there; not whether they are whole."""

    async def absent(self, digests: Sequence[str]) -> Sequence[str]:
        """Return those that are not there, in order."""
        ...
