"""A schema of a PostgreSQL database, opened; shared by all stores that live in it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, TypeVar

import psycopg
from psycopg import AsyncConnection

from contextfind.adapters.postgres.bell import Bell
from contextfind.adapters.postgres.connections import Connections
from contextfind.adapters.postgres.faults import translated
from contextfind.adapters.postgres.ledger import KNOWN
from contextfind.adapters.postgres.place import Place
from contextfind.adapters.postgres.presence import Presence
from contextfind.adapters.postgres.schema import lock_number, migrate, require_tables
from contextfind.domain.errors import StoreDownError, UnavailableError
from contextfind.ports.fault_points import FaultPoint, reached

T = TypeVar("T")
Connection = AsyncConnection[tuple[object, ...]]
Work = Callable[[AsyncConnection], Awaitable[T]]

_TELL = (  # the bells of all processes where the log stands
    "SELECT position, CASE WHEN position > %s THEN pg_notify(%s, position::text) END FROM head"
)
_BEGIN_ALONE = "SELECT pg_advisory_xact_lock(%s), set_config(%s, %s, true)"
_SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
# Of this process at a time: one writes, the next one waits for it in the database. Each has a connection, and who reads
# needs some too, however long another process writes.
_WRITERS = 2
_LAST_SECONDS = 10.0  # that closing waits at most for what is under way
EVERY_ACCOUNT = "*"  # what the house's own work says in the place of an account; see `schema`


class Database:
    """Two pools of connections: one that sees every account, for the house's own work, one that sees none.

    writes: how often this process has written. bell: the log position, and who waits for it. presence: this process among the others.
    """

    def __init__(self, place: Place) -> None:
        self.place = place
        self._house = Connections(place, EVERY_ACCOUNT)
        self._tenants = Connections(place, "")
        self.presence = Presence(place.schema)
        self.bell = Bell(self._listener, channel(place.schema), self.presence.keep, self._suspect)
        self.writes = 0
        self._writer = lock_number(place.schema, "writer")
        self._writers = asyncio.Semaphore(_WRITERS)
        self._closed = False
        self._under_way: set[asyncio.Task[Any]] = set()

    @classmethod
    async def open(cls, place: Place, *, making: bool = True) -> "Database":
        """Connect, make or migrate the tables, and listen.

        making: also where there are none yet.

        Raises:
            ConfigError: there are none, and none are to be made.
            FailedPreconditionError: tables of a newer contextfind; no right to make them; no pgvector.
            UnavailableError: the database does not answer.

        """
        database = cls(await _prepared(place, making=making))
        try:
            with translated():
                await database._house.open()
                await database._tenants.open()
            database.bell.start(await database.house(last_position))
            await database.presence.established(place.seconds)
        except BaseException:
            await database.aclose()
            raise
        return database

    async def write(self, work: Work[T]) -> T:
        """Do `work` in a transaction of its own and return its result once it is durable.

        Raises:
            UnavailableError: the database does not answer or refuses; whether it was done is known to nobody when the
                connection broke at the very end.

        """
        try:
            return await self.tidy(work)
        finally:
            self.writes += 1

    async def tidy(self, work: Work[T]) -> T:
        """Do what `write` does, uncounted: for what nobody has asked for."""

        async def done() -> T:
            async with self._house.lent() as connection:
                async with connection.transaction():
                    result = await work(connection)
                    reached(FaultPoint.BEFORE_COMMIT)
                reached(FaultPoint.AFTER_COMMIT)
                return result

        return await self._apart(done())

    async def commit(self, work: Work[T]) -> T:
        """Do what `write` does, as the only one of all processes that writes the log.

        So positions become visible in their order: who follows the log misses nothing.
        """
        try:
            return await self.alone(work)
        finally:
            self.writes += 1

    async def alone(self, work: Work[T]) -> T:
        """Do what `commit` does, uncounted.

        Its statements go out together up to the next one whose rows are fetched: every round trip is one in which
        all other writers wait. So `rowcount` says nothing before a fetch.
        """

        async def done() -> T:
            async with self._turn(), self._house.lent() as connection:
                async with _together(connection, "BEGIN"):
                    known = str(self.bell.highest)
                    await connection.execute(_BEGIN_ALONE, (self._writer, KNOWN, known))
                    result = await work(connection)
                    told = (self.bell.position, channel(self.place.schema))
                    row = await (await connection.execute(_TELL, told)).fetchone()
                    reached(FaultPoint.BEFORE_COMMIT)
                reached(FaultPoint.AFTER_COMMIT)
            if row is not None:
                self.bell.ring(int(row[0]))
            return result

        return await self._apart(done())

    async def house(self, work: Work[T]) -> T:
        """Do reading `work` that sees every account, all of it in one state of the data."""

        async def done() -> T:
            async with (
                self._house.lent() as connection,
                _together(connection, _SNAPSHOT),
            ):
                return await work(connection)

        return await self._apart(done())

    async def glance(self, work: Work[T]) -> T:
        """Do reading `work` of one statement that sees every account: half the round trips of `house`."""

        async def done() -> T:
            async with self._house.lent() as connection:
                return await work(connection)

        return await self._apart(done())

    async def read(self, account: str, work: Work[T]) -> T:
        """Do reading `work` that sees the rows of one account and no others, all of it in one state of the data."""

        async def done() -> T:
            async with (
                self._tenants.lent() as connection,
                _together(connection, _SNAPSHOT),
            ):
                await connection.execute(
                    "SELECT set_config('contextfind.account', %s, true)", (account,)
                )
                return await work(connection)

        return await self._apart(done())

    async def aclose(self) -> None:
        """Close all connections, after what is under way, unless that takes long; closing twice is harmless."""
        if self._closed:
            return
        self._closed = True
        await self.bell.aclose()
        late = set(self._under_way)
        if late:
            _, late = await asyncio.wait(late, timeout=min(self.place.seconds, _LAST_SECONDS))
        for connections in (self._house, self._tenants):
            if late:
                connections.abandon()
            await connections.aclose()
        if late:
            await asyncio.wait(late)

    async def _apart(self, work: Coroutine[None, None, T]) -> T:
        """Have work done to its end, also for a caller who is cancelled: he does not wait for the database then."""
        if self._closed:
            work.close()
            raise UnavailableError("the store is closed")
        task = asyncio.create_task(work)
        self._under_way.add(task)
        task.add_done_callback(self._ended)
        return await asyncio.shield(task)

    def _ended(self, task: "asyncio.Task[Any]") -> None:
        self._under_way.discard(task)
        if not task.cancelled():
            task.exception()  # whoever was to hear of it may be gone

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """Let few writers of this process wait in the database."""
        try:
            async with asyncio.timeout(self.place.seconds):
                await self._writers.acquire()
        except TimeoutError:
            raise StoreDownError("others write for too long", {"retryable": True}) from None
        try:
            yield
        finally:
            self._writers.release()

    def _suspect(self) -> None:
        """Have all connections looked at: that of the bell has broken."""
        self._house.suspect()
        self._tenants.suspect()

    async def _listener(self) -> psycopg.AsyncConnection:
        return await AsyncConnection.connect(self.place.conninfo(EVERY_ACCOUNT), autocommit=True)


async def _prepared(place: Place, *, making: bool) -> Place:
    """See to the tables; return the place with where pgvector lies."""
    with translated():
        async with await AsyncConnection.connect(
            place.conninfo(EVERY_ACCOUNT), autocommit=True
        ) as connection:
            if not making:
                await require_tables(connection, place)
            return replace(place, pgvector=await migrate(connection, place.schema))


async def last_position(connection: AsyncConnection) -> int:
    """Return the position of the last log entry, 0 when there is none."""
    cursor = await connection.execute("SELECT position FROM head")
    row = await cursor.fetchone()
    return 0 if row is None else int(row[0])


def channel(schema: str) -> str:
    """Return what positions of a schema's log are told on."""
    return f"contextfind_{schema}"


@asynccontextmanager
async def _together(connection: AsyncConnection, begin: str) -> AsyncIterator[None]:
    """Do one transaction whose statements wait for nothing until rows are fetched: each wait is a round trip."""
    try:
        async with connection.pipeline():
            await connection.execute(begin)
            yield
            await connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(psycopg.Error):  # a broken connection has nothing to undo
            await connection.rollback()
        raise
