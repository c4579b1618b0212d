"""Counting what an identity has: its memories, and how much of a part of the tree can be found."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from contextfind.domain.identity import Identity
from contextfind.domain.records import ContextType, Record
from contextfind.domain.scope import Scope, visible_to
from contextfind.domain.uri import ROOT, Uri
from contextfind.ports import Clock, SearchIndex
from contextfind.ports.moves import missing
from contextfind.ports.reindexing import Part, ReindexedStore

_MOST = 100_000  # memories that are looked at
_NAMED = 20  # addresses that an answer names
_HOT = 5  # uses from which on a memory counts as hot; one is warm


@dataclass(frozen=True, slots=True)
class MemoryCounts:
    """How many memories there are, by the directory they lie in and by how often they were read.

    oldest_days: whole days since the oldest one was made; None where there is none.
    """

    by_directory: Mapping[str, int]
    cold: int
    warm: int
    hot: int
    oldest_days: int | None

    @property
    def total(self) -> int:
        """All of them."""
        return self.cold + self.warm + self.hot


@dataclass(frozen=True, slots=True)
class Consistency:
    """How many records there are to be found, and which of them are not found by meaning yet.

    lag: changes that the index has not followed yet, of all accounts.
    """

    records: int
    missing: int
    first: Sequence[Uri]
    lag: int


class Census:
    """Counts; nothing is changed, and no use is counted."""

    def __init__(self, store: ReindexedStore, index: SearchIndex, clock: Clock) -> None:
        self._store = store
        self._index = index
        self._clock = clock

    async def memories(self, identity: Identity) -> MemoryCounts:
        """Count the memories that an identity may see: its own, and those of the account."""
        scope = visible_to(identity)
        roots = (Uri(f"viking://user/{identity.user}/memories"), Uri("viking://agent/memories"))
        found: list[tuple[Uri, Record]] = []
        for root in roots:
            below = await self._store.below(scope, root, _MOST)
            kept = (one for one in below if one.is_leaf and one.context_type is ContextType.MEMORY)
            found += [(root, record) for record in kept]
        uses = [record.active_count for _, record in found]
        oldest = min((record.created_at for _, record in found), default=None)
        return MemoryCounts(
            Counter(_directory(root, record.uri) for root, record in found),
            cold=sum(count == 0 for count in uses),
            warm=sum(0 < count < _HOT for count in uses),
            hot=sum(count >= _HOT for count in uses),
            oldest_days=None if oldest is None else max((self._clock() - oldest).days, 0),
        )

    async def consistency(self, identity: Identity, uri: Uri) -> Consistency:
        """Compare what is stored at and below an address with what finds know.

        Raises:
            NotFoundError: nothing lies there. PermissionDeniedError: it is another user's tree.

        """
        scope = visible_to(identity, [uri])
        known = await self._store.known(Scope(scope.account, scope.user, (ROOT,)), [uri])
        if not known[0] and uri.scope_root not in (None, uri):
            raise missing(uri)
        extent = await self._store.extent(Part(identity.account, uri, identity.user), _NAMED)
        lag = max(await self._store.position() - await self._index.position(), 0)
        return Consistency(extent.records, extent.lacking, extent.first, lag)


def _directory(root: Uri, uri: Uri) -> str:
    """Return the name of the directory below the root that a memory lies in, empty when in none."""
    below = uri.segments[len(root.segments) :]
    return below[0] if len(below) > 1 else ""
