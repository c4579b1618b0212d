"""A standby that lacks the last writes takes over under two servers: nobody is answered from what was lost."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.processes import ServerProcess
from tests.stubs.own_database import OwnDatabase, own_database

pytestmark = pytest.mark.slow

SECONDS = 120.0


@pytest.fixture
def database() -> Iterator[OwnDatabase]:
    with own_database(60) as made:
        yield made


@pytest.fixture
def servers(database: OwnDatabase, tmp_path: Path) -> Iterator[list[ServerProcess]]:
    named = {
        "CONTEXTFIND_STORAGE__BACKEND": "postgres",
        "CONTEXTFIND_STORAGE__DSN": database.dsn,
        "CONTEXTFIND_STORAGE__CONNECTIONS": "4",
        "CONTEXTFIND_STORAGE__TIMEOUT": "10",
    }
    with ExitStack() as stack:
        started = [stack.enter_context(ServerProcess(tmp_path)) for _ in range(2)]
        for server in started:
            server.start(named)
        for server in started:
            server.wait_healthy()
            until_ready(server)
        yield started


def until_ready(server: ServerProcess) -> None:
    ends = time.monotonic() + SECONDS
    while (answer := server.http.get("/ready")).status_code != 200:
        assert time.monotonic() < ends, answer.text
        time.sleep(0.1)  # noqa: TID251 - a test waits for another process


def write(server: ServerProcess, word: str) -> None:
    body = {
        "uri": f"viking://resources/{word}.md",
        "content": f"the {word}",
        "mode": "create",
        "wait": True,
    }
    server.call("POST", "/api/v1/content/write", json=body)


def found(server: ServerProcess, word: str) -> bool:
    return f"viking://resources/{word}.md" in [hit["uri"] for hit in server.find(word)]


def test_what_a_standby_lacks_is_lost_and_all_else_is_as_it_was(
    database: OwnDatabase, servers: list[ServerProcess]
) -> None:
    one, other = servers
    write(one, "heron")
    database.put_aside()
    for server in servers:
        until_ready(server)
    for word in ("quokka", "okapi"):
        write(one, word)
    assert found(other, "okapi")
    database.go_back()
    for server in servers:
        until_ready(server)
    for number, server in enumerate(servers):
        write(server, f"lemur{number}")
        assert [found(each, f"lemur{number}") for each in servers] == [True, True]
    assert [found(each, "heron") for each in servers] == [True, True]
    assert not any(found(each, word) for each in servers for word in ("quokka", "okapi"))
    write(other, "okapi")  # its address is free again
    assert found(one, "okapi")
