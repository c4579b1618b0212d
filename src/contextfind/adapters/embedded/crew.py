"""Who works behind the searches: one thread merges and writes files, one draws graphs."""

import logging
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor

_log = logging.getLogger(__name__)
_NICENESS = 15  # graphs built at this priority cost searches 2 % instead of 44 %


class Crew:
    """Two lanes, each at one thing at a time, in order; what fails is logged and nobody waits for it."""

    def __init__(self, filing: Executor, drawing: Executor) -> None:
        self._filing = filing
        self._drawing = drawing
        self._begun = 0
        self._resting = threading.Condition()

    @classmethod
    def hired(cls) -> "Crew":
        """Return a crew of two threads.

        Only graphs are drawn at low priority: they need no interpreter. A merge holds it now and
        then, and whoever waits for it would wait for the low priority too.
        """
        drawing = ThreadPoolExecutor(1, "index-drawing", _yield_to_others)
        return cls(ThreadPoolExecutor(1, "index-filing"), drawing)

    def file(self, work: Callable[..., None], *details: object) -> None:
        """Have something merged or written; a closed crew does nothing any more."""
        self._begin(self._filing, work, details)

    def draw(self, work: Callable[..., None], *details: object) -> None:
        """Have something drawn; a closed crew does nothing any more."""
        self._begin(self._drawing, work, details)

    @property
    def under_way(self) -> int:
        """How many things are being done or queued."""
        return self._begun

    def rest(self) -> None:
        """Block until there is nothing more to do."""
        with self._resting:
            self._resting.wait_for(lambda: self._begun == 0)

    def close(self) -> None:
        """Drop what is queued and block until what is under way has ended."""
        self._filing.shutdown(wait=True, cancel_futures=True)
        self._drawing.shutdown(wait=True, cancel_futures=True)

    def _begin(
        self, lane: Executor, work: Callable[..., None], details: tuple[object, ...]
    ) -> None:
        with self._resting:
            self._begun += 1
        try:
            lane.submit(work, *details).add_done_callback(self._ended)
        except RuntimeError:
            self._count_down()

    def _ended(self, work: "Future[None]") -> None:
        error = None if work.cancelled() else work.exception()
        if error is not None:
            _log.error("background work of the search index failed", exc_info=error)
        self._count_down()

    def _count_down(self) -> None:
        with self._resting:
            self._begun -= 1
            self._resting.notify_all()


def _yield_to_others() -> None:
    """Lower the priority of the calling thread, where the system knows priorities of threads."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
