"""Connections that are lent for one piece of work each, and looked at first when they may be dead."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from weakref import WeakKeyDictionary

import psycopg
from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool

from contextfind.adapters.postgres.faults import translated
from contextfind.adapters.postgres.place import Place

_FRESH_SECONDS = (
    2.0  # since it last answered; a look costs a round trip, and a busy process needs none
)
_LOOK_SECONDS = 2.0  # in which one that lives answers a look
_WORK_STATEMENTS = 2  # so many statements of one piece of work may take as long as one may
_IDLE = 1  # connections that are kept when nobody needs them


class Connections:
    """A pool of them, all seeing the rows of one account, of none (empty), or of all (`*`)."""

    def __init__(self, place: Place, account: str) -> None:
        self._proven: WeakKeyDictionary[AsyncConnection, float] = WeakKeyDictionary()
        self._work_seconds = _WORK_STATEMENTS * place.seconds
        self._look_seconds = min(place.seconds, _LOOK_SECONDS)
        self._suspected = float("-inf")  # when one of them was last found dead
        self._pool = AsyncConnectionPool(
            place.conninfo(account),
            min_size=_IDLE,
            max_size=place.connections,
            timeout=place.seconds,
            reconnect_timeout=place.seconds,
            open=False,
            check=self._check,
            kwargs={"autocommit": True},
            name=f"contextfind-{'house' if account else 'tenants'}",
        )

    async def open(self) -> None:
        """Begin to connect."""
        await self._pool.open()

    async def aclose(self) -> None:
        """Close them all."""
        await self._pool.close()

    def suspect(self) -> None:
        """Have each looked at before it is lent again: the database was gone, perhaps for a moment only."""
        self._suspected = asyncio.get_running_loop().time()

    @asynccontextmanager
    async def lent(self) -> AsyncIterator[AsyncConnection]:
        """Lend one.

        Raises:
            UnavailableError: none is free, or the database does not answer. Others of ours: as `translated` says.

        """
        with translated():
            async with self._pool.connection() as connection:
                try:
                    with bounded(connection, self._work_seconds):
                        yield connection
                except psycopg.OperationalError:
                    if connection.closed:
                        self.suspect()
                    raise
                self._proven[connection] = asyncio.get_running_loop().time()

    async def _check(self, connection: AsyncConnection) -> None:
        proven = self._proven.get(connection, float("-inf"))
        now = asyncio.get_running_loop().time()
        if proven > self._suspected and now - proven < _FRESH_SECONDS:
            return
        with bounded(connection, self._look_seconds):
            await AsyncConnectionPool.check_connection(connection)
        self._proven[connection] = now


@contextmanager
def bounded(connection: AsyncConnection, seconds: float) -> Iterator[None]:
    """Break the connection when what is done on it takes too long: its other end may be gone without a word.

    The server ends statements sooner. Cancelling would not do: the driver then waits for the server.
    """
    watch = asyncio.get_running_loop().call_later(seconds, _break, connection)
    try:
        yield
    finally:
        watch.cancel()


def _break(connection: AsyncConnection) -> None:
    """Have whoever waits for the connection see its end."""
    if not connection.closed:
        with socket.socket(fileno=os.dup(connection.fileno())) as same, suppress(OSError):
            same.shutdown(socket.SHUT_RDWR)
