"""kill -9 and signals at moments nobody has chosen: what was acknowledged is there, and a start needs no hand."""

# ruff: noqa: N802 - a test is named after its case

import concurrent.futures
import signal
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.crash.program import ForkedServer
from tests.crash.rounds import Rounds
from tests.crash.traffic import packed
from tests.processes import ServerProcess

TASK_SECONDS = 60.0
GROUP = 50  # files that share a word: all of them fit on one page of hits


@pytest.mark.parametrize("rounds", [10, pytest.param(20, marks=pytest.mark.slow)])
def test_R113_rounds_of_kill_9_lose_nothing_and_need_no_hand(tmp_path: Path, rounds: int) -> None:
    killed = Rounds(tmp_path / "data", seed=rounds)
    for _ in range(rounds):
        killed.run()
    killed.finish()
    assert killed.toll.rounds == rounds
    assert killed.toll.acknowledged > rounds


def add(server: ServerProcess, root: str, files: Mapping[str, str], **fields: object) -> Any:
    upload = server.call(
        "POST",
        "/api/v1/resources/temp_upload",
        files={"file": packed(files)},
    )
    request = {"temp_file_id": upload["temp_file_id"], "to": root, **fields}
    return server.call("POST", "/api/v1/resources", json=request)


def body(word: str) -> str:
    return f"# About {word}\n\nThe {word} is written down here.\n"


def ended(server: ServerProcess, task_id: str) -> str:
    """Return the status of a task once it has ended."""
    end = time.monotonic() + TASK_SECONDS
    status = "pending"
    while status in {"pending", "running"} and time.monotonic() < end:
        status = server.call("GET", f"/api/v1/tasks/{task_id}")["status"]
        time.sleep(0.01)  # noqa: TID251 - a test waits for another process
    return status


def test_R072_adds_that_were_killed_half_way_end_after_the_restart(tmp_path: Path) -> None:
    trees = {
        f"viking://resources/add{n}": {f"n{k}.md": body(f"word{n}x{k}q") for k in range(3)}
        for n in range(30)
    }
    tasks: dict[str, str] = {}
    counting = threading.Lock()

    def send(server: ServerProcess, root: str) -> None:
        try:
            added = add(server, root, trees[root])
        except httpx.TransportError:
            return
        with counting:
            tasks[root] = added["task_id"]
            if len(tasks) == len(trees) // 2:
                server.kill()

    with ForkedServer(tmp_path / "data") as server:
        server.start().wait_healthy()
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda root: send(server, root), trees))
    assert len(trees) // 2 <= len(tasks) < len(trees)
    with ForkedServer(tmp_path / "data") as server:
        server.start().wait_healthy()
        assert {ended(server, task) for task in tasks.values()} == {"completed"}
        server.call("POST", "/api/v1/system/wait", json={"timeout": TASK_SECONDS})
        known = server.call("GET", "/api/v1/tasks", params={"limit": 100})
        assert {task["status"] for task in known} == {"completed"}
        for root, files in trees.items():
            whole = root in tasks or root in {task["resource_id"] for task in known}
            assert shown(server, root) == (files if whole else {})
            assert found(server, root, files) == (set(files) if whole else set())


def shown(server: ServerProcess, root: str) -> dict[str, str]:
    """Return the texts of the files that lie in a directory."""
    answer = server.http.get("/api/v1/fs/ls", params={"uri": root})
    lines = answer.json()["result"] or ()
    read = "/api/v1/content/read"
    return {
        line["name"]: server.call("GET", read, params={"uri": line["uri"]})
        for line in lines
        if not line["isDir"]
    }


def found(server: ServerProcess, root: str, files: Mapping[str, str]) -> set[str]:
    """Return the names of those files that are found by what they are about."""
    asked = {name: text.split("\n")[0] for name, text in files.items()}
    return {
        name
        for name, question in asked.items()
        if f"{root}/{name}" in [hit["uri"] for hit in server.find(question, limit=3, level=2)]
    }


@pytest.mark.parametrize("count", [1_001, pytest.param(2_500, marks=pytest.mark.slow)])
def test_R105_after_a_stop_every_file_is_found(tmp_path: Path, count: int) -> None:
    root = "viking://resources/many"
    files = {f"d{n // 100}/n{n}.md": body(f"word{n}q of group{n // GROUP}z") for n in range(count)}
    with ForkedServer(tmp_path / "data") as server:
        server.start().wait_healthy()
        add(server, root, files, wait=True)
        assert server.stop() == 0, server.output()
    with ForkedServer(tmp_path / "data") as server:
        server.start().wait_healthy()
        hits = [
            hit["uri"]
            for group in range(-(-count // GROUP))
            for hit in server.find(f"group{group}z", limit=GROUP, level=2)
        ]
        assert set(hits) == {f"{root}/{name}" for name in files}


def test_R106_an_interrupt_right_after_an_add_loses_nothing(tmp_path: Path) -> None:
    root, files = "viking://resources/fresh", {"n.md": body("wordfreshq")}
    with ForkedServer(tmp_path / "data") as server:
        server.start().wait_healthy()
        add(server, root, files, wait=True)
        time.sleep(0.1)  # noqa: TID251 - the case says when
        server.tell(signal.SIGINT)
        assert server.process is not None
        assert server.process.wait(TASK_SECONDS) == 0, server.output()
    with ForkedServer(tmp_path / "data") as server:
        server.start().wait_healthy()
        assert shown(server, root) == files
        assert found(server, root, files) == set(files)
