"""Keeping the tables of an index in step with the log, by one process at a time."""

# ruff: noqa: S608 - names of our own tables; every value is bound

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from psycopg import AsyncConnection
from psycopg.errors import DiskFull

from contextfind.adapters.postgres.database import Database
from contextfind.adapters.postgres.index_following import Following, written
from contextfind.adapters.postgres.index_rules import IndexRules
from contextfind.adapters.postgres.index_schema import Tables, drawing
from contextfind.adapters.postgres.schema import lock_number
from contextfind.domain.errors import UnavailableError
from contextfind.ports.fault_points import FaultPoint, reached
from contextfind.ports.models import Tokenizer
from contextfind.ports.store import Change

_LOOK_SECONDS = 0.05  # between two looks whether another process has followed as far
# For another one that follows, or draws: 100,000 vectors take it half a minute. Its lock is free when it is gone.
_PATIENCE_SECONDS = 600.0
# Of a vector while the graph is drawn, beside its numbers of two bytes each: 1,484 bytes in all were measured with 384
# numbers. What does not fit into the memory given for it is drawn four times as slowly.
_GRAPH_BYTES = 800
# For drawing; a database with larger shared_buffers has more, as these are a quarter of a machine's memory.
_LEAST_MEMORY, MOST_MEMORY = 64 << 20, 1 << 30


@dataclass(frozen=True, slots=True)
class State:
    """How far the log was followed, what there is, and whether there is a graph of the vectors."""

    position: int = 0
    records: int = 0
    passages: int = 0
    vectors: int = 0
    drawn: bool = False


async def state_of(connection: AsyncConnection, tables: Tables) -> State:
    """Return the state of an index."""
    sql = f"SELECT position, records, passages, vectors, drawn FROM {tables.state}"
    cursor = await connection.execute(sql.encode())
    row = await cursor.fetchone()
    return State() if row is None else State(*row)


class Upkeep:
    """Follows the log in transactions under a lock that all processes know."""

    def __init__(
        self, database: Database, tables: Tables, tokenizer: Tokenizer, rules: IndexRules
    ) -> None:
        self._database = database
        self._tables = tables
        self._tokenizer = tokenizer
        self._rules = rules
        self._lock = lock_number(database.place.schema, f"{tables.prefix}/follow")

    async def state(self) -> State:
        """Return what the tables say, whoever wrote it."""
        return await self._database.glance(lambda one: state_of(one, self._tables))

    async def follow(self, changes: Sequence[Change]) -> State:
        """Have the tables show changes; return what they say then.

        Raises:
            UnavailableError: the database does not answer, or another process follows for too long.

        """
        clock = asyncio.get_running_loop().time
        deadline = clock() + _PATIENCE_SECONDS
        while (state := await self._database.tidy(lambda one: self._try(one, changes))) is None:
            if clock() > deadline:
                raise UnavailableError(
                    "another process has been following the log for long", {"retryable": True}
                )
            await asyncio.sleep(_LOOK_SECONDS)
        return state

    async def draw(self, state: State) -> State:
        """Draw the graph of the vectors if it is due; a process that finds another at it leaves it alone."""
        return await self._database.tidy(self._draw) if self.due(state) else state

    def due(self, state: State) -> bool:
        """Return whether a graph is to be drawn that is not there."""
        return not state.drawn and state.vectors >= self._rules.graph_from

    async def tidy(self) -> int:
        """Forget the words that nobody has any more; return how many."""

        async def work(connection: AsyncConnection) -> int:
            if not await self._alone(connection):
                return 0
            sql = f"DELETE FROM {self._tables.counts} WHERE passages <= 0"
            return (await connection.execute(sql.encode())).rowcount

        return await self._database.tidy(work)

    async def _try(self, connection: AsyncConnection, changes: Sequence[Change]) -> State | None:
        """Follow what is not followed yet; None when another process is about to."""
        alone = await self._alone(connection)
        state = await state_of(connection, self._tables)
        fresh = [change for change in changes if change.position > state.position]
        if not fresh:
            return state
        if not alone:
            return None
        await self._write(connection, fresh)
        return await state_of(connection, self._tables)

    async def _write(self, connection: AsyncConnection, changes: Sequence[Change]) -> None:
        last = list({change.id: change for change in changes}.values())
        following = Following(connection, self._tables)
        moved = await following.moved(last)
        reworded = await following.reworded(last)
        words = await asyncio.to_thread(written, reworded, self._tokenizer)
        await following.store_words(reworded, words)
        await following.store_entries(last)
        await following.store_vectors(moved)
        reached(FaultPoint.MID_FOLLOW)
        await following.advance(changes[-1].position)

    async def _draw(self, connection: AsyncConnection) -> State:
        t = self._tables
        alone = await self._alone(connection)
        state = await state_of(connection, t)
        if not alone or state.drawn:
            return state
        memory = max(state.vectors * (2 * t.dimension + _GRAPH_BYTES), _LEAST_MEMORY)
        await connection.execute(
            "SELECT set_config('statement_timeout', '0', true),"
            " set_config('maintenance_work_mem',"
            " least(%s, greatest(%s, pg_size_bytes(current_setting('shared_buffers')) / 1024))::text, true)",
            (memory >> 10, MOST_MEMORY >> 10),
        )
        await _built(connection, drawing(t))
        await connection.execute(f"UPDATE {t.state} SET drawn = TRUE".encode())
        for table in (t.entries, t.tags, t.passages, t.vectors, t.holders, t.counts):
            await connection.execute(f"ANALYZE {table}".encode())
        return await state_of(connection, t)

    async def _alone(self, connection: AsyncConnection) -> bool:
        """Return whether nobody else writes until this transaction ends."""
        cursor = await connection.execute("SELECT pg_try_advisory_xact_lock(%s)", (self._lock,))
        row = await cursor.fetchone()
        return row is not None and bool(row[0])


async def _built(connection: AsyncConnection, sql: str) -> None:
    """Have an index built by several workers; by one where they find no memory that they can share.

    It is a file system in memory, of 64 MB in a container that was given no more.
    """
    try:
        async with connection.transaction():
            await connection.execute(sql.encode())
    except DiskFull:
        await connection.execute("SET LOCAL max_parallel_maintenance_workers = 0")
        await connection.execute(sql.encode())
