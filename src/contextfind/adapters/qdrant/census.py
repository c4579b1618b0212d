"""What the passages in somebody's sight have in them, as the cluster counts it.

Counted, never added up while following: so a repeat, a crash between two requests and two that follow at once cannot
make it wrong. A count is kept until the account changes, which a point of its own says.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field

from qdrant_client import models

from contextfind.adapters.qdrant import fields
from contextfind.adapters.qdrant.cluster import Cluster
from contextfind.adapters.qdrant.conditions import is_, owned
from contextfind.adapters.qdrant.points import mark_id
from contextfind.adapters.qdrant.words import Census
from contextfind.domain.scope import Scope

_AT_ONCE = 8  # counts asked of the cluster at the same time
_SIGHTS = 256  # callers whose counts are kept
_TERMS = 20_000  # counts that are kept for one of them


@dataclass(slots=True)
class _Sight:
    """What was counted for one caller while its account stood at `mark`."""

    mark: int
    lengths: dict[int, int]
    holders: dict[str, int] = field(default_factory=dict)


class Counts:
    """The counts of one collection, asked for when they are needed."""

    def __init__(self) -> None:
        self._sights: OrderedDict[tuple[str, str], _Sight] = OrderedDict()
        self._gate = asyncio.Semaphore(_AT_ONCE)

    async def census(self, cluster: Cluster, scope: Scope, terms: Iterable[str]) -> Census:
        """Return the census of what a scope's identity may see, wherever it looks.

        terms: those whose holders are wanted.

        Raises:
            UnavailableError: the cluster does not answer.

        """
        sight = await self._sight(cluster, scope)
        wanted = sorted(set(terms))
        known = {term: sight.holders[term] for term in wanted if term in sight.holders}
        unknown = [term for term in wanted if term not in known]
        counts = await asyncio.gather(*(self._holders(cluster, scope, term) for term in unknown))
        counted = dict(zip(unknown, counts, strict=True))
        if len(sight.holders) + len(counted) > _TERMS:
            sight.holders.clear()
        sight.holders.update(counted)
        return Census(sight.lengths, {**known, **counted})

    async def _sight(self, cluster: Cluster, scope: Scope) -> _Sight:
        who, point = (scope.account, scope.user), mark_id(scope.account)
        marks = await cluster.read([point])
        mark = marks.get(point, {}).get(fields.POSITION, 0)
        kept = self._sights.get(who)
        if kept is None or kept.mark != mark:
            lengths = await cluster.tally(fields.LENGTH, models.Filter(must=owned(scope)))
            kept = self._sights[who] = _Sight(mark, lengths)
        self._sights.move_to_end(who)
        if len(self._sights) > _SIGHTS:
            self._sights.popitem(last=False)
        return kept

    async def _holders(self, cluster: Cluster, scope: Scope, term: str) -> int:
        async with self._gate:
            held = is_(fields.TERMS, term)
            return await cluster.count(models.Filter(must=[*owned(scope), held]))
