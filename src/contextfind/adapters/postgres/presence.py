"""Which processes live: each holds an advisory lock of its own for as long as it does."""

import asyncio
import logging
import zlib

import psycopg
from psycopg import AsyncConnection

from contextfind.domain.errors import StoreBusyError

_log = logging.getLogger(__name__)

_LIVING = (
    "SELECT objid::bigint FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 2"
    " AND classid = %s::bigint::oid"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)
_TAKE = "SELECT pg_try_advisory_lock(%s::bigint::bit(32)::integer, %s)"


class Presence:
    """A process among those that work on a schema: its number, never used again, and which others live.

    The lock of the number is held on the bell's connection, so it is free at the moment that the process or its
    machine is gone: no clock is asked. While that connection is broken the process counts as dead, and what it
    had claimed may be taken over; so whoever writes what he claimed makes sure in the same statement that it
    still is his.
    """

    def __init__(self, schema: str) -> None:
        self._class = lock_class(schema)
        self._worker = 0
        self._held_on: AsyncConnection | None = None
        self._there = asyncio.Event()

    @property
    def worker(self) -> int:
        """The number of this process, from 1; 0 until it is `established`."""
        return self._worker

    async def keep(self, connection: AsyncConnection) -> None:
        """Hold the lock on this connection from now on; called again and again, for a broken one may still have it."""
        if self._held_on is connection:
            return
        if self._held_on is None:  # a standby that took over may give out numbers that others have
            (self._worker,) = await _row(connection, "SELECT nextval('workers')", ())
        (taken,) = await _row(connection, _TAKE, (self._class, self._worker))
        if taken:
            self._held_on = connection
            self._there.set()
            _log.debug("this process is worker %d", self._worker)

    async def established(self, seconds: float) -> None:
        """Return when the others see this process.

        Raises:
            StoreBusyError: the database gave no connection within `seconds`.

        """
        try:
            async with asyncio.timeout(seconds):
                await self._there.wait()
        except TimeoutError:
            raise StoreBusyError(
                f"the database gave no connection to listen on within {seconds:g} s",
                {"retryable": True},
            ) from None

    async def living(self, connection: AsyncConnection) -> set[int]:
        """Return the numbers of all processes that live.

        Whoever looks for what the dead have left reads first who has claimed something, then this: whose number is
        missing will not come back, but for one whose connection broke.
        """
        cursor = await connection.execute(_LIVING, (self._class,))
        return {int(row[0]) for row in await cursor.fetchall()}

    async def leads(self, connection: AsyncConnection) -> bool:
        """Whether this is the process that does what one has to do for all: the oldest that lives.

        While connections break two may think so for a moment: what is led must be right beside itself.
        """
        return self._worker == min(await self.living(connection), default=-1)


def lock_class(schema: str) -> int:
    """Return the first half of the number of every worker's lock, the second one is the worker's; 32 bits, unsigned."""
    return zlib.crc32(f"{schema}/workers".encode())


async def _row(
    connection: AsyncConnection, statement: str, values: tuple[int, ...]
) -> tuple[int, ...]:
    cursor = await connection.execute(statement, values)
    row = await cursor.fetchone()
    if row is None:
        raise psycopg.DataError(f"no answer to {statement}")
    return tuple(row)
