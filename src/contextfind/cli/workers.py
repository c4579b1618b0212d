"""Several server processes on one socket, and one that begins again what ends unasked."""

import asyncio
import contextlib
import logging
import multiprocessing
import os
import signal
import sys
import threading
from dataclasses import dataclass, replace
from multiprocessing import connection
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import TypeVar

from contextfind.cli.complaint import Complaint, ExitCode
from contextfind.cli.logs import logs_written
from contextfind.cli.running import Run, serve_until_told
from contextfind.cli.screen import complain
from contextfind.config.model import LogSettings

log = logging.getLogger(__name__)

T = TypeVar("T")

# Seconds until a process that ended begins again, doubled each time: what ends at once shall not take a core. One that
# has worked for the longest of them is taken to be well.
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_UP = b"up"
_FRESH = multiprocessing.get_context("spawn")  # a fork would share the threads' locks


@dataclass(frozen=True, slots=True)
class Shift:
    """What one process does: `run`, whose `announce` is not called; and how it writes its log."""

    run: Run
    log: LogSettings


class Workers:
    """Processes that serve one socket; made on the event loop that looks after them."""

    def __init__(self, shift: Shift, number: int) -> None:
        run = replace(shift.run, announce=_nothing)  # goes to other processes as bytes
        self._first = Shift(run, shift.log)
        # What is to be done once, one of them does.
        self._others = Shift(replace(run, sources=(), reembed=False), shift.log)
        self._number = number
        self._announce = shift.run.announce
        self._processes: set[BaseProcess] = set()
        self._told = asyncio.Event()

    async def serve_until_told(self) -> int:
        """Serve until SIGINT or SIGTERM, which each process is passed; announce once all are up; return the exit code.

        The first process is up before the others begin: what keeps it from starting ends all with its exit code, and it
        has said why.
        """
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, self._pass_on)
        try:
            up = asyncio.Event()
            first = asyncio.create_task(self._kept(self._first, up, at_once=True))
            await _before(first, up)
            if first.done():
                return first.result()
            all_up = [asyncio.Event() for _ in range(1, self._number)]
            everyone = asyncio.gather(first, *(self._kept(self._others, one) for one in all_up))
            for one in all_up:
                await _before(everyone, one)
            if not self._told.is_set():
                self._announce()
            return max(await everyone)
        finally:
            for process in self._processes:
                process.kill()

    async def _kept(self, shift: Shift, up: asyncio.Event, *, at_once: bool = False) -> int:
        """Keep a process at work; return its exit code once all were told to stop.

        at_once: also when it ended before it was up.
        """
        loop, pause, code = asyncio.get_running_loop(), _FIRST_PAUSE, 0
        while not self._told.is_set():
            begun = loop.time()
            code = await self._once(shift, up)
            if self._told.is_set() or (at_once and not up.is_set()):
                break
            if loop.time() - begun > _LONGEST_PAUSE:
                pause = _FIRST_PAUSE
            log.error("a server process ended with %d; it begins again in %g s", code, pause)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._told.wait(), pause)
            pause, shift, code = min(2 * pause, _LONGEST_PAUSE), self._others, 0
        return code

    async def _once(self, shift: Shift, up: asyncio.Event) -> int:
        here, there = _FRESH.Pipe(duplex=False)
        process = _FRESH.Process(target=_serve, args=(shift, there))
        process.start()
        self._processes.add(process)
        there.close()
        with here:
            await _readable(here.fileno())
            if _heard(here):
                up.set()
        await _readable(process.sentinel)
        self._processes.discard(process)
        process.join()
        return _exit_code(process.exitcode)

    def _pass_on(self) -> None:
        """Tell all to stop, each time that we are told; whoever comes now is refused."""
        self._told.set()
        self._first.run.listener.close()
        for process in self._processes:
            process.terminate()


def _nothing() -> None:
    pass


def _serve(shift: Shift, told: Connection) -> None:
    """Do the shift, in its own process; `told` hears when it is up."""
    os.setpgid(0, 0)  # Ctrl-C is for the one that looks after us, which passes it on
    threading.Thread(target=_end_with_parent, daemon=True).start()
    run = replace(shift.run, announce=lambda: told.send_bytes(_UP))
    try:
        with logs_written(shift.log):
            asyncio.run(serve_until_told(run))
    except asyncio.CancelledError:  # told to stop before it was up
        sys.exit(0)
    except Complaint as complaint:
        complain(complaint)
        sys.exit(complaint.exit_code)


def _end_with_parent() -> None:
    """Stop as if told to when the one that looks after us is gone, which is nothing that it could tell."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)


def _heard(told: Connection) -> bool:
    try:
        return told.recv_bytes() == _UP
    except EOFError:  # it ended before
        return False


def _exit_code(code: int | None) -> int:
    """Return what a shell would; told to stop before it could listen to that, a process has done as it was told."""
    if code == -signal.SIGTERM:
        return 0
    return ExitCode.FAILED if code is None or code < 0 else code


async def _before(end: asyncio.Future[T], event: asyncio.Event) -> None:
    """Return when the event is set, or `end` has come."""
    waiting = asyncio.create_task(event.wait())
    await asyncio.wait((waiting, end), return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()


async def _readable(file: int) -> None:
    loop = asyncio.get_running_loop()
    come = asyncio.Event()
    loop.add_reader(file, come.set)
    try:
        await come.wait()
    finally:
        loop.remove_reader(file)
