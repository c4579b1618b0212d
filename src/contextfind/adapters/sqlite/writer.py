"""One thread writes; whatever waits when it is free shares one transaction.

A commit with synchronous=FULL costs 3-4 ms however much it holds, so writes are gathered:
252 rows a second one by one, 26,000 by hundreds. Nobody waits for company, though: a single
write starts at once, and the next ones gather while it is being synced.
"""

import contextlib
import queue
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future
from types import TracebackType
from typing import Generic, TypeVar

from contextfind.domain.errors import UnavailableError
from contextfind.ports.fault_points import FaultPoint, reached

T = TypeVar("T")

_LARGEST_GROUP = 256  # more would only make the first of them wait longer


class _Request(Generic[T]):
    """A write on its way: the work, then its outcome, told only after COMMIT."""

    def __init__(self, work: Callable[[sqlite3.Connection], T]) -> None:
        self.future: Future[T] = Future()
        self._work = work
        self._outcome: list[T] = []
        self._error: Exception | None = None

    def run(self, connection: sqlite3.Connection) -> None:
        """Do the work inside its own savepoint; a failure undoes this work alone."""
        with _Savepoint(connection, self.refuse):
            self._outcome = [self._work(connection)]

    def refuse(self, error: Exception) -> None:
        """Note that the work failed."""
        self._error = error

    def tell(self) -> None:
        """Resolve the future; the transaction has ended."""
        if self._error is not None:
            self.future.set_exception(self._error)
        else:
            self.future.set_result(self._outcome[0])


class _Savepoint:
    """Undoes what was written inside it when that fails, and hands the error to `refuse`."""

    def __init__(self, connection: sqlite3.Connection, refuse: Callable[[Exception], None]) -> None:
        self._connection = connection
        self._refuse = refuse

    def __enter__(self) -> None:
        self._connection.execute("SAVEPOINT one")

    def __exit__(
        self, kind: object, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if error is None:
            self._connection.execute("RELEASE one")
            return False
        if not isinstance(error, Exception):
            return False
        if not self._connection.in_transaction:  # SQLite gave all of it up: disk full, I/O error
            raise sqlite3.OperationalError(f"transaction lost: {error}") from error
        self._connection.execute("ROLLBACK TO one")
        self._connection.execute("RELEASE one")
        self._refuse(error)
        return True


class Writer:
    """The only connection that writes, and its thread.

    committed: called in that thread after every COMMIT, before the futures are resolved.
    """

    def __init__(
        self, connection: sqlite3.Connection, committed: Callable[[sqlite3.Connection], None]
    ) -> None:
        self._connection = connection
        self._committed = committed
        self._queue: queue.SimpleQueue[_Request[object] | None] = queue.SimpleQueue()
        self._door = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._serve, name="sqlite-writer", daemon=True)
        self._thread.start()

    def submit(self, work: Callable[[sqlite3.Connection], T]) -> "Future[T]":
        """Queue the work; the future is resolved when it is on disk.

        Raises:
            UnavailableError: closed.

        """
        request = _Request(work)
        with self._door:
            if self._closed:
                raise UnavailableError("the store is closed")
            self._queue.put(request)  # type: ignore[arg-type]  # outcome and future agree on T
        return request.future

    def close(self) -> None:
        """Finish what is queued, then end the thread and close the connection. Blocks."""
        with self._door:
            if not self._closed:
                self._closed = True
                self._queue.put(None)
        self._thread.join()
        self._connection.close()

    def _serve(self) -> None:
        while (first := self._queue.get()) is not None:
            group = [first]
            last = self._gather(group)
            running = [one for one in group if one.future.set_running_or_notify_cancel()]
            if running:
                self._write(running)
            if last:
                return

    def _gather(self, group: list[_Request[object]]) -> bool:
        """Take along what waits already; return whether that was the last of all."""
        with contextlib.suppress(queue.Empty):
            while len(group) < _LARGEST_GROUP:
                request = self._queue.get_nowait()
                if request is None:
                    return True
                group.append(request)
        return False

    def _write(self, group: list[_Request[object]]) -> None:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            for request in group:
                request.run(self._connection)
            reached(FaultPoint.BEFORE_COMMIT)
            self._connection.execute("COMMIT")
            reached(FaultPoint.AFTER_COMMIT)
            self._committed(self._connection)
        except sqlite3.Error as error:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            for request in group:
                request.refuse(error)
        for request in group:
            request.tell()
