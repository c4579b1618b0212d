"""What processes on one schema do one at a time: led by the oldest, or held by advisory locks."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from hashlib import blake2b

import psycopg
from psycopg import AsyncConnection

from contextfind.adapters.postgres.connections import bounded
from contextfind.adapters.postgres.database import EVERY_ACCOUNT, Database
from contextfind.adapters.postgres.faults import translated
from contextfind.domain.errors import StoreDownError, UnavailableError
from contextfind.domain.uri import Uri

_log = logging.getLogger(__name__)

_FIRST_PAUSE, _LONGEST_PAUSE = 0.005, 0.1  # seconds between two attempts at a lock
_LEAD_SECONDS = 1.0  # so long an answer about who leads is good for
_SLACK_SECONDS = (
    2.0  # that the server is left to end a statement itself before its connection is given up
)

_Lock = tuple[int, bool]  # its number, and whether it is held alone
_Held = tuple[_Lock, AsyncConnection]  # and what it is held on


class PostgresCompany:
    """`Company` of the processes that have the same schema open.

    Who is at an address holds its lock alone, and those of all addresses above together with others: so two places
    exclude each other when they are the same, or one lies below the other. All locks of a process are held on one
    connection, and lost with it.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._connection: AsyncConnection | None = None
        self._using = asyncio.Lock()
        self._leads = (float("-inf"), False)  # when it was asked, and what the answer was

    @property
    def alone(self) -> bool:
        """Others may come at any time."""
        return False

    async def leads(self) -> bool:
        """See `Company.leads`."""
        now = asyncio.get_running_loop().time()
        asked, answer = self._leads
        if now - asked < _LEAD_SECONDS:
            return answer
        try:
            answer = await self._database.house(self._database.presence.leads)
        except UnavailableError as fault:
            _log.debug("who leads is not known: %s", fault)
            answer = False
        self._leads = (now, answer)
        return answer

    @asynccontextmanager
    async def holding(
        self, what: str, account: str, *places: Uri, patience: float | None = None
    ) -> AsyncIterator[None]:
        """See `Company.holding`."""
        locks = self._locks(what, account, places)
        held: list[_Held] = []
        loop = asyncio.get_running_loop()
        end = None if patience is None else loop.time() + patience
        try:
            for lock in locks:
                pause = _FIRST_PAUSE
                # To its end, also for a caller who is cancelled: what it takes must be known.
                while not await asyncio.shield(self._try(lock, held)):
                    if end is not None and loop.time() > end:
                        raise UnavailableError(
                            f"another server works at {places[0].text!r}; try again in a moment",
                            {"retryable": True, "resource": places[0].text},
                        )
                    await asyncio.sleep(pause)
                    pause = min(2 * pause, _LONGEST_PAUSE)
            yield
        finally:
            await asyncio.shield(self._free(held))

    async def aclose(self) -> None:
        """Let go of everything that is held."""
        async with self._using:
            connection, self._connection = self._connection, None
            if connection is not None:
                await connection.close()

    def _locks(self, what: str, account: str, places: Sequence[Uri]) -> Sequence[_Lock]:
        """Return the locks in one order for all, so that nobody waits in a circle."""
        alone = {place.text for place in places}
        above = {up.text for place in places for up in place.ancestors()} - alone
        named = sorted([(text, True) for text in alone] + [(text, False) for text in above])
        schema = self._database.place.schema
        return [(_number(schema, what, account, text), exclusive) for text, exclusive in named]

    async def _try(self, lock: _Lock, held: list[_Held]) -> bool:
        """Take a lock if it is free, and note it among those that are held."""
        number, exclusive = lock
        function = "pg_try_advisory_lock" if exclusive else "pg_try_advisory_lock_shared"
        statement = f"SELECT {function}(%s)"
        async with self._using:
            with translated():
                connection = await self._connected()
                if held and held[0][1] is not connection:
                    raise StoreDownError(
                        "the database let go of what was held; try again", {"retryable": True}
                    )
                try:
                    taken = await self._asked(connection, statement, number)
                except psycopg.OperationalError:  # it was dead, and what was held on it is gone
                    if held:
                        raise
                    connection = await self._connected()
                    taken = await self._asked(connection, statement, number)
            if taken:
                held.append((lock, connection))
        return taken

    async def _connected(self) -> AsyncConnection:
        if self._connection is None or self._connection.closed:
            self._connection = await AsyncConnection.connect(
                self._database.place.conninfo(EVERY_ACCOUNT), autocommit=True
            )
        return self._connection

    async def _free(self, held: Sequence[_Held]) -> None:
        """Give locks back, after a try that is still under way.

        Those of a connection that is gone are free already, and may be somebody else's by now.
        """
        async with self._using:
            for (number, exclusive), connection in reversed(held):
                if connection.closed:
                    continue
                name = "pg_advisory_unlock" if exclusive else "pg_advisory_unlock_shared"
                try:
                    with translated():
                        await self._asked(connection, f"SELECT {name}(%s)", number)
                except UnavailableError as fault:
                    _log.warning("a lock goes with its connection, not given back: %s", fault)
                    await connection.close()

    async def _asked(self, connection: AsyncConnection, statement: str, number: int) -> bool:
        """Return the answer about one lock; a connection that gives none in time is given up, with all its locks."""
        with bounded(connection, self._database.place.seconds):
            row = await (await connection.execute(statement, (number,))).fetchone()
        return row is not None and bool(row[0])


def _number(schema: str, what: str, account: str, place: str) -> int:
    """Return the number of a lock, 64 bits; two that share one only wait for each other without need."""
    name = f"{schema}\0{what}\0{account}\0{place}".encode("utf-8", "replace")
    return int.from_bytes(blake2b(name, digest_size=8).digest(), "little", signed=True)
