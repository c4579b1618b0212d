"""The door: a `SearchIndex` on a Qdrant cluster."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

import numpy as np
from qdrant_client import AsyncQdrantClient, models

from contextfind.adapters.qdrant import fields
from contextfind.adapters.qdrant.answer import Answering
from contextfind.adapters.qdrant.census import Counts
from contextfind.adapters.qdrant.cluster import Cluster
from contextfind.adapters.qdrant.collections import Collections
from contextfind.adapters.qdrant.conditions import is_
from contextfind.adapters.qdrant.following import follow, position_of
from contextfind.adapters.qdrant.place import Place
from contextfind.adapters.qdrant.rules import SearchRules
from contextfind.domain.errors import InvalidArgumentError, UnavailableError
from contextfind.domain.filters import store_conditions
from contextfind.domain.records import RecordId, Vector
from contextfind.ports.index import ChangeLog, Dialogue, Hits, Probe, Result, Step, handed_over
from contextfind.ports.models import Tokenizer
from contextfind.ports.store import Change

_BATCH = 1_000  # changes of the log in one step of a rebuild; finds go on in the cluster meanwhile


class QdrantIndex:
    """Follows the log into a collection and searches it; made by `open`.

    Any number of processes may follow and search one collection at once: what a later change wrote, an earlier one
    leaves alone.
    """

    def __init__(
        self,
        cluster: Cluster,
        dimension: int,
        tokenizer: Tokenizer,
        collections: Collections,
        rules: SearchRules | None = None,
    ) -> None:
        self._cluster = cluster
        self._dimension = dimension
        self._tokenizer = tokenizer
        self._collections = collections
        self._rules = rules or SearchRules()
        self._counts = Counts()
        self._following = asyncio.Lock()
        self._building = asyncio.Lock()
        self._stats = {"position": 0, "records": 0, "rows": 0}
        self._closed = False

    @classmethod
    async def open(
        cls,
        place: Place,
        dimension: int,
        fingerprint: str,
        tokenizer: Tokenizer,
        client: AsyncQdrantClient | None = None,
        rules: SearchRules | None = None,
    ) -> "QdrantIndex":
        """Return the index of an embedder at a place; an empty one where none is yet.

        dimension: length of the vectors. fingerprint: of embedder and tokenizer; each has an index of its own, so
        that vectors of two embedders never meet. client: instead of one that `place` makes; closed with the index.

        Raises:
            UnavailableError: the cluster does not answer.
            FailedPreconditionError: it is too old.

        """
        made = client or place.client()
        alias = place.name(dimension, fingerprint)
        collections = Collections(made, place, alias, dimension)
        try:
            await collections.check()
            await collections.ensure()
        except BaseException:
            await made.close()
            raise
        return cls(collections.current, dimension, tokenizer, collections, rules)

    async def search(self, probes: Sequence[Probe]) -> Sequence[Hits]:
        """See `SearchIndex.search`; two round trips and those that widen or count."""
        self._check(probes)
        return await self._answering().answer(probes)

    async def converse(self, dialogue: Dialogue[Result]) -> Result:
        """See `SearchIndex.converse`; a record that was read once is not read again."""
        answering = self._answering()
        try:
            probes = next(dialogue)
            while True:
                self._check(probes)
                probes = dialogue.send(await answering.answer(probes))
        except StopIteration as end:
            result: Result = end.value
            return result

    async def explain(self, probes: Sequence[Probe]) -> Sequence[str]:
        """See `SearchIndex.explain`."""
        self._check(probes)
        answering = self._answering()
        return [await answering.explain(probe) for probe in probes]

    async def position(self) -> int:
        """See `SearchIndex.position`; whichever process followed the log so far."""
        self._check_open()
        self._stats["position"] = await position_of(self._cluster)
        return self._stats["position"]

    async def kept(self) -> int:
        """Return the position that the cluster has on its disks; 0 while a new index is built, by whichever process.

        Raises:
            UnavailableError: the cluster does not answer.

        """
        position = await self.position()
        return 0 if await self._collections.are_building() else position

    async def follow(self, changes: Sequence[Change]) -> None:
        """See `SearchIndex.follow`.

        Raises:
            InvalidArgumentError: vectors of another shape, or not finite; nothing has changed then.
            UnavailableError: the cluster does not answer; following the same again goes on.

        """
        self._check_open()
        for change in changes:
            for vector in () if change.vectors is None else change.vectors:
                self._check_vector(vector)
        async with self._following:
            self._stats["position"] = await follow(self._cluster, self._tokenizer, changes)

    async def tidy(self) -> int:
        """Count anew what `stats` tells; nothing has to be written down. Returns 0: nothing was dropped.

        Raises:
            UnavailableError: the cluster does not answer.

        """
        self._check_open()
        first, any_row = is_(fields.ROW, 0), models.Filter(must_not=[_without(fields.ROW)])
        self._stats["records"] = await self._cluster.count(models.Filter(must=[first]))
        self._stats["rows"] = await self._cluster.count(any_row)
        return 0

    def stats(self) -> dict[str, int]:
        """Return the position, the records and the rows, as they were when the cluster was last asked."""
        return dict(self._stats)

    async def rebuild(self, log: ChangeLog, step: Step) -> Sequence[RecordId]:
        """See `RebuildableIndex.rebuild`; the new collection stands beside the old one until it knows as much."""
        self._check_open()
        async with self._building:
            fresh = await self._collections.begin()
            try:
                refused = await self._catch_up(fresh, log, step)
                async with self._following:
                    refused += await self._catch_up(fresh, log, step)
                    await self._collections.hand_over(fresh)
                    self._counts = Counts()
            except BaseException:
                with suppress(UnavailableError):
                    await self._collections.give_up(fresh)
                raise
            with suppress(UnavailableError):  # it stands; only its figures are old
                await self.tidy()
            return refused

    async def aclose(self) -> None:
        """Let go of the connections; again is harmless."""
        if not self._closed:
            self._closed = True
            await self._collections.client.close()

    async def _catch_up(self, fresh: Cluster, log: ChangeLog, step: Step) -> list[RecordId]:
        """Follow the log until the new collection knows all that the old one does."""
        beside = QdrantIndex(fresh, self._dimension, self._tokenizer, self._collections)
        refused: list[RecordId] = []
        there = await beside.position()
        while there < await position_of(self._cluster):
            changes = await log(there, _BATCH)
            if not changes:
                break
            refused += await handed_over(beside, changes)
            there = changes[-1].position
            await step(there)
        return refused

    def _answering(self) -> Answering:
        return Answering(self._cluster, self._counts, self._rules)

    def _check(self, probes: Sequence[Probe]) -> None:
        self._check_open()
        for probe in probes:
            if probe.vector is not None:
                self._check_vector(probe.vector)
            if unknown := store_conditions(probe.where):
                raise InvalidArgumentError(f"the search index cannot answer {unknown}")

    def _check_vector(self, vector: Vector) -> None:
        if vector.shape != (self._dimension,) or not np.isfinite(vector).all():
            raise InvalidArgumentError(
                f"a vector has shape {vector.shape}; expected {self._dimension} finite numbers"
            )

    def _check_open(self) -> None:
        if self._closed:
            raise UnavailableError("the search index is closed", {"retryable": False})


def _without(field: str) -> models.Condition:
    return models.IsEmptyCondition(is_empty=models.PayloadField(key=field))
