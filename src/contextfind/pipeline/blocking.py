"""The pipeline for programs without an event loop, and for those whose loop is somebody else's."""

import atexit
import threading
import weakref
from collections.abc import Iterable
from types import TracebackType
from typing import Self

from contextfind.answering.answer import Result
from contextfind.answering.answerer import DEFAULT_TOP_K
from contextfind.pipeline.asynchronous import RESOURCES, TIMEOUT, AsyncRAGQueryPipeline
from contextfind.pipeline.background import LoopThread
from contextfind.pipeline.sources import Named


class RAGQueryPipeline:
    """Takes documents in and answers questions about them; every call waits for its result.

    The work is done by an event loop in a thread of its own, which begins with the first call. So it may be
    called from any thread, from several at once, and inside a running event loop (which then waits, too:
    `AsyncRAGQueryPipeline` does not make it wait).

    Otherwise it is what `AsyncRAGQueryPipeline` is: see there for the arguments, the results and the errors.
    A pipeline that nobody refers to any more closes itself, and so does one that is left at the end of the
    process.
    """

    def __init__(self, config_path: Named = "./ov.conf", data_path: Named = "./data") -> None:
        self._inner = AsyncRAGQueryPipeline(config_path, data_path)
        self._thread = LoopThread("pipeline")
        self._close = weakref.finalize(self, self._thread.end, self._inner.close)
        self._close.atexit = False  # see `_close_what_is_left`
        _LEFT.add(self)

    def add_documents(
        self,
        docs_dirs: Named | Iterable[Named],
        wait: bool = True,  # noqa: FBT001, FBT002 - the documented call
        timeout: float | None = TIMEOUT,
        *,
        parent: str = RESOURCES,
    ) -> list[str]:
        """Add files and directories, and return the address of each."""
        return self._thread.run(self._inner.add_documents(docs_dirs, wait, timeout, parent=parent))

    def add_code_repos(
        self,
        repos: Named | Iterable[Named],
        wait: bool = True,  # noqa: FBT001, FBT002 - the documented call
        timeout: float | None = TIMEOUT,
        *,
        parent: str = RESOURCES,
    ) -> list[str]:
        """Add directories of code and repositories by their addresses, and return the address of each."""
        return self._thread.run(self._inner.add_code_repos(repos, wait, timeout, parent=parent))

    def query(
        self,
        question: str,
        top_k: int = DEFAULT_TOP_K,
        generate_answer: bool = True,  # noqa: FBT001, FBT002 - the documented call
    ) -> Result:
        """Return question, contexts, answer, retrieved_uris: always these four."""
        return self._thread.run(self._inner.query(question, top_k, generate_answer))

    def close(self) -> None:
        """Let go of the data directory and end the thread; closing twice is fine."""
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


_LEFT: "weakref.WeakSet[RAGQueryPipeline]" = weakref.WeakSet()


def _close_what_is_left() -> None:
    for pipeline in list(_LEFT):
        pipeline.close()


# `atexit` comes when the threads that the data is closed with are gone already: all that is lost then is
# what was not acknowledged, but it would be told of in tracebacks. This hook comes before them.
getattr(threading, "_register_atexit", atexit.register)(_close_what_is_left)
