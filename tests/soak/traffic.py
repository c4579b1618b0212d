"""Everything callers do to a server, at a bounded rate, on data that does not grow."""

import random
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx

from examples.serving import zip_of

API = "/api/v1"
FILES, FOLDERS, TREES, SESSIONS = 200, 8, 3, 10
TREE_FILES, TREE_NAMES = 12, 60  # of so many words and names only: caches of words fill, too
QUIET_EVERY, QUIET_SECONDS = 60.0, 12.0  # writers rest, so that what they left is tidied up
CALL_SECONDS = 60.0
SYLLABLES = ("ka", "lo", "mi", "ru", "te", "sa", "no", "vi", "pe", "du")


@dataclass
class Books:
    """What was asked for and how it ended, by kind of request."""

    asked: Counter[str] = field(default_factory=Counter)
    unexpected: Counter[str] = field(default_factory=Counter)

    def note(self, kind: str, answer: httpx.Response, *expected: int) -> None:
        self.asked[kind] += 1
        if answer.status_code not in (expected or (200,)):
            self.unexpected[f"{kind}: {answer.status_code} {answer.text[:120]}"] += 1


class Visitor:
    """One caller with a connection of its own; what it says is decided by its seed."""

    def __init__(self, url: str, seed: int, books: Books) -> None:
        self.url = url
        self.chance = random.Random(seed)  # noqa: S311 - chance that can be repeated
        self.books = books
        self.http = httpx.Client(base_url=url, timeout=CALL_SECONDS)
        self.turn = 0

    def words(self, number: int) -> str:
        return " ".join("".join(self.chance.choices(SYLLABLES, k=3)) for _ in range(number))

    def post(self, kind: str, path: str, body: object, *expected: int) -> Any:
        answer = self.http.post(f"{API}/{path}", json=body)
        self.books.note(kind, answer, *expected)
        return answer.json().get("result")

    def find(self) -> None:
        body: dict[str, object] = {"query": self.words(3), "limit": 10}
        if self.turn % 3 == 0:
            body |= {"target_uri": f"viking://resources/d{self.chance.randrange(FOLDERS)}"}
        if self.turn % 5 == 0:
            body |= {"read_content": True, "include_provenance": True}
        self.post("find", "search/find", body)

    def write(self) -> None:
        """Write or replace one of so many files, and remove the one that was written longest ago."""
        self.post("write", "content/write", {"uri": _file(self.turn), "content": self.words(120)})
        gone = self.http.delete(f"{API}/fs", params={"uri": _file(self.turn + FILES // 2)})
        self.books.note("delete", gone)

    def converse(self) -> None:
        """Say something in a session; every tenth is committed, and removed when it is full."""
        session = f"s{self.turn // 30 % SESSIONS}"
        said = {"role": "user", "content": self.words(20)}
        self.post("message", f"sessions/{session}/messages", said)
        if self.turn % 10 == 9:
            self.post("commit", f"sessions/{session}/commit", {})
        if self.turn % 30 == 29:
            self.books.note("session gone", self.http.delete(f"{API}/sessions/{session}"))
        if self.turn % 4 == 0:
            body = {"query": self.words(3), "session_id": session}
            self.post("search", "search/search", body)

    def ingest(self) -> None:
        """Upload a small tree in the place of another one, and wait for it; remove it now and then."""
        chosen = self.chance.sample(range(TREE_NAMES), TREE_FILES)
        names = [f"note{number}.md" for number in chosen]
        tree = zip_of((name, f"# {name}\n\n{self.words(200)}".encode()) for name in names)
        kept = self.http.post(f"{API}/resources/temp_upload", files={"file": ("t.zip", tree)})
        self.books.note("upload", kept)
        to = f"viking://resources/tree{self.turn % TREES}"
        body = {"temp_file_id": kept.json()["result"]["temp_file_id"], "to": to, "wait": True}
        self.post("ingest", "resources", body)
        if self.turn % 5 == 4:
            params = {"uri": to, "recursive": "true"}
            self.books.note("tree gone", self.http.delete(f"{API}/fs", params=params))

    def look(self) -> None:
        """Read what is there, and what is not."""
        for path, params in (
            ("fs/ls", {"uri": "viking://resources"}),
            ("content/read", {"uri": _file(self.turn)}),
            ("tasks", {}),
            ("system/status", {}),
        ):
            self.books.note("look", self.http.get(f"{API}/{path}", params=params), 200, 404)
        self.books.note("look", self.http.get("/ready"))

    def err(self) -> None:
        """Send what must be refused, each time on a connection of its own."""
        wrong: Sequence[tuple[str, str, dict[str, Any], int]] = (
            ("POST", f"{API}/search/find", {"content": b"{"}, 400),
            ("POST", f"{API}/search/find", {"json": {"query": "x", "limit": 0}}, 400),
            ("POST", f"{API}/search/find", {"json": {"query": "x", "filter": {"op": "?"}}}, 400),
            ("GET", f"{API}/content/read", {"params": {"uri": "viking://user/../x"}}, 400),
            ("GET", f"{API}/tasks/none", {}, 404),
            ("GET", "/no/such/route", {}, 404),
            ("PUT", f"{API}/search/find", {}, 405),
            ("POST", f"{API}/resources/temp_upload", {"content": b"no form"}, 400),
        )
        method, path, more, status = wrong[self.turn % len(wrong)]
        answer = httpx.request(method, self.url + path, timeout=CALL_SECONDS, **more)
        self.books.note("wrong", answer, status)

    def hang_up(self) -> None:
        """Leave in the middle of a request, or before its answer."""
        host, _, port = self.url.removeprefix("http://").partition(":")
        body = b'{"query": "ka lo"}'
        head = (
            f"POST {API}/search/find HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
        )
        whole = head.encode() + b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
        sent = whole[: (len(whole), len(whole) - 5, 20, 0)[self.turn % 4]]
        with socket.create_connection((host, int(port)), CALL_SECONDS) as connection:
            connection.sendall(sent)
        self.books.asked["hang up"] += 1


# What visitors do, how often a second, and whether it rests in quiet times.
RATES: Sequence[tuple[Callable[[Visitor], None], float, bool]] = (
    (Visitor.find, 10.0, False),
    (Visitor.find, 10.0, False),
    (Visitor.write, 3.0, True),
    (Visitor.converse, 2.0, True),
    (Visitor.ingest, 0.2, True),
    (Visitor.look, 1.0, False),
    (Visitor.err, 3.0, False),
    (Visitor.hang_up, 2.0, False),
)


@contextmanager
def traffic(url: str, books: Books) -> Iterator[None]:
    """Let all visitors come and go until the context ends."""
    over = threading.Event()
    visitors = [
        threading.Thread(target=_stay, args=(Visitor(url, seed, books), act, rate, rests, over))
        for seed, (act, rate, rests) in enumerate(RATES)
    ]
    for visitor in visitors:
        visitor.start()
    try:
        yield
    finally:
        over.set()
        for visitor in visitors:
            visitor.join()


def _stay(
    visitor: Visitor,
    act: Callable[[Visitor], None],
    rate: float,
    rests: bool,  # noqa: FBT001 - an argument of a thread
    over: threading.Event,
) -> None:
    """Act at the rate at most; whoever is late does not catch up."""
    begun = time.monotonic()
    with visitor.http:
        while not over.is_set():
            before = time.monotonic()
            if not (rests and (before - begun) % QUIET_EVERY > QUIET_EVERY - QUIET_SECONDS):
                try:
                    act(visitor)
                except httpx.HTTPError as fault:
                    visitor.books.unexpected[f"{act.__name__}: {fault!r}"] += 1
                visitor.turn += 1
            over.wait(max(1 / rate - (time.monotonic() - before), 0))


def _file(number: int) -> str:
    place = number % FILES
    return f"viking://resources/d{place % FOLDERS}/f{place}.md"
