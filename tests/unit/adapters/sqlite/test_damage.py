"""A database file of which a part is not what was written: the rest of it still answers."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from contextfind.adapters.sqlite.database import FILE_NAME, Database
from contextfind.adapters.sqlite.jobs import SqliteJobStore
from contextfind.adapters.sqlite.reading import salvage_changes
from contextfind.adapters.sqlite.records import SqliteRecordStore
from contextfind.domain.errors import DamagedError
from contextfind.domain.identity import Identity
from contextfind.domain.records import ContextType, Level
from contextfind.domain.scope import Scope
from contextfind.domain.uri import ROOT, Uri
from contextfind.ports.jobs import Job, JobState
from contextfind.ports.store import Commit, RecordDraft
from tests.builders import NOON, make_passages
from tests.damage import spoil_pages

FILES = 40
PADDING = "padding " * 300  # more than half a page: accounts share no page of texts


def draft(account: str, number: int) -> RecordDraft:
    uri = Uri.parse(f"viking://resources/f{number}.md")
    text = f"{account}-{number} {PADDING}"
    return RecordDraft(uri, Level.DETAIL, ContextType.RESOURCE, account, make_passages(text))


async def filled(directory: Path) -> None:
    store = SqliteRecordStore(await Database.open(directory))
    for account in ("acme", "bolt", "cord"):
        drafts = [draft(account, number) for number in range(FILES)]
        await store.commit(Commit(account, NOON, put=drafts))
    await store.aclose()


async def test_what_cannot_be_read_counts_as_gone_and_all_else_is_followed(tmp_path: Path) -> None:
    await filled(tmp_path)
    assert spoil_pages(tmp_path / FILE_NAME, b"bolt-7 padding") == 1
    store = SqliteRecordStore(await Database.open(tmp_path))
    after, seen = 0, []
    while changes := await store.changes(after, 2_000):
        seen += changes
        after = changes[-1].position
    assert len(seen) == 3 * FILES
    gone = [change.position for change in seen if change.record is None]
    assert FILES + 8 in gone
    assert all(FILES < position <= 2 * FILES for position in gone)
    texts = await store.pending(3 * FILES)
    assert len(texts) == 3 * FILES - len(gone)
    await store.aclose()


class Locked(sqlite3.Connection):
    """A database that somebody else holds whenever passages are read."""

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        if "passages p" in sql and "text" in sql:
            raise sqlite3.OperationalError("database is locked")
        return super().execute(sql, parameters)


async def test_a_database_that_is_busy_makes_no_record_count_as_gone(tmp_path: Path) -> None:
    await filled(tmp_path)
    locked = pytest.raises(sqlite3.OperationalError, match="locked")
    with closing(sqlite3.connect(tmp_path / FILE_NAME, factory=Locked)) as connection, locked:
        salvage_changes(connection, 0, 10)


async def test_who_asks_for_it_is_told_what_to_do(tmp_path: Path) -> None:
    await filled(tmp_path)
    assert spoil_pages(tmp_path / FILE_NAME, b"bolt-7 padding") == 1
    store = SqliteRecordStore(await Database.open(tmp_path))
    whole = await store.at(Scope("acme", "ann", (ROOT,)), Uri.parse("viking://resources/f7.md"))
    (hit,) = await store.at(Scope("bolt", "ann", (ROOT,)), Uri.parse("viking://resources/f7.md"))
    assert len(await store.passages([(whole[0].id, 0)])) == 1
    with pytest.raises(DamagedError, match="doctor --deep") as caught:
        await store.passages([(hit.id, 0)])
    assert caught.value.details == {"retryable": False}
    await store.aclose()


async def test_a_row_that_makes_no_sense_is_damage_too(tmp_path: Path) -> None:
    await filled(tmp_path)
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as connection:
        connection.execute("UPDATE records SET tags = '[' WHERE id = 3")
        connection.commit()
    store = SqliteRecordStore(await Database.open(tmp_path))
    with pytest.raises(DamagedError, match="record 3 is damaged"):
        await store.get([3])
    changes = await store.changes(0, 50)
    assert [change.position for change in changes if change.record is None] == [3]
    await store.aclose()


@pytest.mark.parametrize("damage", ["short", "torn"])
async def test_vectors_of_another_length_have_no_columns(tmp_path: Path, damage: str) -> None:
    store = SqliteRecordStore(await Database.open(tmp_path))
    uri = Uri.parse("viking://resources/a.md")
    two = RecordDraft(uri, Level.DETAIL, ContextType.RESOURCE, "a", make_passages("x", "y"))
    await store.commit(Commit("acme", NOON, put=[two]))
    sizes = (32, 28) if damage == "short" else (31, 31)
    texts = await store.pending(2)
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as connection:
        for text, size in zip(texts, sizes, strict=True):
            connection.execute("INSERT INTO vectors VALUES (?, ?)", (text.digest, bytes(size)))
        connection.commit()
    (change,) = await store.changes(0, 1)
    assert change.vectors is not None
    assert change.vectors.shape == (2, 0)
    await store.aclose()


def job(number: int) -> Job:
    who = Identity("acme", "ann")
    return Job(f"job{number}", who, "add", JobState.RUNNING, NOON, NOON, {"number": number})


async def test_a_task_that_cannot_be_read_keeps_nobody_from_starting(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    database = await Database.open(tmp_path)
    jobs = SqliteJobStore(database)
    for number in range(3):
        await jobs.save(job(number))
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as connection:
        connection.execute("UPDATE jobs SET spec = '{' WHERE id = 'job1'")
        connection.commit()
    assert [one.id for one in await jobs.unfinished()] == ["job0", "job2"]
    assert "task job1 cannot be read and is not resumed" in caplog.text
    with pytest.raises(DamagedError, match="a row of contextfind"):
        await jobs.get(Identity("acme", "ann"), "job1")
    await database.aclose()
