"""One writer, two readers: what shares a transaction, and what never shares a fate."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from contextfind.adapters.sqlite.database import Database
from contextfind.adapters.sqlite.records import SqliteRecordStore
from contextfind.adapters.sqlite.writer import Writer
from contextfind.domain.errors import ConflictError, UnavailableError


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = await Database.open(tmp_path)
    yield opened
    await opened.aclose()


class Note:
    """Writes one row of `meta`; fails after writing when told to."""

    def __init__(self, key: str, error: Exception | None = None) -> None:
        self.key = key
        self.error = error

    def __call__(self, connection: sqlite3.Connection) -> str:
        connection.execute("INSERT INTO meta VALUES (?, '')", (self.key,))
        if self.error is not None:
            raise self.error
        return self.key


def keys(connection: sqlite3.Connection) -> list[str]:
    return [key for (key,) in connection.execute("SELECT key FROM meta ORDER BY key")]


def names_in(directory: Path) -> list[str]:
    return sorted(file.name for file in directory.iterdir())


class Gate:
    """Holds the writer's thread until it is opened, so that a group gathers behind it."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.opened = threading.Event()

    def __call__(self, connection: sqlite3.Connection) -> None:
        del connection
        self.entered.set()
        self.opened.wait(5)


async def behind_a_gate(database: Database) -> tuple[Gate, "asyncio.Task[None]"]:
    gate = Gate()
    task = asyncio.create_task(database.write(gate))
    await asyncio.to_thread(gate.entered.wait, 5)
    return gate, task


async def test_a_write_can_be_read_when_it_has_returned(database: Database) -> None:
    assert await database.write(Note("a")) == "a"
    assert await database.read(keys) == ["a"]


@pytest.mark.parametrize("error", [ConflictError("no"), ValueError("bug"), sqlite3.DataError("x")])
async def test_a_write_that_fails_undoes_itself_alone(database: Database, error: Exception) -> None:
    gate, held = await behind_a_gate(database)
    group = [Note("a"), Note("b", error), Note("c"), Note("c"), Note("d")]
    tasks = [asyncio.create_task(database.write(work)) for work in group]
    await asyncio.sleep(0)
    gate.opened.set()
    outcomes = await asyncio.gather(held, *tasks, return_exceptions=True)
    assert outcomes[1] == "a"
    expected = UnavailableError if isinstance(error, sqlite3.Error) else type(error)
    assert isinstance(outcomes[2], expected)
    assert outcomes[3] == "c"
    assert isinstance(outcomes[4], UnavailableError)
    assert outcomes[5] == "d"
    assert await database.read(keys) == ["a", "c", "d"]


async def test_a_caller_that_is_cancelled_breaks_nobody_else(database: Database) -> None:
    gate, held = await behind_a_gate(database)
    first, second, third = (asyncio.create_task(database.write(Note(key))) for key in "abc")
    await asyncio.sleep(0)
    second.cancel()
    await asyncio.sleep(0)
    gate.opened.set()
    assert await first == "a"
    assert await third == "c"
    assert second.cancelled()
    await held
    assert await database.read(keys) == ["a", "c"]


async def test_work_that_has_begun_ends_though_its_caller_left(database: Database) -> None:
    gate, held = await behind_a_gate(database)
    held.cancel()
    gate.opened.set()
    await database.write(Note("a"))
    assert await database.read(keys) == ["a"]


def test_writes_that_wait_share_one_transaction(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "x", isolation_level=None, check_same_thread=False)
    connection.execute("CREATE TABLE meta (key TEXT, value TEXT)")
    commits: list[int] = []
    writer = Writer(connection, lambda writing: commits.append(len(keys(writing))))
    gate = Gate()
    held = writer.submit(gate)
    gate.entered.wait(5)
    futures = [writer.submit(Note(f"{number:04}")) for number in range(200)]
    gate.opened.set()
    assert held.result(5) is None
    assert [future.result(5) for future in futures] == [f"{number:04}" for number in range(200)]
    writer.close()
    assert commits == [0, 200]


def lose(connection: sqlite3.Connection) -> None:
    """Fail the way SQLite does when the disk is full: the whole transaction is gone."""
    connection.execute("ROLLBACK")
    raise sqlite3.OperationalError("database or disk is full")


def orphan(connection: sqlite3.Connection) -> None:
    """Write what only COMMIT itself will refuse."""
    connection.execute("PRAGMA defer_foreign_keys = ON")
    connection.execute("INSERT INTO tags VALUES ('k=v', 99)")


@pytest.mark.parametrize("fatal", [lose, orphan])
async def test_a_lost_transaction_fails_all_that_shared_it_and_nothing_later(
    database: Database, fatal: Callable[[sqlite3.Connection], None]
) -> None:
    gate, held = await behind_a_gate(database)
    tasks = [asyncio.create_task(database.write(work)) for work in (Note("a"), fatal, Note("b"))]
    await asyncio.sleep(0)
    gate.opened.set()
    await held
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(outcome, UnavailableError) for outcome in outcomes)
    assert await database.write(Note("c")) == "c"
    assert await database.read(keys) == ["c"]


async def test_a_read_sees_one_state_whatever_is_written_meanwhile(database: Database) -> None:
    loop = asyncio.get_running_loop()

    def work(connection: sqlite3.Connection) -> tuple[list[str], list[str]]:
        before = keys(connection)
        asyncio.run_coroutine_threadsafe(database.write(Note("a")), loop).result(5)
        return before, keys(connection)

    assert await database.read(work) == ([], [])
    assert await database.read(keys) == ["a"]


async def test_readers_cannot_write(database: Database) -> None:
    with pytest.raises(UnavailableError, match="read-only"):
        await database.read(Note("a"))


async def test_closing_finishes_what_is_queued(tmp_path: Path) -> None:
    database = await Database.open(tmp_path)
    gate, held = await behind_a_gate(database)
    tasks = [asyncio.create_task(database.write(Note(key))) for key in "ab"]
    await asyncio.sleep(0)
    closing = asyncio.create_task(database.aclose())
    gate.opened.set()
    assert await asyncio.gather(held, *tasks) == [None, "a", "b"]
    await closing
    await database.aclose()
    assert names_in(tmp_path) == ["contextfind.db"]


async def test_a_closed_store_says_so(tmp_path: Path) -> None:
    database = await Database.open(tmp_path)
    waiter = asyncio.create_task(SqliteRecordStore(database).wait_beyond(0))
    await asyncio.sleep(0)
    await database.aclose()
    for late in (
        database.write(Note("a")),
        database.read(keys),
        database.bell.beyond(0),
        waiter,
    ):
        with pytest.raises(UnavailableError, match="closed"):
            await late


async def test_a_directory_with_odd_characters_is_opened(tmp_path: Path) -> None:
    odd = tmp_path / "100% #1 ?mode=rw 文档"
    odd.mkdir()
    database = await Database.open(odd)
    await database.write(Note("a"))
    assert await database.read(keys) == ["a"]
    await database.aclose()
