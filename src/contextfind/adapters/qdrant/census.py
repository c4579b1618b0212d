"""What the passages in somebody's sight have in them, as the cluster counts it.

Counted, never added up while following: so a repeat, a crash between two requests and two that follow at once cannot
make it wrong. What an account shares and what a user owns are counted apart and added, so that all users of an account
share the larger count. A count is kept until the account changes, which a point of its own says; a large one, which is
slow (200,000 passages took the engine .1 to .3 s on a busy machine), for some changes more.
"""

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field

from qdrant_client import models

from contextfind.adapters.qdrant import fields
from contextfind.adapters.qdrant.cluster import Cluster
from contextfind.adapters.qdrant.conditions import is_, owned_by
from contextfind.adapters.qdrant.points import mark_id
from contextfind.adapters.qdrant.words import Census
from contextfind.domain.scope import Scope

# A count is kept for one change more for each so many that it counts: one below that is exact, and nobody who just
# wrote a rare word looks for it in vain. Files have one to some hundred passages, so a kept one is off by a hundredth
# at the worst.
KEPT_FOR = 10_000

_AT_ONCE = 8  # counts asked of the cluster at the same time
_OWNERS = 1_024  # whose counts are kept
_TERMS = 20_000  # counts that are kept of one of them


@dataclass(frozen=True, slots=True)
class _Count:
    """How many there were when the account stood at `mark`."""

    number: int
    mark: int

    def holds(self, mark: int) -> bool:
        return abs(mark - self.mark) <= self.number // KEPT_FOR


@dataclass(slots=True)
class _Owned:
    """What was counted of the passages of one owner: how many have which length, how many hold which term."""

    passages: _Count = field(default_factory=lambda: _Count(0, -1))
    lengths: dict[int, int] = field(default_factory=dict)
    holders: dict[str, _Count] = field(default_factory=dict)


class Counts:
    """The counts of one collection, asked for when they are needed."""

    def __init__(self) -> None:
        self._owners: OrderedDict[tuple[str, str], _Owned] = OrderedDict()
        self._gate = asyncio.Semaphore(_AT_ONCE)

    async def census(self, cluster: Cluster, scope: Scope, terms: Iterable[str]) -> Census:
        """Return the census of what a scope's identity may see, wherever it looks.

        terms: those whose holders are wanted.

        Raises:
            UnavailableError: the cluster does not answer.

        """
        point, wanted = mark_id(scope.account), sorted(set(terms))
        mark = (await cluster.read([point])).get(point, {}).get(fields.POSITION, 0)
        owners = sorted({"", scope.user})
        parts = await asyncio.gather(
            *(self._part(cluster, (scope.account, owner), wanted, mark) for owner in owners)
        )
        lengths: Counter[int] = Counter()
        for part in parts:
            lengths.update(part.lengths)
        return Census(lengths, {t: sum(part.holders.get(t, 0) for part in parts) for t in wanted})

    async def _part(
        self, cluster: Cluster, who: tuple[str, str], terms: list[str], mark: int
    ) -> Census:
        """Return the census of the passages of one owner."""
        owned = self._owners.setdefault(who, _Owned())
        self._owners.move_to_end(who)
        if len(self._owners) > _OWNERS:
            self._owners.popitem(last=False)
        of_owner = owned_by(*who)
        if not owned.passages.holds(mark):
            owned.lengths = await cluster.tally(fields.LENGTH, models.Filter(must=of_owner))
            owned.passages = _Count(sum(owned.lengths.values()), mark)
        lengths = owned.lengths
        if not lengths:
            return Census({}, {})
        known = {t: c for t in terms if (c := owned.holders.get(t)) and c.holds(mark)}
        unknown = [term for term in terms if term not in known]
        numbers = await asyncio.gather(
            *(self._holders(cluster, of_owner, term) for term in unknown)
        )
        counted = {t: _Count(n, mark) for t, n in zip(unknown, numbers, strict=True)}
        if len(owned.holders) + len(counted) > _TERMS:
            owned.holders.clear()
        owned.holders.update(counted)
        return Census(lengths, {t: count.number for t, count in {**known, **counted}.items()})

    async def _holders(self, cluster: Cluster, of_owner: list[models.Condition], term: str) -> int:
        async with self._gate:
            return await cluster.count(models.Filter(must=[*of_owner, is_(fields.TERMS, term)]))
