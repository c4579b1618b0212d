"""A few threads that answer questions, each with a connection of its own.

An answer of some hundred passages comes in many pieces. To wait for each on the event loop takes longer than all the
rest of a find; a thread waits for them outside of the interpreter, and scores beside the loop.
"""

import asyncio
import contextlib
import selectors
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import psycopg
from psycopg import Connection
from psycopg.pq import TransactionStatus

from contextfind.adapters.postgres.faults import translated
from contextfind.adapters.postgres.index_snapshot import Snapshot, snapshot
from contextfind.adapters.postgres.place import SEARCHES, Place
from contextfind.domain.errors import StoreDownError

T = TypeVar("T")
_NOBODY = ""  # whose rows a connection sees until it is told


class Readers:
    """Answers questions in the order they come.

    state: see `snapshot`.
    """

    def __init__(self, place: Place, state: str) -> None:
        self._place = place
        self._state = state
        self._threads = ThreadPoolExecutor(min(SEARCHES, place.connections), "index-search")
        self._own = threading.local()
        self._open: set[Connection] = set()
        self._refused = False  # the last attempt of any thread to connect

    @property
    def cut_off(self) -> bool:
        """Whether no thread has a connection, because the database refused the last one that wanted to have one."""
        return self._refused and not self._open

    async def run(self, work: Callable[[Snapshot], T]) -> T:
        """Return what `work` makes of one state of the data.

        Raises:
            UnavailableError: the database does not answer, or no thread was free in time.

        """
        seconds = 2 * self._place.seconds
        try:
            async with asyncio.timeout(seconds):
                loop = asyncio.get_running_loop()
                return await loop.run_in_executor(self._threads, self._work, work)
        except TimeoutError as error:
            reason = f"the search index gave no answer in {seconds:g} s"
            raise StoreDownError(reason, {"retryable": True}) from error

    async def aclose(self) -> None:
        """Finish what was begun, and close the connections; again is harmless."""
        await asyncio.to_thread(self._threads.shutdown)
        while self._open:
            self._open.pop().close()

    def _work(self, work: Callable[[Snapshot], T]) -> T:
        with translated():
            connection = self._connected()
            try:
                with snapshot(connection, self._state) as one:
                    return work(one)
            finally:
                if connection.info.transaction_status is not TransactionStatus.IDLE:
                    self._end(connection)

    def _connected(self) -> Connection:
        """Return the connection of this thread, another one where the database has closed it."""
        connection: Connection | None = getattr(self._own, "connection", None)
        if connection is not None and not connection.closed and not _has_spoken(connection):
            return connection
        if connection is not None:
            self._drop(connection)
        self._refused = True
        connection = psycopg.connect(self._place.conninfo(_NOBODY), autocommit=True)
        self._refused = False
        self._own.connection = connection
        self._open.add(connection)
        return connection

    def _end(self, connection: Connection) -> None:
        """Leave the transaction that failed; a connection that cannot is of no more use."""
        try:
            connection.execute("ROLLBACK")
        except psycopg.Error:
            self._drop(connection)

    def _drop(self, connection: Connection) -> None:
        self._own.connection = None
        self._open.discard(connection)
        with contextlib.suppress(psycopg.Error):
            connection.close()


def _has_spoken(connection: Connection) -> bool:
    """Return whether the database said something unasked, which is that it goes."""
    with selectors.DefaultSelector() as selector:
        selector.register(connection.fileno(), selectors.EVENT_READ)
        return bool(selector.select(0))
