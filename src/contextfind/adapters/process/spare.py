"""An executor that runs pure work in a process of its own while there is much of it.

Python runs one thread at a time, so work in a thread makes every find wait in between. The process is started by the
first work and ended when it was idle for a while. Nothing waits for its start and nothing is lost: until it is ready,
and when it dies or cannot be started, the executor behind it does the work.
"""

import logging
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from typing import Any, ParamSpec, TypeVar

from contextfind.adapters.process.child import receive, send

T = TypeVar("T")
P = ParamSpec("P")
_log = logging.getLogger(__name__)

COMMAND = (sys.executable, "-P", "-m", "contextfind.adapters.process.child")
_NICENESS = 10  # finds come first: both cores are theirs when they need them
_IDLE_SECONDS = 30.0  # then its 40 MB are given back; another one starts within a second
_MOST_DEATHS = 3  # of one server; work that kills its process would go on doing so


@dataclass(slots=True)
class _Work:
    data: bytes  # all of it, as the process is told
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    named: dict[str, Any]
    answer: "Future[Any]" = field(default_factory=Future)

    def begin(self) -> bool:
        """Return whether anybody still waits for it."""
        return self.answer.running() or self.answer.set_running_or_notify_cancel()


class SpareProcess(Executor):
    """Runs picklable functions with picklable arguments and results, one at a time.

    behind: does what the process cannot. warm: modules that the process loads before it takes work.
    """

    def __init__(
        self,
        behind: Executor,
        warm: Sequence[str] = (),
        *,
        command: Sequence[str] = COMMAND,
        idle_seconds: float = _IDLE_SECONDS,
    ) -> None:
        self._behind = behind
        self._command = (*command, str(_NICENESS), *warm)
        self._idle_seconds = idle_seconds
        self._door = threading.Lock()
        self._queue: queue.SimpleQueue[_Work | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._ready = self._closed = False
        self._deaths = 0

    @property
    def ready(self) -> bool:
        """Whether the process takes work at once."""
        return self._ready

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        """Return the future of a result; an exception of `fn` is its exception.

        Raises:
            RuntimeError: shut down.

        """
        with self._door:
            if self._closed:
                raise RuntimeError("cannot schedule new work after shutdown")
            if self._ready:
                work = _Work(pickle.dumps((fn, args, kwargs)), fn, args, kwargs)
                self._queue.put(work)
                return work.answer
            if self._thread is None and self._deaths < _MOST_DEATHS:
                self._thread = threading.Thread(target=self._run, name="spare-process", daemon=True)
                self._thread.start()
        return self._behind.submit(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002 - as the base class has it
        """End the process at once; what it has not done fails with a RuntimeError."""
        with self._door:
            self._closed = True
            thread, process = self._thread, self._process
            self._queue.put(None)
            if process is not None:
                process.kill()
        if thread is not None and wait:
            thread.join()

    def _run(self) -> None:
        """Live as long as the process, and clear up behind it."""
        undone: list[_Work] = []
        died = False
        try:
            with subprocess.Popen(  # noqa: S603 - our own program
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            ) as process:
                self._serve(process, undone)
        except (OSError, EOFError):
            died = True
        with self._door:
            self._ready = False
            self._process = self._thread = None
            died = died and not self._closed
            self._deaths += died
            while not self._queue.empty():
                undone += [work for work in [self._queue.get()] if work is not None]
        if died:
            _log.warning("the process that parses files has ended; its work is done without it")
        for work in undone:
            self._hand_on(work)

    def _serve(self, process: "subprocess.Popen[bytes]", undone: list[_Work]) -> None:
        """Have one piece of work done after the other; what is under way stands in `undone`."""
        assert process.stdin is not None  # noqa: S101 - both are pipes
        assert process.stdout is not None  # noqa: S101
        with self._door:
            self._process = process
            if self._closed:
                process.kill()
        receive(process.stdout)
        with self._door:
            self._ready = True
        while (work := self._next()) is not None:
            if not work.begin():
                continue
            undone.append(work)
            send(process.stdin, work.data)
            error, result = pickle.loads(receive(process.stdout))  # noqa: S301 - from our own process
            undone.clear()
            _tell(work.answer, error, result)

    def _next(self) -> _Work | None:
        """Wait for work; None when there was none for long, or the executor is shut down."""
        while True:
            try:
                return self._queue.get(timeout=self._idle_seconds)
            except queue.Empty:
                with self._door:
                    self._ready = not self._queue.empty()
                    if not self._ready:
                        return None

    def _hand_on(self, work: _Work) -> None:
        if not work.begin():
            return
        try:
            done = self._behind.submit(work.function, *work.arguments, **work.named)
        except RuntimeError as error:  # shut down as well
            work.answer.set_exception(error)
            return
        done.add_done_callback(
            lambda _: _tell(work.answer, done.exception(), done.exception() or done.result())
        )


def _tell(answer: "Future[Any]", error: BaseException | None, result: object) -> None:
    if error is None:
        answer.set_result(result)
    else:
        answer.set_exception(error)
