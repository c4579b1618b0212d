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


class ReindexedStore(RecordStore, Protocol):
    """A store whose records can be handed to the index again.

    Its methods mean what lies at or below an address of an account, but for the trees of other users.
    """

    async def log_again(self, account: str, under: Uri, user: str) -> int:
        """Log all records there as if they had changed, and return the position."""
        ...

    async def mark_stale(self, account: str, under: Uri, user: str) -> int:
        """Have the summaries of all directories there written again; return how many those are."""
        ...

    async def extent(self, account: str, under: Uri, user: str, most: int) -> Extent:
        """Count the records there, and name at most `most` addresses without a vector, in order."""
        ...
