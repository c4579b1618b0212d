"""Clients that cost next to nothing: requests over a few connections, timed, in a process of its own.

One thread and one selector keep all connections busy; a request costs the client some 40 µs, so that
what is timed is the server. `Clients(load)` starts it, `stop()` or `result()` ends it.

Run as `python -m tests.benchmark.clients`, with a `Load` as one line of JSON on stdin.
"""

import http
import json
import re
import selectors
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Self

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_CHUNK = 1 << 18
_ANSWER_SECONDS = 120.0  # of silence on all connections


@dataclass(frozen=True, slots=True)
class Load:
    """What to send: each body once, or over and over until the clients are stopped.

    bodies: JSON texts; an empty one is a GET. pause: seconds between an answer and the next request of
    a connection. keep: whether the answers are wanted.
    """

    port: int
    path: str
    bodies: Sequence[str]
    key: str = ""
    concurrency: int = 1
    endless: bool = False
    pause: float = 0.0
    keep: bool = False


@dataclass(frozen=True, slots=True)
class Answers:
    """Milliseconds of every answer in the order they came; `answers` in the order of the bodies."""

    ms: Sequence[float]
    seconds: float
    bytes_mean: int
    failed: int
    answers: Sequence[str] = field(default_factory=list)


class Clients:
    """The process that sends a load."""

    def __init__(self, load: Load) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.benchmark.clients"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(asdict(load)).encode() + b"\n")
        self._process.stdin.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def result(self) -> Answers:
        """Return the answers: all of them, or those that came until now where there is no end."""
        told, _ = self._process.communicate()  # closing stdin ends what is endless
        if self._process.returncode != 0:
            raise RuntimeError("the clients gave up")
        return Answers(**json.loads(told))


def sent(load: Load) -> Answers:
    """Return the answers to a load, sent from another process."""
    with Clients(load) as clients:
        return clients.result()


class _Lane:
    """One connection with at most one request under way."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=_ANSWER_SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received = bytearray()
        self.number = -1  # of the body under way
        self.due = self.begun = 0.0

    def send(self, number: int, request: bytes) -> None:
        self.number = number
        self.received.clear()
        self.begun = time.perf_counter()
        self.socket.sendall(request)

    def answer(self) -> tuple[int, bytes] | None:
        """Read what is there; return status and body when all of it is."""
        data = self.socket.recv(_CHUNK)
        if not data:
            raise ConnectionError("the server hung up")
        self.received += data
        head = self.received.find(b"\r\n\r\n")
        length = _LENGTH.search(self.received, 0, max(head, 0))
        if head < 0 or length is None or len(self.received) < head + 4 + int(length[1]):
            return None
        return int(self.received[9:12]), bytes(self.received[head + 4 :])


class _Run:
    """All lanes of a load, until every body was sent or stdin ends."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._requests = [_request(load, body.encode()) for body in load.bodies]
        self._waiting = selectors.DefaultSelector()
        self._idle: list[_Lane] = []
        self._next = 0
        self._told_to_stop = False
        self.ms: list[float] = []
        self.bytes = self.failed = 0
        self.answers = [""] * (len(load.bodies) if load.keep else 0)

    def go(self) -> float:
        """Send everything; return the seconds it took."""
        self._idle = [_Lane(self._load.port) for _ in range(self._load.concurrency)]
        for lane in self._idle:
            self._waiting.register(lane.socket, selectors.EVENT_READ, lane)
        if self._load.endless:
            self._waiting.register(sys.stdin, selectors.EVENT_READ)
        begun = time.perf_counter()
        while self._start_idle() or len(self._idle) < self._load.concurrency:
            ready = self._waiting.select(self._patience())
            if not ready and len(self._idle) < self._load.concurrency:
                raise TimeoutError("no answer came")
            for key, _ in ready:
                if key.data is None:
                    self._told_to_stop = True
                    self._waiting.unregister(key.fileobj)
                else:
                    self._take(key.data)
        return time.perf_counter() - begun

    def _start_idle(self) -> bool:
        """Send on every idle lane that is due; say whether anything is left to be sent."""
        now = time.perf_counter() if self._load.pause else 0.0
        for lane in [lane for lane in self._idle if lane.due <= now]:
            if not self._more():
                break
            self._idle.remove(lane)
            number = self._next % len(self._requests)
            self._next += 1
            lane.send(number, self._requests[number])
        return self._more()

    def _more(self) -> bool:
        if self._told_to_stop:
            return False
        return self._load.endless or self._next < len(self._requests)

    def _patience(self) -> float:
        if not self._idle or not self._more():
            return _ANSWER_SECONDS
        return max(0.0, min(lane.due for lane in self._idle) - time.perf_counter())

    def _take(self, lane: _Lane) -> None:
        answer = lane.answer()
        if answer is None:
            return
        now = time.perf_counter()
        self.ms.append(round(1000 * (now - lane.begun), 4))
        status, body = answer
        self.bytes += len(body)
        self.failed += status != http.HTTPStatus.OK
        if self._load.keep:
            self.answers[lane.number] = body.decode()
        lane.due = now + self._load.pause if self._load.pause else 0.0
        self._idle.append(lane)


def _request(load: Load, body: bytes) -> bytes:
    verb = "POST" if body else "GET"
    lines = [f"{verb} {load.path} HTTP/1.1", f"Host: 127.0.0.1:{load.port}"]
    if load.key:
        lines.append(f"Authorization: Bearer {load.key}")
    if body:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + body


def main() -> None:
    """Send the load of stdin, print the answers."""
    run = _Run(Load(**json.loads(sys.stdin.readline())))
    seconds = run.go()
    size = run.bytes // max(len(run.ms), 1)
    told = Answers(run.ms, seconds, size, run.failed, run.answers)
    sys.stdout.write(json.dumps(asdict(told)))


if __name__ == "__main__":
    main()
