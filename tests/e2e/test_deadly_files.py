"""A file that its server dies of whenever it reads it: the server comes up again, and all others are served."""

import signal
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests import databases
from tests.crash.program import ForkedServer, dying_of

DEADLY = b"# A trap\n\nwho parses this is gone\n"
WAIT_SECONDS = 60.0


@pytest.fixture(params=["directory", "postgres"])
def environment(request: pytest.FixtureRequest) -> Iterator[Mapping[str, str]]:
    if request.param == "directory":
        yield {}
        return
    where = databases.place()
    yield {
        "CONTEXTFIND_STORAGE__BACKEND": "postgres",
        "CONTEXTFIND_STORAGE__DSN": databases.server(),
        "CONTEXTFIND_STORAGE__DB_SCHEMA": where.schema,
        "CONTEXTFIND_STORAGE__CONNECTIONS": "4",
    }
    databases.drop(where.schema)


def add(server: ForkedServer, name: str, text: bytes, to: str) -> str:
    """Add a file and return the task that reads it."""
    upload = server.call("POST", "/api/v1/resources/temp_upload", files={"file": (name, text)})
    body = {"temp_file_id": upload["temp_file_id"], "to": to, "wait": False}
    return str(server.call("POST", "/api/v1/resources", json=body)["task_id"])


def ended(server: ForkedServer, task: str) -> dict[str, Any]:
    """Return a task that has ended."""
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        seen: dict[str, Any] = server.call("GET", f"/api/v1/tasks/{task}")
        if seen["status"] in ("completed", "failed"):
            return seen
        assert time.monotonic() < deadline, seen
        time.sleep(0.05)  # noqa: TID251 - a test waits for another process


def test_a_file_that_kills_its_server_is_given_up_after_three_times_and_the_queue_goes_on(
    tmp_path: Path, environment: Mapping[str, str]
) -> None:
    """R072: each task ends in completed or failed, none is stuck, no file is half visible."""
    go = tmp_path / "go"
    trap, below = "viking://resources/trap", "viking://resources/trap/below"
    with ForkedServer(tmp_path / "data") as server:
        server.start(environment, dying_of(DEADLY, go)).wait_healthy()
        deadly = add(server, "trap.md", DEADLY, trap)
        behind = add(server, "kept.md", b"# Kept\n\nthe quokka waits its turn\n", below)
        go.touch()
        for _ in range(3):
            assert server.process is not None
            assert server.process.wait(WAIT_SECONDS) == -signal.SIGKILL, server.output()
            server.start(environment, dying_of(DEADLY, go))
        server.wait_healthy()
        failed = ended(server, deadly)
        assert failed["status"] == "failed"
        assert "given up: 3 times" in failed["error"]
        assert ended(server, behind)["status"] == "completed"
        assert [hit["uri"] for hit in server.find("quokka", level=2)] == [f"{below}/kept.md"]
        assert server.stop() == 0, server.output()
        assert "Traceback" not in server.output()
