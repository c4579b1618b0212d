"""An event loop in a thread of its own, for callers that have none, or one that must not wait."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from contextfind.domain.errors import FailedPreconditionError

T = TypeVar("T")


class LoopThread:
    """Runs coroutines for other threads; its thread begins with the first of them.

    It keeps no process alive: without `end` it goes with the process.

    what: is named in the error that a call after the end gets.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._ended = False
        self._starting = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Return what the coroutine returns, or raise what it raises; interrupted, it is cancelled.

        Raises:
            FailedPreconditionError: after `end`.

        """
        loop = self._started()
        if loop is None:
            work.close()
            raise FailedPreconditionError(f"the {self._what} is closed; make a new one")
        future = asyncio.run_coroutine_threadsafe(work, loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def end(self, last: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run a last coroutine, where there is a thread, and end that; again is harmless."""
        with self._starting:
            thread, loop = self._thread, self._loop
            self._thread, self._loop, self._ended = None, None, True
        if thread is None or loop is None or threading.current_thread() is thread:
            return  # a thread cannot wait for itself: what it holds goes with the process
        try:
            asyncio.run_coroutine_threadsafe(last(), loop).result()
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()

    def _started(self) -> asyncio.AbstractEventLoop | None:
        with self._starting:
            if self._loop is None and not self._ended:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=_live, args=(self._loop,), name=f"contextfind {self._what}", daemon=True
                )
                self._thread.start()
            return self._loop


def _live(loop: asyncio.AbstractEventLoop) -> None:
    """Run a loop until it is stopped, and leave nothing of it behind."""
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()
