"""The door: a `SearchIndex` in the database, one for all processes."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from psycopg import AsyncConnection

from contextfind.adapters.postgres.database import Database, last_position
from contextfind.adapters.postgres.index_answer import Answering
from contextfind.adapters.postgres.index_readers import Readers
from contextfind.adapters.postgres.index_rebuilding import Rebuilding
from contextfind.adapters.postgres.index_rules import IndexRules
from contextfind.adapters.postgres.index_schema import Tables, drop, exists, make, others
from contextfind.adapters.postgres.index_snapshot import Snapshot
from contextfind.adapters.postgres.index_upkeep import State, Upkeep
from contextfind.adapters.postgres.schema import lock_number
from contextfind.domain.errors import InvalidArgumentError, UnavailableError
from contextfind.domain.filters import store_conditions
from contextfind.domain.records import RecordId, Vector
from contextfind.ports.index import ChangeLog, Dialogue, Hits, Probe, Result, Step
from contextfind.ports.models import Tokenizer
from contextfind.ports.store import Change

_log = logging.getLogger(__name__)

# Changes at once that say that many more will come: a graph is drawn of all of them when they are there. Of 5,000
# vectors together it takes 1.5 s, of each as it comes 9 s.
_BULK = 1_000
_QUIET_SECONDS = 2.0  # between two looks whether the last of them is there
_STILL_SECONDS = 60.0  # that an index behind the log has not moved: nobody follows it, so that is all there is for now
_NEVER = 1 << 62  # vectors from which there is a graph, where it is drawn of all at once in the end


def _nothing(_: Snapshot) -> None:
    """Ask nothing, of a connection that works."""


class PostgresIndex:
    """Follows the log into tables that all processes share; made by `open`."""

    def __init__(
        self, database: Database, tables: Tables, tokenizer: Tokenizer, rules: IndexRules
    ) -> None:
        self._database = database
        self._tables = tables
        self._tokenizer = tokenizer
        self._rules = rules
        self._plans: Counter[str] = Counter()
        self._readers = Readers(database.place, tables.state)
        self._upkeep = Upkeep(database, tables, tokenizer, rules)
        self._building = asyncio.Lock()  # one at a time
        self._state = State()
        self._later: asyncio.Task[None] | None = None  # draws the graph
        self._closed = False

    @classmethod
    async def open(
        cls,
        database: Database,
        dimension: int,
        fingerprint: str,
        tokenizer: Tokenizer,
        rules: IndexRules | None = None,
    ) -> "PostgresIndex":
        """Return the index of an embedder and a tokenizer; an empty one where none is yet.

        dimension: length of the vectors. fingerprint: of embedder and tokenizer; the tables of any other are taken away.

        Raises:
            UnavailableError: the database does not answer.

        """
        tables = Tables.named(dimension, fingerprint)
        number = lock_number(database.place.schema, "index")

        async def ensure(connection: AsyncConnection) -> None:
            await connection.execute("SELECT pg_advisory_xact_lock(%s)", (number,))
            if not await exists(connection, tables):
                await drop(connection, others(tables))
                await make(connection, tables)

        await database.write(ensure)
        index = cls(database, tables, tokenizer, rules or IndexRules())
        await index.position()
        if index._upkeep.due(index._state):  # a process that is gone had come to no end
            index._later = asyncio.create_task(index._draw_later())
        return index

    async def search(self, probes: Sequence[Probe]) -> Sequence[Hits]:
        """See `SearchIndex.search`."""
        self._check(probes)
        if not probes:
            return []
        return await self._answered(lambda one: one.answer(probes))

    async def explain(self, probes: Sequence[Probe]) -> Sequence[str]:
        """See `SearchIndex.explain`."""
        self._check(probes)
        if not probes:
            return []
        return await self._answered(lambda one: one.explain(probes))

    async def converse(self, dialogue: Dialogue[Result]) -> Result:
        """See `SearchIndex.converse`: one transaction, which sees one state."""
        self._check_open()
        try:
            probes = next(dialogue)
        except StopIteration as end:
            result: Result = end.value
            return result
        self._check(probes)

        def lead(answering: Answering) -> Result:
            nonlocal probes
            try:
                while True:
                    probes = dialogue.send(answering.answer(probes))
                    self._check(probes)
            except StopIteration as end:
                result: Result = end.value
                return result

        return await self._answered(lead)

    async def position(self) -> int:
        """See `SearchIndex.position`: whichever process followed the log so far.

        Raises:
            UnavailableError: the database does not answer, or has no connection for who searches.

        """
        self._check_open()
        if self._readers.cut_off:  # so that /ready says what finds meet, and that it is over
            await self._readers.run(_nothing)
        self._state = await self._upkeep.state()
        return self._state.position

    async def kept(self) -> int:
        """Return the position, which is durable as soon as it is told."""
        return await self.position()

    async def follow(self, changes: Sequence[Change]) -> None:
        """See `SearchIndex.follow`; while another process follows, it is waited for.

        Raises:
            InvalidArgumentError: vectors of another shape, or not finite; nothing has changed then.
            UnavailableError: the database does not answer, or another process follows for too long.

        """
        self._check_open()
        for change in changes:
            for vector in () if change.vectors is None else change.vectors:
                self._check_vector(vector)
        if changes:
            self._state = await self._upkeep.follow(changes)
            await self._draw(bulk=len(changes) >= _BULK)

    async def rebuild(self, log: ChangeLog, step: Step) -> Sequence[RecordId]:
        """See `RebuildableIndex.rebuild`; another process that builds is waited for as well."""
        self._check_open()
        async with self._building:
            tables = self._tables.beside
            slow = replace(self._rules, graph_from=_NEVER)
            building = PostgresIndex(self._database, tables, self._tokenizer, slow)
            fresh = Upkeep(self._database, tables, self._tokenizer, self._rules)
            refused = await Rebuilding(self._database, self._tables, building, fresh).run(log, step)
        await self.position()
        return refused

    async def tidy(self) -> int:
        """Forget words that nobody has any more; return how many."""
        self._check_open()
        return await self._upkeep.tidy()

    async def rest(self) -> None:
        """Return when this process has no graph to draw any more."""
        if self._later is not None:
            await asyncio.wait([self._later])

    def stats(self) -> dict[str, int]:
        """Return counts for telemetry, as they were when the database was last asked.

        The position in the log; records and passages; vectors in the graph and those that are scanned; plans chosen.
        """
        state = self._state
        graphs = state.vectors if state.drawn else 0
        return {
            "position": state.position,
            "records": state.records,
            "rows": state.passages,
            "segments": 1,
            "graph_rows": graphs,
            "scanned_rows": state.vectors - graphs,
            "drawn_rows": graphs,
            "rows_to_draw": 0,
            "under_way": int(self._later is not None and not self._later.done()),
            **{f"plan_{name}": count for name, count in sorted(self._plans.items())},
        }

    async def aclose(self) -> None:
        """See `SearchIndex.aclose`: all that was followed is durable already, and the database is not closed."""
        self._closed = True
        if self._later is not None:
            self._later.cancel()
            await asyncio.gather(self._later, return_exceptions=True)
        await self._readers.aclose()

    async def _draw(self, *, bulk: bool) -> None:
        """Have the graph drawn that is due: now, or as soon as there are no more changes to come in bulk."""
        if self._later is not None:
            self._later.cancel()
            await asyncio.gather(self._later, return_exceptions=True)
            self._later = None
        if bulk and not self._state.drawn:
            self._later = asyncio.create_task(self._draw_later())
        else:
            self._state = await self._upkeep.draw(self._state)

    async def _draw_later(self) -> None:
        try:
            await self._come_to_rest()
            self._state = await self._upkeep.draw(self._state)
        except UnavailableError as fault:  # the next change has it tried again
            _log.warning("the graph of the search index is not drawn yet: %s", fault)

    async def _come_to_rest(self) -> None:
        """Return when all of the log is followed, or nothing of it has been for long.

        A batch may take longer than any wait between two: a graph that is drawn before the last of them has every
        later vector put in one by one.
        """
        clock = asyncio.get_running_loop().time
        seen, since = -1, clock()
        while True:
            await asyncio.sleep(_QUIET_SECONDS)
            end = await self._database.glance(last_position)
            position = await self.position()
            if position != seen:
                seen, since = position, clock()
            if position >= end or clock() - since >= _STILL_SECONDS:
                return

    async def _answered(self, asked: Callable[[Answering], Result]) -> Result:
        def work(one: Snapshot) -> tuple[Result, Counter[str]]:
            answering = Answering(one, self._tables, self._rules)
            return asked(answering), answering.plans

        found, plans = await self._readers.run(work)
        self._plans.update(plans)
        return found

    def _check(self, probes: Sequence[Probe]) -> None:
        self._check_open()
        for probe in probes:
            if probe.vector is not None:
                self._check_vector(probe.vector)
            if unknown := store_conditions(probe.where):
                raise InvalidArgumentError(f"the search index cannot answer {unknown}")

    def _check_vector(self, vector: Vector) -> None:
        if vector.shape != (self._tables.dimension,) or not np.isfinite(vector).all():
            raise InvalidArgumentError(
                f"a vector has shape {vector.shape}; expected {self._tables.dimension} finite numbers"
            )

    def _check_open(self) -> None:
        if self._closed:
            raise UnavailableError("the search index is closed", {"retryable": False})
