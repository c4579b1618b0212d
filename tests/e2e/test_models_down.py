"""The real process while its models hang, refuse, and come back: finds go on by words, and nothing is lost."""

import json
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from tests.processes import ServerProcess
from tests.stubs.embedder import Fault, stub_embedder

NEVER = Fault(delay=3_600.0)  # a stub that is closed stops waiting
FINDS = 32
QUERY_SECONDS = 1.5  # what a find may wait for the model
BACK_SECONDS = 5.0  # after which finds must have the model again
HEALTH_SECONDS = 0.2
NOISE = 15.0  # seconds that a busy machine may add
KEY = "sk-secret-1234"
NEW = "viking://resources/new.md"
WRITE = "/api/v1/content/write"
BY_WORDS = "searched%20by%20words%20only"
HEART = "heart.json"


@contextmanager
def served(place: Path, base_url: str) -> Iterator[ServerProcess]:
    """Run a server with a heart, whose embedder is at an address."""
    asked = {"provider": "openai", "model": "m", "api_base": base_url, "api_key": KEY}
    conf = {"embedding": {**asked, "query_timeout": QUERY_SECONDS, "timeout": 2}}
    (place / "ov.conf").write_text(json.dumps(conf))
    arguments = ("--config", str(place / "ov.conf"))
    program = "tests.stubs.heartbeat"
    process = ServerProcess(place / "data", *arguments, embedder="openai", program=program)
    with process.start({"HEARTBEAT_FILE": str(place / HEART)}) as server:
        yield server


@dataclass(frozen=True)
class Answer:
    """An answer to a find: after how many seconds, with which notes, with what."""

    took: float
    notes: str
    uris: Sequence[str]


def find(server: ServerProcess, query: str, kind: str = "find") -> Answer:
    began = time.monotonic()
    body = {"query": query, "level": 2, "telemetry": True}
    answer = server.http.post(f"/api/v1/search/{kind}", json=body)
    took = time.monotonic() - began
    assert answer.status_code == 200, answer.text
    told, notes = answer.json(), answer.headers.get("x-notes", "")
    assert told["telemetry"]["summary"]["words_only"] is (BY_WORDS in notes)
    return Answer(took, notes, [hit["uri"] for hit in told["result"]["resources"]])


def first_of(server: ServerProcess, query: str) -> str | None:
    """Return what is found first, as soon as anything is: nobody waits for the index."""
    end = time.monotonic() + 60
    while not (uris := find(server, query).uris) and time.monotonic() < end:
        time.sleep(0.05)  # noqa: TID251 - another process works
    return uris[0] if uris else None


def health_beside(server: ServerProcess, finds: Sequence[Future[Answer]]) -> list[float]:
    """Ask for /health until all are done; return how long each took."""
    took = []
    while not all(one.done() for one in finds):
        began = time.monotonic()
        assert server.http.get("/health").json()["healthy"] is True
        took.append(time.monotonic() - began)
    return took


def seconds_until_meaning(server: ServerProcess) -> float:
    """Find until the embedder takes part; every query is a new one."""
    began = time.monotonic()
    for number in count():
        if find(server, f"release again {number}").notes == "":
            break
        assert time.monotonic() - began < 60
        time.sleep(0.05)  # noqa: TID251 - somebody who asks now and then
    return time.monotonic() - began


def checks(server: ServerProcess) -> Any:
    """Return the lines of /ready, which no model makes a 503."""
    ready = server.http.get("/ready")
    assert ready.status_code == 200, ready.text
    return ready.json()["checks"]


def back_to_normal(server: ServerProcess) -> None:
    """Wait until all is embedded and said to be well; a wait ends early until the next text is tried, which says so."""
    end = time.monotonic() + 60
    while True:
        server.call("POST", "/api/v1/system/wait", json={"timeout": 60})
        if server.call("GET", "/api/v1/system/status")["backlog"]["texts"] == 0:
            break
        assert time.monotonic() < end
        time.sleep(0.05)  # noqa: TID251 - another process works
    assert checks(server)["embedder"] == "ok"


def test_32_finds_with_a_model_that_hangs_and_the_first_ones_after_it(tmp_path: Path) -> None:
    with stub_embedder() as stub, served(tmp_path, stub.base_url) as server:
        server.wait_healthy()
        for name in ("roll", "back", "undo"):
            body = {"uri": f"viking://resources/{name}.md", "content": f"{name} the release"}
            server.call("POST", WRITE, json={**body, "wait": True})
        assert find(server, "release notes").notes == ""
        server.call("POST", "/api/v1/system/wait", json={"timeout": 60})
        stub.always = NEVER
        with ThreadPoolExecutor(FINDS) as pool:
            finds = [pool.submit(find, server, f"release number {n}") for n in range(FINDS)]
            health = health_beside(server, finds)
        answers = [one.result() for one in finds]
        assert all(BY_WORDS in one.notes and len(one.uris) == 3 for one in answers)
        assert max(one.took for one in answers) < QUERY_SECONDS + NOISE
        asked = [text for sent in stub.requests for text in sent.texts if "number" in text]
        assert len(asked) <= 4 + 2  # its connections and, where the machine is slow, probes
        later = [find(server, f"release later {n}", "search") for n in range(10)]
        assert all(BY_WORDS in one.notes for one in later)
        assert sorted(one.took for one in later)[5] < QUERY_SECONDS  # but for probes at once

        server.call("POST", WRITE, json={"uri": NEW, "content": "written while it is away"})
        assert server.http.post("/api/v1/system/wait", json={"timeout": 0.2}).status_code == 504
        assert first_of(server, "written away") == NEW
        assert "no answer within 1.5 s" in checks(server)["embedder"]

        stub.always = None
        back = seconds_until_meaning(server)
        assert back < BACK_SECONDS
        back_to_normal(server)
        assert server.stop() == 0, server.output()
    beats = json.loads((tmp_path / HEART).read_text())
    away = max(min(wait) for wait in beats["waits"])  # because of the process itself
    assert away < HEALTH_SECONDS, f"/health took {max(health):.3f} s"


def test_a_first_start_with_a_wrong_key_ends_with_one_line(tmp_path: Path) -> None:
    with stub_embedder() as stub:
        stub.always = Fault(401, f"incorrect key {KEY}")
        with served(tmp_path, stub.base_url) as server:
            assert server.process is not None
            assert server.process.wait(60) != 0
            (line,) = [one for one in server.output().splitlines() if "401" in one]
            assert "incorrect key ***" in line
            assert KEY not in server.output()
            assert len(stub.requests) == 1
