"""The real program in a process of its own, forked from one that has it imported already: a start costs .1 s, not 1.

They can be made to kill themselves with -9 at a fault point. Nobody but a test can ask that of a program.
"""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import reduction
from pathlib import Path
from typing import Any, Self

from contextfind.adapters.postgres import database as postgres_database
from contextfind.adapters.postgres import schema as postgres_schema
from contextfind.adapters.sqlite import database, schema
from contextfind.cli.main import main
from contextfind.domain.documents import Document
from contextfind.ingestion import drafting
from contextfind.ingestion.parsing.reader import read_document
from contextfind.ports.fault_points import FaultPoint, watch
from tests.processes import ServerProcess
from tests.schemas import storage_environment

_FORKING = multiprocessing.get_context("forkserver")
_FORKING.set_forkserver_preload(["contextfind.cli.serving", "contextfind.cli.transferring"])


Before = Callable[[], object]  # can be pickled
TELL = signal.SIGUSR1
_LAST_SECONDS = 0.05  # in which a promise that was made too early is heard
# as a real one may be: a table, rows made from those that are there, a column
NEXT_VERSION = (
    "CREATE TABLE shelf_marks (record INTEGER PRIMARY KEY, mark TEXT NOT NULL)",
    "INSERT INTO shelf_marks SELECT id, name FROM records",
    "ALTER TABLE records ADD COLUMN shelf_mark TEXT NOT NULL DEFAULT ''",
    "UPDATE records SET shelf_mark = name",
    "DELETE FROM shelf_marks",
)


def nothing() -> None:
    """Do nothing."""


@dataclass
class Doom:
    """Ends the process, without a word, when it reaches a point for the `times`th time since it was told to.

    told: whether that counts from the start; else from the signal TELL on.
    """

    point: FaultPoint
    times: int
    told: bool
    _counting: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def begin(self) -> None:
        """Watch this process."""
        if not self.told:
            signal.signal(TELL, self._tell)
        watch(self._pass)

    def _tell(self, _number: int, _frame: object) -> None:
        self.told = True

    def _pass(self, point: FaultPoint) -> None:
        if point is not self.point or not self.told:
            return
        with self._counting:
            self.times -= 1
            due = self.times == 0
        if due:
            time.sleep(_LAST_SECONDS)  # noqa: TID251 - of this thread, while the others go on
            os.kill(os.getpid(), signal.SIGKILL)


def dying_at(point: FaultPoint, times: int = 1) -> Before:
    """Return what has a process die where it reaches a point for the `times`th time."""
    return partial(_doom, point, times, told=True)


def dying_when_told(point: FaultPoint) -> Before:
    """Return what has a process die at a point, once it got the signal TELL."""
    return partial(_doom, point, 1, told=False)


def dying_of(text: bytes, go: Path) -> Before:
    """Return what has a process die of every file that says this, as if it crashed its parser, once there is a file `go`."""
    return partial(_poison, text, go)


def _poison(text: bytes, go: Path) -> None:
    def read(path: str, data: bytes) -> Document:
        while text in data:
            if go.exists():
                os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(0.01)  # noqa: TID251 - of a thread of the program
        return read_document(path, data)

    drafting.read_document = read


def _doom(point: FaultPoint, times: int, *, told: bool) -> None:
    Doom(point, times, told).begin()


def upgrading(then: Before = nothing) -> Before:
    """Return what makes a process a newer version, whose data have one migration more."""
    return partial(_upgrade, then)


@dataclass(frozen=True)
class Handle:
    """A file descriptor that goes along into a forked process."""

    number: int

    def __reduce__(self) -> tuple[Callable[[Any], "Handle"], tuple[Any]]:
        return _arrived, (reduction.DupFd(self.number),)


def _upgrade(then: Before) -> None:
    versions = (*schema.MIGRATIONS, NEXT_VERSION)
    database.migrate = partial(schema.migrate, migrations=versions)
    shared = (*postgres_schema.MIGRATIONS, NEXT_VERSION)
    postgres_database.migrate = partial(postgres_schema.migrate, migrations=shared)
    then()


def _arrived(sent: Any) -> Handle:
    return Handle(sent.detach())


class Program:
    """A run of `contextfind`, as far as `subprocess.Popen` has it.

    output: gets what it prints. environment: added to that of the tests. before: done in it first.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        output: Handle,
        environment: Mapping[str, str] | None = None,
        before: Before = nothing,
    ) -> None:
        given = (arguments, output, environment or {}, before)
        self._process = _FORKING.Process(target=_run, args=given)
        self._process.start()

    def poll(self) -> int | None:
        """Return the exit code, -N for signal N, None while it runs."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code once it has ended.

        Raises:
            TimeoutExpired: it has not, after so many seconds.

        """
        self._process.join(timeout)
        code = self._process.exitcode
        if code is None:
            raise subprocess.TimeoutExpired("contextfind", timeout or 0.0)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        assert self._process.pid is not None
        if self.poll() is None:
            os.kill(self._process.pid, number)

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.send_signal(signal.SIGTERM)


class ForkedServer(ServerProcess):
    """A `ServerProcess` that starts at once, and dies where it is told."""

    def start(self, environment: Mapping[str, str] | None = None, before: Before = nothing) -> Self:
        """Start and return at once."""
        arguments = ["serve", *self._arguments, "--data", str(self.data), "--port", str(self.port)]
        output = Handle(self._output.fileno())
        environment = {**storage_environment(self.data), **(environment or {})}
        self.process = Program(arguments, output, environment, before)  # type: ignore[assignment]
        return self

    def tell(self, number: int) -> None:
        """Send a signal, if it still runs, and wait for nothing."""
        assert self.process is not None
        with suppress(ProcessLookupError):
            self.process.send_signal(number)


def _run(
    arguments: Sequence[str], output: Handle, environment: Mapping[str, str], before: Before
) -> None:
    """Be the process."""
    for stream in (1, 2):
        os.dup2(output.number, stream)
    os.close(output.number)
    os.environ.update(environment)
    before()
    sys.argv = ["contextfind", *arguments]
    main()
