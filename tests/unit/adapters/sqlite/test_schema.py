"""The file's version, and how it rises."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from contextfind.adapters.sqlite.database import FILE_NAME, Database
from contextfind.adapters.sqlite.schema import MIGRATIONS, migrate
from contextfind.domain.errors import FailedPreconditionError, UnavailableError


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as opened:
        yield opened


def version(connection: sqlite3.Connection) -> int:
    (number,) = connection.execute("PRAGMA user_version").fetchone()
    return int(number)


def test_migrations_are_applied_once_and_in_order(connection: sqlite3.Connection) -> None:
    steps = (("CREATE TABLE one (a)",), ("ALTER TABLE one ADD COLUMN b", "CREATE TABLE two (c)"))
    migrate(connection, steps[:1])
    assert version(connection) == 1
    connection.execute("INSERT INTO one VALUES (7)")
    migrate(connection, steps)
    migrate(connection, steps)
    assert version(connection) == 2
    assert connection.execute("SELECT a, b FROM one").fetchall() == [(7, None)]


def test_a_step_that_fails_leaves_the_version_before_it(tmp_path: Path) -> None:
    steps = (("CREATE TABLE one (a)",), ("CREATE TABLE two (b)", "CREATE TABLE one (a)"))
    with (
        closing(sqlite3.connect(tmp_path / "x.db", isolation_level=None)) as opened,
        pytest.raises(sqlite3.OperationalError),
    ):
        migrate(opened, steps)
    with closing(sqlite3.connect(tmp_path / "x.db", isolation_level=None)) as opened:
        assert version(opened) == 1
        assert opened.execute("SELECT name FROM sqlite_master").fetchall() == [("one",)]


async def test_a_newer_file_is_refused_naming_both_versions(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as opened:
        opened.execute("PRAGMA user_version = 99")
    with pytest.raises(FailedPreconditionError) as caught:
        await Database.open(tmp_path)
    for told in ("99", str(len(MIGRATIONS)), "install", "storage.path"):
        assert told in str(caught.value)


async def test_what_is_no_database_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"no database" * 1_000)
    with pytest.raises(UnavailableError, match="not a database"):
        await Database.open(tmp_path)


async def test_every_commit_is_synced_and_references_are_checked(tmp_path: Path) -> None:
    database = await Database.open(tmp_path)
    pragmas = ("journal_mode", "synchronous", "foreign_keys")

    def work(connection: sqlite3.Connection) -> list[object]:
        return [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in pragmas]

    assert await database.write(work) == ["wal", 2, 1]
    await database.aclose()
