"""Connections that are lent for one piece of work each, and looked at first when they may be dead."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, Self
from weakref import WeakKeyDictionary

import psycopg
from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from contextfind.adapters.postgres.faults import translated
from contextfind.adapters.postgres.place import Place

_FRESH_SECONDS = (
    2.0  # since it last answered; a look costs a round trip, and a busy process needs none
)
_LOOK_SECONDS = 2.0  # in which one that lives answers a look
_ELSEWHERE_SECONDS = 5.0  # in which a server that works says what at
_WORK_STATEMENTS = 2  # so many statements of one piece of work may take as long as one may
_IDLE = 1  # connections that are kept when nobody needs them
# The pool makes longer and longer pauses between its attempts to connect; who asks after so long has it begin anew.
_RECONNECT_SECONDS = 3.0
# While the database refuses connections and there are none nobody waits longer for one: he is told why, and so is
# /ready, for whose answer others wait two seconds.
_REFUSED_SECONDS = 1.0
_AT_WORK = "SELECT 1 FROM pg_stat_activity WHERE pid = %s AND state <> 'idle'"
# Work of a process that is gone is not done to its end: to draw a graph may take an hour, and keeps a lock.
_NOTICES_ITS_END = "SET client_connection_check_interval = '5s'"


class Connections:
    """A pool of them, all seeing the rows of one account, of none (empty), or of all (`*`)."""

    def __init__(self, place: Place, account: str) -> None:
        self._proven: WeakKeyDictionary[AsyncConnection, float] = WeakKeyDictionary()
        self._work_seconds = _WORK_STATEMENTS * place.seconds
        self._look_seconds = min(place.seconds, _LOOK_SECONDS)
        self._suspected = float("-inf")  # when one of them was last found dead
        self._elsewhere = place.conninfo("")
        self._lent: set[AsyncConnection] = set()
        self._seconds = place.seconds
        self._refusal: psycopg.Error | None = None  # of the last attempt to connect
        self._pool = AsyncConnectionPool(
            place.conninfo(account),
            connection_class=_Attempt,
            min_size=_IDLE,
            max_size=place.connections,
            reconnect_timeout=min(place.seconds, _RECONNECT_SECONDS),
            open=False,
            check=self._check,
            configure=_configure,
            kwargs={"autocommit": True, "ended": self._attempted},
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

    def abandon(self) -> None:
        """Break those that are lent: nobody waits any longer for what is done on them."""
        for connection in self._lent:
            _break(connection)

    @asynccontextmanager
    async def lent(self) -> AsyncIterator[AsyncConnection]:
        """Lend one.

        Raises:
            UnavailableError: none is free, or the database does not answer. Others of ours: as `translated` says.

        """
        with translated():
            connection = await self._taken()
            self._lent.add(connection)
            try:
                async with connection:
                    with self._watched(connection):
                        yield connection
                self._proven[connection] = asyncio.get_running_loop().time()
            except psycopg.OperationalError:
                if connection.closed:
                    self.suspect()
                raise
            finally:
                self._lent.discard(connection)
                await self._pool.putconn(connection)

    async def _taken(self) -> "_Attempt":
        """Take one out of the pool; while the database refuses any, say why in the place of that none is free."""
        none = self._refusal is not None and not self._lent  # else one may come back
        seconds = min(self._seconds, _REFUSED_SECONDS) if none else self._seconds
        try:
            return await self._pool.getconn(seconds)
        except PoolTimeout:
            if self._refusal is not None:
                raise self._refusal.with_traceback(None) from None
            raise

    def _attempted(self, refusal: psycopg.Error | None) -> None:
        self._refusal = refusal

    async def _check(self, connection: AsyncConnection) -> None:
        proven = self._proven.get(connection, float("-inf"))
        now = asyncio.get_running_loop().time()
        if proven > self._suspected and now - proven < _FRESH_SECONDS:
            return
        with bounded(connection, self._look_seconds):
            await AsyncConnectionPool.check_connection(connection)
        self._proven[connection] = now

    @contextmanager
    def _watched(self, connection: AsyncConnection) -> Iterator[None]:
        """Break the connection when its work takes long and the server, asked elsewhere, does none for it.

        What takes as long as it takes goes on: who draws a graph has lifted the time of a statement.
        """
        loop = asyncio.get_running_loop()
        looks: list[asyncio.Task[None]] = []
        watch = loop.call_later(
            self._work_seconds,
            lambda: looks.append(loop.create_task(self._look_after(connection))),
        )
        try:
            yield
        finally:
            watch.cancel()
            for look in looks:
                look.cancel()

    async def _look_after(self, connection: AsyncConnection) -> None:
        while await self._is_at_work(connection.info.backend_pid):  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(self._work_seconds)
        _break(connection)

    async def _is_at_work(self, pid: int) -> bool:
        with suppress(psycopg.Error, OSError):
            async with asyncio.timeout(_ELSEWHERE_SECONDS):
                other = await AsyncConnection.connect(self._elsewhere, autocommit=True)
            async with other:
                with bounded(other, _ELSEWHERE_SECONDS):
                    row = await (await other.execute(_AT_WORK, (pid,))).fetchone()
                return row is not None
        return False


class _Attempt(AsyncConnection):
    """Tells how the attempt to connect ended: the pool tells its log and nobody else."""

    @classmethod
    async def connect(cls, *args: Any, **kwargs: Any) -> Self:
        """Connect, as it does; `ended` is told None, or why not."""
        ended: Callable[[psycopg.Error | None], None] = kwargs.pop("ended")
        try:
            connection = await super().connect(*args, **kwargs)
        except psycopg.Error as refusal:
            ended(refusal)
            raise
        ended(None)
        return connection


async def _configure(connection: AsyncConnection) -> None:
    with suppress(psycopg.Error):  # a server on Windows cannot
        await connection.execute(_NOTICES_ITS_END)


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
