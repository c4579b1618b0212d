"""No question about a session becomes dearer with what is archived, nor with other sessions."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from contextfind.adapters.sqlite.database import Database
from contextfind.adapters.sqlite.sessions import SqliteSessionStore
from contextfind.domain.conversation import Archive
from contextfind.domain.identity import Identity
from tests.builders import NOON, make_message

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]
Question = Callable[[SqliteSessionStore, Archive], Awaitable[object]]

ANN = Identity("acme", "ann")
BEN = Identity("acme", "ben")

QUESTIONS: dict[str, Question] = {
    "create": lambda store, _: store.create(ANN, "new", {"a": 1}, NOON),
    "get": lambda store, _: store.get(ANN, "s"),
    "list": lambda store, _: store.list(ANN, 1),
    "append": lambda store, _: store.append(
        ANN, "s", [make_message("x"), make_message("1"), make_message("x"), make_message("y")], NOON
    ),
    "append to a new one": lambda store, _: store.append(ANN, "new", [make_message("x")], NOON),
    "pending": lambda store, _: store.pending(ANN, "s"),
    "last pending": lambda store, _: store.pending(ANN, "s", 2),
    "archive": lambda store, _: store.archive(ANN, "s", 1, NOON),
    "last archive": lambda store, _: store.archives(ANN, "s", 1),
    "archived": lambda store, archive: store.archived(ANN, "s", archive.number),
    "last archived": lambda store, archive: store.archived(ANN, "s", archive.number, 2),
    "summarise": lambda store, archive: store.summarise(ANN, "s", archive, 1),
    "delete": lambda store, _: store.delete(ANN, "small"),
}


class WatchedDatabase(Database):
    """Notes every statement, with its values, and counts the steps of SQLite's machine."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.statements: list[str] = []
        self.steps = 0

    async def write(self, work: Work[T]) -> T:
        return await super().write(self._watched(work))

    async def read(self, work: Work[T]) -> T:
        return await super().read(self._watched(work))

    def _watched(self, work: Work[T]) -> Work[T]:
        def run(connection: sqlite3.Connection) -> T:
            connection.set_trace_callback(self.statements.append)
            connection.set_progress_handler(self._step, 1)
            try:
                return work(connection)
            finally:
                connection.set_trace_callback(None)
                connection.set_progress_handler(None, 0)

        return run

    def _step(self) -> int:
        self.steps += 1
        return 0


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[WatchedDatabase]:
    opened = WatchedDatabase(tmp_path)
    yield opened
    await opened.aclose()


async def fill(store: SqliteSessionStore, archived: int, others: int) -> Archive:
    """Give Ann's session an archive of so many and one of 3, 4 pending; and make other sessions."""
    for number in range(others):
        for owner in (ANN, BEN):
            await store.append(owner, f"other {number}", [make_message("1")], NOON)
    await store.append(ANN, "small", [make_message(str(n)) for n in range(4)], NOON)
    await store.archive(ANN, "small", 2, NOON)
    await store.append(ANN, "s", [make_message(str(n)) for n in range(archived)], NOON)
    await store.archive(ANN, "s", 0, NOON)
    await store.append(ANN, "s", [make_message(f"last {n}") for n in range(7)], NOON)
    made = await store.archive(ANN, "s", 4, NOON)
    assert made is not None
    assert made.message_count == 3
    return made


async def steps_of(directory: Path, question: Question, archived: int, others: int) -> int:
    await asyncio.to_thread(directory.mkdir)
    database = WatchedDatabase(directory)
    store = SqliteSessionStore(database)
    archive = await fill(store, archived, others)
    database.steps = 0
    await question(store, archive)
    await database.aclose()
    return database.steps


@pytest.mark.parametrize("name", QUESTIONS)
async def test_the_work_is_the_same_however_much_there_is(name: str, tmp_path: Path) -> None:
    question = QUESTIONS[name]
    few = await steps_of(tmp_path / "few", question, archived=3, others=2)
    assert few > 10
    assert await steps_of(tmp_path / "archived", question, archived=1_000, others=2) == few
    assert await steps_of(tmp_path / "others", question, archived=3, others=100) == few


@pytest.mark.parametrize("name", QUESTIONS)
async def test_every_statement_goes_through_an_index(name: str, database: WatchedDatabase) -> None:
    store = SqliteSessionStore(database)
    archive = await fill(store, 3, 2)
    database.statements.clear()
    await QUESTIONS[name](store, archive)
    asked = [text for text in database.statements if not text.startswith("--")]
    assert asked

    def plans(connection: sqlite3.Connection) -> list[str]:
        return [
            row[3]
            for text in asked
            for row in connection.execute(f"EXPLAIN QUERY PLAN {text}").fetchall()
        ]

    steps = await database.read(plans)
    assert [step for step in steps if step.startswith("SCAN") or "TEMP B-TREE" in step] == []
