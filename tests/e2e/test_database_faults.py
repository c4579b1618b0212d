"""A database that is full, restarted, killed or slow under running servers: 503 meanwhile, then well again by itself."""

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from contextfind.adapters.postgres.presence import lock_class
from tests.crash.program import ForkedServer
from tests.processes import ServerProcess
from tests.stubs.own_database import OwnDatabase, own_database
from tests.unit.cli.calling import call

SECONDS = 2.0  # storage.timeout
LONGEST = (
    3 * SECONDS + 3
)  # of a request: for a connection, for a lock, for a statement; on a busy machine
WELL_SECONDS = 90.0
SCHEMA = "faults"
SLOTS = 40  # of the database: two servers take 14 each
MOST_OUSTED = 50  # rounds, of which one or two are needed
OURS = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'contextfind'"
# Slots that the crowd does not hold: one of a connection that is ending is nobody's for a moment, and free then.
LEFT = (
    "SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int - count(*)"
    " FROM pg_stat_activity WHERE application_name = 'crowd'"
)
PRESENT = (
    "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 2"
    " AND classid = %s::bigint::oid"
)


@pytest.fixture
def database() -> Iterator[OwnDatabase]:
    with own_database(SLOTS) as made:
        yield made


def on(database: OwnDatabase) -> dict[str, str]:
    return {
        "CONTEXTFIND_STORAGE__BACKEND": "postgres",
        "CONTEXTFIND_STORAGE__DSN": database.dsn,
        "CONTEXTFIND_STORAGE__DB_SCHEMA": SCHEMA,
        "CONTEXTFIND_STORAGE__CONNECTIONS": "4",
        "CONTEXTFIND_STORAGE__TIMEOUT": str(SECONDS),
    }


@pytest.fixture
def server(database: OwnDatabase, tmp_path: Path) -> Iterator[ServerProcess]:
    with ForkedServer(tmp_path / "data") as started:
        started.start(on(database)).wait_healthy()
        yield started


@dataclass
class Caller:
    """Writes files and looks for them, one request after the other; what fails must be UNAVAILABLE, and soon."""

    server: ServerProcess
    name: str
    kept: list[str] = field(default_factory=list)
    refused: int = 0
    wrong: list[str] = field(default_factory=list)

    def work(self, end: threading.Event) -> None:
        """Go on until the end."""
        number = 0
        with httpx.Client(base_url=self.server.url, timeout=60) as http:
            while not end.is_set():
                word = f"{self.name}x{number}"
                number += 1
                if self.asked(http, "content/write", {"uri": uri(word), "content": text(word)}):
                    self.kept.append(word)
                self.asked(http, "search/find", {"query": word})

    def asked(self, http: httpx.Client, path: str, body: dict[str, object]) -> bool:
        """Return whether it was done."""
        began = time.monotonic()
        answer = http.post(f"/api/v1/{path}", json=body)
        took = time.monotonic() - began
        if answer.status_code == 200:
            return True
        self.refused += 1
        if answer.status_code != 503 or answer.json()["error"]["code"] != "UNAVAILABLE":
            self.wrong.append(answer.text)
        if took > LONGEST:
            self.wrong.append(f"{path} took {took:.1f} s: {answer.text}")
        return False


@contextmanager
def at_work(*callers: Caller) -> Iterator[None]:
    end = threading.Event()
    threads = [threading.Thread(target=caller.work, args=(end,)) for caller in callers]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        end.set()
        for thread in threads:
            thread.join()


def uri(word: str) -> str:
    return f"viking://resources/{word}.md"


def text(word: str) -> str:
    return f"# Note\n\n{word} is said here\n"


def write(server: ServerProcess, word: str) -> None:
    body = {"uri": uri(word), "content": text(word), "wait": True}
    server.call("POST", "/api/v1/content/write", json=body)


def found(server: ServerProcess, word: str) -> bool:
    return [hit["uri"] for hit in server.find(word, level=2, limit=1)] == [uri(word)]


def more(caller: Caller, count: int) -> None:
    """Wait until a caller has had so many writes more acknowledged."""
    wanted = len(caller.kept) + count
    deadline = time.monotonic() + WELL_SECONDS
    while len(caller.kept) < wanted:
        assert time.monotonic() < deadline, caller.server.output()
        time.sleep(0.02)  # noqa: TID251 - a test waits for another process


def well_again(server: ServerProcess) -> None:
    deadline = time.monotonic() + WELL_SECONDS
    while (ready := server.http.get("/ready")).status_code != 200:
        assert time.monotonic() < deadline, f"{ready.text}\n{server.output()}"
        time.sleep(0.05)  # noqa: TID251 - a test waits for another process


def unavailable(server: ServerProcess, word: str) -> list[str]:
    """Hold a find and a write to what they owe while the database does not do its work; return what was said."""
    said = []
    for path, body in (
        ("search/find", {"query": word}),
        ("content/write", {"uri": uri("lost"), "content": "none"}),
    ):
        began = time.monotonic()
        answer = server.http.post(f"/api/v1/{path}", json=body)
        assert answer.status_code == 503, answer.text
        assert answer.json()["error"]["code"] == "UNAVAILABLE"
        assert time.monotonic() - began < LONGEST
        said.append(answer.json()["error"]["message"])
    assert server.http.get("/health").status_code == 200
    return said


def ready_says(server: ServerProcess, word: str) -> str:
    """Return what /ready says as soon as a word is in it; a probe whose time was up says only that."""
    deadline = time.monotonic() + WELL_SECONDS
    while word not in (ready := server.http.get("/ready")).text:
        assert time.monotonic() < deadline, ready.text
        assert ready.status_code == 503, ready.text
    assert ready.status_code == 503
    return ready.text


