"""A few threads that read, each with a connection of its own.

Every find comes here, so the way is as short as it can be: an executor's futures, with a lock for each, and a
transaction around a single statement cost a tenth of what a find needs outside of the index.
"""

import asyncio
import contextlib
import queue
import sqlite3
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Generic, TypeVar

T = TypeVar("T")

Work = Callable[[sqlite3.Connection], T]


class Readers:
    """Answers questions in the order they come; the threads end with `close`.

    connect: opens a connection that only reads; each thread calls it when it is first needed.
    """

    def __init__(self, connect: Callable[[], sqlite3.Connection], count: int) -> None:
        self._connect = connect
        self._waiting: queue.SimpleQueue[_Question[object] | None] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=self._serve, name=f"sqlite-reader-{number}", daemon=True)
            for number in range(count)
        ]
        for thread in self._threads:
            thread.start()

    async def run(self, work: Work[T]) -> T:
        """Return what `work` returns, or raise what it raises; one that nobody waits for is left out."""
        question = _Question(work, asyncio.get_running_loop())
        self._waiting.put(question)  # type: ignore[arg-type]  # work and answer agree on T
        return await question.answer

    def close(self) -> None:
        """Answer what waits, then end the threads and close their connections. Blocks."""
        for _ in self._threads:
            self._waiting.put(None)
        for thread in self._threads:
            thread.join()

    def _serve(self) -> None:
        connection: sqlite3.Connection | None = None
        while (question := self._waiting.get()) is not None:
            with question:
                connection = connection or self._connect()
                question.ask(connection)
            del question  # else the answer lives here until the next one
        if connection is not None:
            connection.close()


class _Question(Generic[T]):
    """Work on its way, and the future of its answer; what is raised inside of it is the answer, too."""

    def __init__(self, work: Work[T], loop: asyncio.AbstractEventLoop) -> None:
        self.answer: asyncio.Future[T] = loop.create_future()
        self._work = work
        self._loop = loop
        self._found: list[T] = []
        self._error: BaseException | None = None

    def ask(self, connection: sqlite3.Connection) -> None:
        """Do the work, unless nobody waits for it."""
        if not self.answer.cancelled():
            self._found = [self._work(connection)]

    def __enter__(self) -> None:
        """Nothing is to be done before."""

    def __exit__(
        self, kind: object, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self._error = error
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._tell)
        return True

    def _tell(self) -> None:
        if self.answer.done():
            return
        if self._error is not None:
            self.answer.set_exception(self._error)
        else:
            self.answer.set_result(self._found[0])
