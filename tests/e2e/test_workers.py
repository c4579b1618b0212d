"""`serve --workers`: several processes on one port and one database, looked after by one that serves nothing."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests import databases
from tests.processes import START_SECONDS, ServerProcess
from tests.schemas import directory_only
from tests.unit.cli.calling import call


@pytest.fixture
def environment() -> Iterator[dict[str, str]]:
    place = databases.place()
    yield {
        "CONTEXTFIND_STORAGE__BACKEND": "postgres",
        "CONTEXTFIND_STORAGE__DSN": place.dsn,
        "CONTEXTFIND_STORAGE__DB_SCHEMA": place.schema,
        "CONTEXTFIND_STORAGE__CONNECTIONS": "4",
    }
    databases.drop(place.schema)


def until(holds: Callable[[], bool], server: ServerProcess) -> None:
    end = time.monotonic() + START_SECONDS
    while not holds():
        assert time.monotonic() < end, server.output()
        time.sleep(0.05)  # noqa: TID251 - a test waits for another process


def at_work(server: ServerProcess) -> set[int]:
    """Return the processes that serve: the children that lead a group of their own."""
    assert server.process is not None
    found = set()
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent, group = entry.read_text().rpartition(")")[2].split()[:3]
        except (FileNotFoundError, ProcessLookupError):
            continue
        number = int(entry.parent.name)
        if int(parent) == server.process.pid and int(group) == number and state != "Z":
            found.add(number)
    return found


def write(http: httpx.Client, number: int) -> None:
    body = {"uri": f"viking://resources/n{number}.md", "content": f"word{number}q", "wait": True}
    assert http.post("/api/v1/content/write", json=body).status_code == 200


@pytest.mark.slow  # the processes of a server that begins again take their seconds
def test_two_serve_one_port_and_what_ends_begins_again(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    with ServerProcess(tmp_path, "--workers", "2") as server:
        server.start(environment).wait_healthy()
        until(lambda: "workers  2 processes" in server.output(), server)
        before = at_work(server)
        assert len(before) == 2
        for number in range(6):  # on connections of their own, so of either process
            with httpx.Client(base_url=server.url, timeout=60) as http:
                write(http, number)
            assert server.find(f"word{number}q", limit=1)
        os.kill(min(before), signal.SIGKILL)
        until(lambda: len(at_work(server) - {min(before)}) == 2, server)
        with httpx.Client(base_url=server.url, timeout=60) as http:
            write(http, 7)
        assert server.stop() == 0, server.output()
        assert "Traceback" not in server.output()
        assert "a server process ended with 1; it begins again" in server.output()
        assert server.output().count("stopped") == 1


@pytest.mark.slow
def test_they_end_with_the_one_that_looks_after_them(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    with ServerProcess(tmp_path, "--workers", "2") as server:
        server.start(environment).wait_healthy()
        until(lambda: len(at_work(server)) == 2, server)
        workers = at_work(server)
        server.kill()
        until(lambda: not any(Path(f"/proc/{number}").exists() for number in workers), server)


def test_what_keeps_the_first_from_starting_is_told_once_and_ends_all(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    wrong = {**environment, "CONTEXTFIND_STORAGE__DSN": "no connection string"}
    with ServerProcess(tmp_path, "--workers", "3") as server:
        server.start(wrong)
        assert server.process is not None
        assert server.process.wait(START_SECONDS) == 2
        assert server.output().count("storage.dsn is no connection string") == 1
        assert "Traceback" not in server.output()


@directory_only
def test_a_data_directory_has_one_process(tmp_path: Path) -> None:
    result = call("serve", "--workers", "2", "--data", str(tmp_path / "data"))
    assert result.exit_code == 2
    assert "several workers need storage.backend 'postgres'" in result.stderr
    assert not (tmp_path / "data").exists()
