"""An index built anew beside the one that answers."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from psycopg import AsyncConnection

from contextfind.adapters.postgres.database import EVERY_ACCOUNT, Database
from contextfind.adapters.postgres.faults import translated
from contextfind.adapters.postgres.index_schema import Tables, drop, make, put_in_place
from contextfind.adapters.postgres.index_upkeep import Upkeep, state_of
from contextfind.adapters.postgres.schema import lock_number
from contextfind.domain.records import RecordId
from contextfind.ports.index import ChangeLog, SearchIndex, Step, handed_over

_BATCH = 1_000  # changes in one transaction
_LOOK_SECONDS = 0.2  # between two looks whether another process has done building


class Rebuilding:
    """Builds one index after the other, in one process at a time.

    fresh: follows into the tables beside, and draws no graph; drawing: draws it.
    """

    def __init__(
        self, database: Database, tables: Tables, fresh: SearchIndex, drawing: Upkeep
    ) -> None:
        self._database = database
        self._tables = tables
        self._fresh = fresh
        self._drawing = drawing

    async def run(self, log: ChangeLog, step: Step) -> list[RecordId]:
        """Build it and have it take its place; return the records whose vectors are damaged."""
        async with self._alone():
            await self._database.write(self._begin)
            refused: list[RecordId] = []
            try:
                await self._catch_up(log, step, refused)
                await self._drawing.draw(await self._drawing.state())
                replaced = False
                while not replaced:
                    ended = await self._catch_up(log, step, refused)
                    replaced = await self._database.write(partial(self._replace, whole=ended))
            except BaseException:
                await asyncio.shield(self._give_up())
                raise
            return refused

    async def _catch_up(self, log: ChangeLog, step: Step, refused: list[RecordId]) -> bool:
        """Follow until the tables beside know what the old ones do, noting vectors that are damaged.

        Returns whether the log ended before that: then the old ones are of a log that is no more.
        """
        there = await self._fresh.position()
        while there < await self._position():
            changes = await log(there, _BATCH)
            if not changes:
                return True
            refused += await handed_over(self._fresh, changes)
            there = changes[-1].position
            await step(there)
        return False

    async def _position(self) -> int:
        state = await self._database.glance(lambda one: state_of(one, self._tables))
        return state.position

    async def _begin(self, connection: AsyncConnection) -> None:
        await drop(connection, f"^{self._tables.beside.prefix}_")
        await make(connection, self._tables.beside)

    async def _replace(self, connection: AsyncConnection, *, whole: bool) -> bool:
        """Put the tables in place, unless the old ones know more; nobody follows meanwhile.

        whole: they know all of the log, whatever the old ones stand at.
        """
        name = f"{self._tables.prefix}/follow"
        number = lock_number(self._database.place.schema, name)
        await connection.execute("SELECT pg_advisory_xact_lock(%s)", (number,))
        old = await state_of(connection, self._tables)
        new = await state_of(connection, self._tables.beside)
        if new.position < old.position and not whole:
            return False
        await put_in_place(connection, self._tables)
        return True

    async def _give_up(self) -> None:
        await self._database.write(lambda one: drop(one, f"^{self._tables.beside.prefix}_"))

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
        """Hold a lock on a connection of its own: it is free again at the moment this process is gone."""
        place = self._database.place
        number = lock_number(place.schema, f"{self._tables.prefix}/build")
        with translated():
            connection = await AsyncConnection.connect(
                place.conninfo(EVERY_ACCOUNT), autocommit=True
            )
        async with connection:
            while not await self._taken(connection, number):  # noqa: ASYNC110 - of another process
                await asyncio.sleep(_LOOK_SECONDS)
            yield

    async def _taken(self, connection: AsyncConnection, number: int) -> bool:
        with translated():
            cursor = await connection.execute("SELECT pg_try_advisory_lock(%s)", (number,))
            row = await cursor.fetchone()
        return row is not None and bool(row[0])
