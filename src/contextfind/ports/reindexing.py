"""What building an index anew asks of the store, besides its log."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from contextfind.domain.uri import Uri
from contextfind.ports.store import RecordStore


@dataclass(frozen=True, slots=True)
class Extent:
    """How many records have passages, how many of those lack a vector, and the first addresses of these."""

    records: int
    lacking: int
    first: Sequence[Uri] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """What lies at or below an address of an account, but for the trees of other users."""

    account: str
    under: Uri
    user: str


class ReindexedStore(RecordStore, Protocol):
    """A store whose records can be handed to the index again.

    `log_again` and `mark_stale` do one step of their work, so that others can write between two steps. A step looks
    at the addresses of a part from the last one to the first, so at a directory after all that lies in it: at no more
    than `limit`, the last ones before `before` (None: the last of all). It returns `before` of the next step, or None
    when nothing was left to look at. What comes to lie behind a step is not looked at.
    """

    async def log_again(self, part: Part, before: Uri | None, limit: int) -> Uri | None:
        """Log the records at the addresses of a step as if they had changed."""
        ...

    async def mark_stale(self, part: Part, before: Uri | None, limit: int) -> Uri | None:
        """Have the summaries of the directories among the addresses of a step written again."""
        ...

    async def extent(self, part: Part, most: int) -> Extent:
        """Count the records of a part, and name at most `most` addresses without a vector, in order."""
        ...
