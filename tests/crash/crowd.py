"""Clients at work on one data directory, whichever server has it at the moment."""

import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

from tests.crash.ledger import Operation
from tests.crash.traffic import Client
from tests.processes import ServerProcess

CLIENTS = 4
SETTLE_SECONDS = 60


class BrokenPromiseError(AssertionError):
    """What was acknowledged is not there, or what was deleted is."""


class Crowd:
    """Clients that work side by side and remember what they were promised; the seed says what they do."""

    def __init__(self, seed: int) -> None:
        self._clients = [
            Client(f"c{n}", random.Random(f"{seed}-{n}"))  # noqa: S311 - no secrets
            for n in range(CLIENTS)
        ]

    @property
    def answers(self) -> int:
        """How many requests were acknowledged so far."""
        return sum(client.ledger.acknowledged for client in self._clients)

    @property
    def open(self) -> list[Operation]:
        """The requests that have no answer."""
        opened = (client.ledger.open for client in self._clients)
        return [operation for operation in opened if operation is not None]

    def copy(self) -> "Crowd":
        """Return a crowd with the same memory, for a copy of the data."""
        crowd = Crowd(0)
        crowd._clients = [client.copy() for client in self._clients]
        return crowd

    @contextmanager
    def at_work(self, server: ServerProcess, answers: int) -> Iterator[threading.Event]:
        """Give a way to pause them, once they have had so many answers more or the server is gone.

        The context ends when they have paused, or have no server any more.
        """
        pause = threading.Event()
        wanted = self.answers + answers
        with self._talking_to(server), ThreadPoolExecutor(CLIENTS) as pool:
            working = [pool.submit(client.work, pause) for client in self._clients]
            try:
                while self.answers < wanted and not any(one.done() for one in working):
                    time.sleep(0.002)  # noqa: TID251 - a test waits for another process
                yield pause
            except BaseException:
                pause.set()
                raise
        for one in working:
            one.result()

    def check_at_once(self, server: ServerProcess) -> None:
        """Hold a server that has just started to what was promised.

        Raises:
            BrokenPromiseError: with a line per promise, and what the server has printed.

        """
        with self._talking_to(server):
            lines = [line for client in self._clients for line in client.broken_at_once()]
        _raise_on(lines, server)

    def check(self, server: ServerProcess) -> None:
        """Hold a server to what was promised, at once and when all of its tasks have ended.

        Raises:
            BrokenPromiseError: with a line per promise, and what the server has printed.

        """
        self.check_at_once(server)
        wait = {"timeout": SETTLE_SECONDS}
        waited = server.http.post("/api/v1/system/wait", json=wait, timeout=2 * SETTLE_SECONDS)
        tasks = server.call("GET", "/api/v1/tasks", params={"limit": 1_000})
        lines = [f"task {one}" for one in tasks if one["status"] != "completed"]
        if waited.status_code != 200:
            _raise_on([*lines, waited.text, server.http.get("/ready").text], server)
        with self._talking_to(server):
            lines += [line for client in self._clients for line in client.broken()]
        if "Traceback" in server.output():  # a worker that fell over and began again, say
            lines.append("nothing was lost, but something went wrong that nobody foresaw")
        _raise_on(lines, server)

    @contextmanager
    def _talking_to(self, server: ServerProcess) -> Iterator[None]:
        with ExitStack() as stack:
            for client in self._clients:
                stack.enter_context(client.talking_to(server.url))
            yield


def _raise_on(lines: list[str], server: ServerProcess) -> None:
    if lines:
        raise BrokenPromiseError("\n".join(["", *lines, "the server said:", server.output()]))
