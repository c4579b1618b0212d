"""Several servers on one PostgreSQL database, and what becomes of them when that does not answer."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests import databases
from tests.crash.pairs import Pairs
from tests.processes import ServerProcess
from tests.stubs.gateway import Gateway, gateway

SECONDS = 2.0  # storage.timeout


def on(dsn: str, schema: str) -> dict[str, str]:
    return {
        "CONTEXTFIND_STORAGE__BACKEND": "postgres",
        "CONTEXTFIND_STORAGE__DSN": dsn,
        "CONTEXTFIND_STORAGE__DB_SCHEMA": schema,
        "CONTEXTFIND_STORAGE__CONNECTIONS": "4",
        "CONTEXTFIND_STORAGE__TIMEOUT": str(SECONDS),
    }


@pytest.fixture
def schema() -> Iterator[str]:
    name = databases.place().schema
    yield name
    databases.drop(name)


def write(server: ServerProcess, name: str, content: str) -> None:
    body = {"uri": f"viking://resources/{name}", "content": content, "wait": True}
    server.call("POST", "/api/v1/content/write", json=body)


def test_two_that_start_at_once_on_nothing_make_the_tables_and_see_each_others_writes(
    tmp_path: Path, schema: str
) -> None:
    environment = on(databases.server(), schema)
    with ExitStack() as stack:
        pair = [stack.enter_context(ServerProcess(tmp_path / str(n))) for n in range(2)]
        for server in pair:
            server.start(environment)
        for server in pair:
            server.wait_healthy()
        for number in range(6):
            here, there = pair[number % 2], pair[1 - number % 2]
            write(here, f"n{number}.md", f"# Note\n\nword{number}q is said here\n")
            hits = there.find(f"word{number}q", level=2, limit=1)
            assert [hit["uri"] for hit in hits] == [f"viking://resources/n{number}.md"]
        for server in pair:
            assert server.stop() == 0, server.output()
            assert "Traceback" not in server.output()


@pytest.mark.parametrize("rounds", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_what_a_killed_server_had_promised_the_other_one_keeps(
    tmp_path: Path, schema: str, rounds: int
) -> None:
    pairs = Pairs(tmp_path / "data", on(databases.server(), schema), seed=3)
    pairs.run(rounds)
    assert pairs.toll.acknowledged > pairs.toll.rounds


@pytest.fixture
def way() -> Iterator[tuple[Gateway, str]]:
    with gateway(databases.server()) as made:
        yield made


@pytest.mark.parametrize("fault", ["down", pytest.param("held", marks=pytest.mark.slow), "cut"])
def test_while_the_database_is_away_all_is_unavailable_and_then_well_again(
    tmp_path: Path, schema: str, way: tuple[Gateway, str], fault: str
) -> None:
    gate, dsn = way
    with ServerProcess(tmp_path / "data") as server:
        server.start(on(dsn, schema)).wait_healthy()
        write(server, "a.md", "# A\n\nquokka\n")
        if fault == "held":
            gate.hold()
        else:
            gate.down = fault == "down"
            gate.cut()
        if fault != "cut":  # else it is back at once
            began = time.monotonic()
            refused = server.http.post("/api/v1/search/find", json={"query": "quokka"})
            assert refused.status_code == 503, refused.text
            assert refused.json()["error"]["code"] == "UNAVAILABLE"
            assert time.monotonic() - began < 3 * SECONDS + 2
            assert server.http.get("/health").status_code == 200
            assert server.http.get("/ready").status_code == 503
        gate.down = False
        gate.flow()
        deadline = time.monotonic() + 60
        while server.http.get("/ready").status_code != 200:
            assert time.monotonic() < deadline, server.output()
            time.sleep(0.1)  # noqa: TID251 - a test waits for another process
        write(server, "b.md", "# B\n\nwombat\n")
        assert [hit["uri"] for hit in server.find("wombat", level=2, limit=1)] == [
            "viking://resources/b.md"
        ]
        assert "Traceback" not in server.output()


def test_a_start_without_a_database_says_which_one_does_not_answer(tmp_path: Path) -> None:
    with ServerProcess(tmp_path / "data") as server:
        server.start(on("postgresql://nobody:secret@127.0.0.1:9/none", "x"))
        assert server.process is not None
        assert server.process.wait(60) != 0
        assert "127.0.0.1" in server.output()
        assert "secret" not in server.output()
        assert "Traceback" not in server.output()
