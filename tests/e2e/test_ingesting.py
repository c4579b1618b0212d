"""While many files come in: finds go on, nothing fails, and the event loop is never away for long.

The number in a name is that of the case in docs/compatibility.md.
"""
# ruff: noqa: N802 - the numbers are written as there

import concurrent.futures
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from tests.api.living import packed
from tests.processes import ServerProcess

TREE = "viking://resources/notes"
SECONDS = 600.0  # an ingest may take that long where five other programs run; 5,000 files take 15
STOP_SECONDS = 60.0


def name(number: int) -> str:
    return f"area-{number % 10}/topic-{number // 10 % 10}/{number}.md"


def body(number: int) -> str:
    sentences = " ".join(f"Sentence {n} about topic{number * n % 97}word." for n in range(30))
    return f"# Note {number}\n\n{sentences}\n\n## End\n\nmarker{number}q closes it.\n"


@dataclass
class Asked:
    """What became of the finds: seconds of each answer, and whatever went wrong."""

    took: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


def ask(server: ServerProcess, over: threading.Event, asked: Asked, number: int) -> None:
    with httpx.Client(base_url=server.url, timeout=60) as http:
        while not over.is_set():
            began = time.perf_counter()
            question = {"query": f"what is topic{number % 97}word about"}
            answer = http.post("/api/v1/search/find", json=question)
            asked.took.append(time.perf_counter() - began)
            if answer.status_code != 200:
                asked.wrong.append(answer.text)
            number += 1


@contextmanager
def asking(server: ServerProcess, threads: int) -> Iterator[Asked]:
    """Ask from so many threads, one find after the other, until the end."""
    over, asked = threading.Event(), Asked()
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        jobs = [pool.submit(ask, server, over, asked, 7 * n) for n in range(threads)]
        try:
            yield asked
        finally:
            over.set()
            for job in jobs:
                job.result()


def ingest(server: ServerProcess, count: int) -> None:
    """Add the files and return when all of them can be found."""
    data = packed({name(number): body(number) for number in range(count)})
    files = {"file": ("notes.zip", data, "application/zip")}
    upload = server.call("POST", "/api/v1/resources/temp_upload", files=files)
    request = {"temp_file_id": upload["temp_file_id"], "to": TREE, "wait": False}
    task_id = server.call("POST", "/api/v1/resources", json=request)["task_id"]
    end = time.monotonic() + SECONDS
    while (task := server.call("GET", f"/api/v1/tasks/{task_id}"))["status"] != "completed":
        assert task["status"] in ("pending", "running"), task
        assert time.monotonic() < end, task
        time.sleep(0.05)  # noqa: TID251 - another process works
    assert (task["result"]["added"], task["result"]["failed_count"]) == (count, 0)


def beside(server: ServerProcess, count: int, threads: int) -> Asked:
    """Ingest so many files while so many threads ask, and look for them afterwards."""
    with asking(server, threads) as asked:
        ingest(server, count)
    assert asked.wrong == []
    for number in range(0, count, max(count // 100, 1)):
        hits = server.find(f"marker{number}q closes it", level=2)
        assert hits[0]["uri"] == f"{TREE}/{name(number)}"
    assert server.call("GET", "/api/v1/system/status")["counts"]["files"] == count
    return asked


@contextmanager
def beating(folder: Path) -> Iterator[tuple[ServerProcess, list[float]]]:
    """Run a server; the list holds, behind it, how long its loop was away because of itself, longest first."""
    file, away = folder / "heartbeat.json", list[float]()
    with ServerProcess(folder / "data", program="tests.stubs.heartbeat") as server:
        server.start({"HEARTBEAT_FILE": str(file)}).wait_healthy()
        yield server, away
        assert server.stop(STOP_SECONDS) == 0, server.output()
        told = json.loads(file.read_text())
        assert told["beats"] > 100
        away += sorted((min(wait) for wait in told["waits"]), reverse=True)


def test_R091_finds_go_on_while_files_come_in(tmp_path: Path) -> None:
    with beating(tmp_path) as (server, away):
        asked = beside(server, 200, 4)
    assert len(asked.took) > 20
    assert away[0] < 0.25, away[
        :10
    ]  # measured .03; of a machine that is busy not all can be told apart


def children(process: int) -> list[int]:
    """Return the processes that any thread of one has started."""
    found: list[int] = []
    for thread in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):  # a thread that has ended meanwhile
            found += map(int, thread.read_text().split())
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="looks for the process in /proc")
def test_a_process_that_is_killed_at_parsing_costs_no_file(tmp_path: Path) -> None:
    with ServerProcess(tmp_path / "data") as server:
        server.start().wait_healthy()
        assert server.process is not None
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            ingesting = pool.submit(ingest, server, 600)
            while not (parsers := children(server.process.pid)):
                assert not ingesting.done()
                time.sleep(0.002)  # noqa: TID251 - another process works
            for parser in parsers:
                os.kill(parser, signal.SIGKILL)
            ingesting.result(SECONDS)
        assert server.find("marker599q closes it", level=2)[0]["uri"] == f"{TREE}/{name(599)}"
        assert server.stop(STOP_SECONDS) == 0
        assert server.output().count("the process that parses files has ended") == 1


@pytest.mark.slow
def test_R091_eight_threads_ask_while_five_thousand_files_come_in(tmp_path: Path) -> None:
    with beating(tmp_path) as (server, away):
        beside(server, 5_000, 8)
    # Measured .068 and .035 while eight other programs wanted the same two cores.
    assert away[0] < 0.15, away[:10]
    assert away[len(away) // 8] < 0.05, away[:30]  # one in a hundred, of 2,000 beats or more
