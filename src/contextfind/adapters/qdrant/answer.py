"""The probes of one call, answered together: candidates of both channels, read and scored exactly, until enough are known.

What Qdrant ranks by only puts records forward. By meaning its graph may miss one, so where it comes back with less than
it was asked for, all that match are looked at; by words it ranks by a bound from above (`words`). Either channel
asks for more until nobody who was not seen can be among the best.
"""

import asyncio
from collections.abc import Sequence

from qdrant_client import models

from contextfind.adapters.qdrant import fields
from contextfind.adapters.qdrant.census import Counts
from contextfind.adapters.qdrant.cluster import Cluster
from contextfind.adapters.qdrant.conditions import candidates, is_, pinned
from contextfind.adapters.qdrant.reading import Reading
from contextfind.adapters.qdrant.rules import SearchRules
from contextfind.adapters.qdrant.search import Search
from contextfind.adapters.qdrant.words import Asked
from contextfind.ports.index import Hits, Probe


class Answering:
    """Answers questions; what was read for one is not read again for the next."""

    def __init__(self, cluster: Cluster, counts: Counts, rules: SearchRules) -> None:
        self._cluster = cluster
        self._rules = rules
        self._counts = counts
        self._reading = Reading(cluster)
        self._asked: dict[tuple[str, str, tuple[str, ...]], Asked] = {}

    async def answer(self, probes: Sequence[Probe]) -> list[Hits]:
        """Return the hits of each probe.

        Raises:
            UnavailableError: the cluster does not answer.

        """
        searches = [Search(probe, await self._worth(probe), self._rules) for probe in probes]
        while channels := [channel for search in searches for channel in search.open]:
            answers = await self._cluster.ask([channel.request for channel in channels])
            for channel, points in zip(channels, answers, strict=True):
                channel.take(points)
            await self._reading.read([search.wanted for search in searches])
            await asyncio.to_thread(_judge, searches, self._reading)
        return await asyncio.to_thread(_hits, searches)

    async def explain(self, probe: Probe) -> str:
        """Return how a probe is answered, with how many records it may return.

        Raises:
            UnavailableError: the cluster does not answer.

        """
        first = is_(fields.ROW, 0)
        matching = candidates(probe.scope, probe.where)
        records = await self._cluster.count(models.Filter(must=[matching, first]))
        asked = await self._worth(probe)
        if probe.vector is None:
            return f"words of {records:,} records, in Qdrant"
        if pinned(probe.where) or asked.passages <= self._rules.exact_below:
            return f"exact scan of {records:,} records, in Qdrant"
        return f"Qdrant's own choice of graph or scan among {records:,} records"

    async def _worth(self, probe: Probe) -> Asked:
        """Return what the words of a probe are worth, counted once for all that ask the same."""
        key = (probe.scope.account, probe.scope.user, probe.terms)
        known = self._asked.get(key)
        if known is None:
            census = await self._counts.census(self._cluster, probe.scope, probe.terms)
            known = self._asked[key] = Asked.of(probe.terms, census)
        return known


def _judge(searches: Sequence[Search], reading: Reading) -> None:
    for search in searches:
        search.judge(reading)


def _hits(searches: Sequence[Search]) -> list[Hits]:
    return [search.hits() for search in searches]