def whole(server: ServerProcess, *callers: Caller) -> None:
    """Hold a server that is well again to all that was acknowledged, and to its work behind the requests."""
    well_again(server)
    waited = server.http.post("/api/v1/system/wait", json={"timeout": WELL_SECONDS}, timeout=120)
    assert waited.status_code == 200, f"{waited.text}\n{server.output()}"
    for caller in callers:
        assert caller.wrong == []
        assert [word for word in caller.kept if not found(server, word)] == []
    write(server, "afterwards")
    assert found(server, "afterwards")
    assert "Traceback" not in server.output()


def present(database: OwnDatabase) -> int:
    """Return how many servers the others see."""
    return database.count(PRESENT, lock_class(SCHEMA))


def oust(database: OwnDatabase, stack: ExitStack) -> None:
    """Have others take all slots, also those of the servers."""
    for _ in range(MOST_OUSTED):
        database.oust("contextfind")
        stack.enter_context(database.crowded())
        if database.count(LEFT) == 0:
            return
    raise AssertionError("the servers were faster")


def test_a_database_whose_connections_others_took_is_said_and_got_over(
    database: OwnDatabase, server: ServerProcess
) -> None:
    write(server, "before")
    with ExitStack() as stack:
        oust(database, stack)
        said = [*unavailable(server, "before"), ready_says(server, "no connection")]
        assert [line for line in said if "raise max_connections" not in line] == []
    whole(server)
    assert found(server, "before")
    assert present(database) == 1


@pytest.mark.slow
@pytest.mark.parametrize("left", [0, 1])  # one that works needs three
def test_a_start_without_connections_waits_for_them_and_says_so(
    database: OwnDatabase, tmp_path: Path, left: int
) -> None:
    database.execute(f"ALTER ROLE contextfind CONNECTION LIMIT {left}")
    with ServerProcess(tmp_path / "data") as server:
        server.start(on(database)).wait_healthy()
        ready_says(server, "no connection")
        unavailable(server, "before")
        if not left:
            told = call("doctor", env=on(database) | {"CONTEXTFIND_EMBEDDING__PROVIDER": "hash"})
            assert told.exit_code == 1
            assert "no connection left" in told.output
        database.execute("ALTER ROLE contextfind CONNECTION LIMIT -1")
        whole(server)
        assert server.stop() == 0, server.output()
        assert "no connection" in server.output()


@pytest.mark.slow
def test_who_cannot_search_for_want_of_a_connection_is_not_ready(
    database: OwnDatabase, server: ServerProcess
) -> None:
    kept = database.count(OURS)
    database.execute(f"ALTER ROLE contextfind CONNECTION LIMIT {kept}")
    for _ in range(2):
        refused = server.http.post("/api/v1/search/find", json={"query": "anything"})
        assert refused.status_code == 503, refused.text
        ready_says(server, "no connection")
    database.execute("ALTER ROLE contextfind CONNECTION LIMIT -1")
    whole(server)


@pytest.mark.slow
def test_what_a_crowd_leaves_to_a_server_at_work_is_enough_or_it_says_so(
    database: OwnDatabase, server: ServerProcess
) -> None:
    callers = [Caller(server, name) for name in ("ada", "bob")]
    with at_work(*callers):
        more(callers[0], 5)
        with database.crowded():  # nobody is ousted: those that the server has it keeps
            more(callers[0], 5)
        with ExitStack() as stack:
            oust(database, stack)
            ready_says(server, "no connection")
            database.execute("ALTER ROLE contextfind CONNECTION LIMIT 0")
        ready_says(server, "CONNECTION LIMIT")
        database.execute("ALTER ROLE contextfind CONNECTION LIMIT -1")
        for caller in callers:
            more(caller, 5)
    assert sum(caller.refused for caller in callers) > 0
    whole(server, *callers)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_database_that_is_restarted_under_two_servers_has_all_that_was_acknowledged(
    database: OwnDatabase, server: ServerProcess, tmp_path: Path, mode: str
) -> None:
    with ForkedServer(tmp_path / "other") as other:
        other.start(on(database)).wait_healthy()
        callers = [Caller(server, "ada"), Caller(other, "bob")]
        with at_work(*callers):
            for caller in callers:
                more(caller, 5)
            database.stop(mode)
            unavailable(server, "ada")
            database.start()
            for caller in callers:
                more(caller, 5)
        for one in (server, other):
            whole(one, *callers)
        assert present(database) == 2
        for number, (here, there) in enumerate([(server, other), (other, server)]):
            write(here, f"both{number}")
            assert found(there, f"both{number}")


@pytest.mark.slow
def test_statements_that_are_too_slow_end_in_time_and_are_fast_again(
    database: OwnDatabase, server: ServerProcess
) -> None:
    write(server, "before")
    asleep = f"USING (pg_sleep({4 * SECONDS}) IS NOT NULL)"
    # Never without a policy: a head without a row would be a log that was put back to its beginning.
    database.execute(f"CREATE POLICY slow ON {SCHEMA}.head {asleep}")
    database.execute(f"CREATE POLICY slow ON {SCHEMA}.records AS RESTRICTIVE {asleep}")
    for table in ("records", "head"):
        database.execute(f"ALTER TABLE {SCHEMA}.{table} ENABLE ROW LEVEL SECURITY")
        database.execute(f"ALTER TABLE {SCHEMA}.{table} FORCE ROW LEVEL SECURITY")
    for _ in range(2):
        unavailable(server, "before")
        assert server.http.get("/ready").status_code == 503
    database.execute(f"DROP POLICY slow ON {SCHEMA}.records")
    database.execute(f"ALTER TABLE {SCHEMA}.head DISABLE ROW LEVEL SECURITY")
    database.execute(f"DROP POLICY slow ON {SCHEMA}.head")
    whole(server)
    assert found(server, "before")
