"""What processes on one schema do one at a time: led by the oldest, or held by advisory locks."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from hashlib import blake2b

import psycopg
from psycopg import AsyncConnection

from contextfind.adapters.postgres.database import EVERY_ACCOUNT, Database
from contextfind.adapters.postgres.faults import translated
from contextfind.domain.errors import UnavailableError
from contextfind.domain.uri import Uri

_log = logging.getLogger(__name__)

_FIRST_PAUSE, _LONGEST_PAUSE = 0.005, 0.1  # seconds between two attempts at a lock
_LEAD_SECONDS = 1.0  # so long an answer about who leads is good for

_Lock = tuple[int, bool]  # its number, and whether it is held alone


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
        held: list[_Lock] = []
        loop = asyncio.get_running_loop()
        end = None if patience is None else loop.time() + patience
        try:
            for lock in locks:
                pause = _FIRST_PAUSE
                while not await self._try(lock):
                    if end is not None and loop.time() > end:
                        raise UnavailableError(
                            f"another server works at {places[0].text!r}; try again in a moment",
                            {"retryable": True, "resource": places[0].text},
                        )
                    await asyncio.sleep(pause)
                    pause = min(2 * pause, _LONGEST_PAUSE)
                held.append(lock)
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

    async def _try(self, lock: _Lock) -> bool:
        number, exclusive = lock
        function = "pg_try_advisory_lock" if exclusive else "pg_try_advisory_lock_shared"
        async with self._using:
            with translated():
                try:
                    cursor = await (await self._connected()).execute(
                        f"SELECT {function}(%s)", (number,)
                    )
                except psycopg.OperationalError:  # it was dead, and what was held on it is gone
                    cursor = await (await self._connected()).execute(
                        f"SELECT {function}(%s)", (number,)
                    )
                row = await cursor.fetchone()
        return row is not None and bool(row[0])

    async def _connected(self) -> AsyncConnection:
        if self._connection is None or self._connection.closed:
            self._connection = await AsyncConnection.connect(
                self._database.place.conninfo(EVERY_ACCOUNT), autocommit=True
            )
        return self._connection

    async def _free(self, locks: Sequence[_Lock]) -> None:
        async with self._using:
            connection = self._connection
            if connection is None or connection.closed:
                return  # and all locks with it
            try:
                with translated():
                    for number, exclusive in reversed(locks):
                        name = "pg_advisory_unlock" if exclusive else "pg_advisory_unlock_shared"
                        await connection.execute(f"SELECT {name}(%s)", (number,))
            except UnavailableError as fault:
                _log.warning(
                    "a lock could not be given back, and goes with its connection: %s", fault
                )
                await connection.close()


def _number(schema: str, what: str, account: str, place: str) -> int:
    """Return the number of a lock, 64 bits; two that share one only wait for each other without need."""
    name = f"{schema}\0{what}\0{account}\0{place}".encode("utf-8", "replace")
    return int.from_bytes(blake2b(name, digest_size=8).digest(), "little", signed=True)
