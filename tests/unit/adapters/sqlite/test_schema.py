"""The file's version, and how it rises."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from contextfind.adapters.sqlite.database import FILE_NAME, Database
from contextfind.adapters.sqlite.identities import SqliteIdentityStore
from contextfind.adapters.sqlite.records import SqliteRecordStore
from contextfind.adapters.sqlite.schema import MIGRATIONS, migrate
from contextfind.adapters.sqlite.sessions import SqliteSessionStore
from contextfind.domain.errors import FailedPreconditionError, UnavailableError
from contextfind.domain.identity import Identity
from contextfind.domain.uri import ROOT
from tests.builders import NOON, make_message


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


def fill_version_1(file: Path) -> None:
    """Make a file as the first version wrote it: a record, and everything about identities."""
    with closing(sqlite3.connect(file, isolation_level=None)) as opened:
        migrate(opened, MIGRATIONS[:1])
        opened.execute(
            "INSERT INTO records (account, owner, uri, parent, name, level, context_type, abstract,"
            " tags, created_at, updated_at, content, source, size) VALUES ('acme', '',"
            " 'viking://resources/a.md', 'viking://resources', 'a.md', 2, 'resource', 'about a',"
            " '[]', 1, 2, '', '', 7)"
        )
        opened.execute("INSERT INTO accounts VALUES ('acme', 1)")
        for user, role in (("ann", "admin"), ("ben", "user"), ("Ben", "user")):
            opened.execute("INSERT INTO users VALUES ('acme', ?, ?, 2)", (user, role))
            opened.execute(
                "INSERT INTO keys VALUES (?, 'acme', ?, ?, ?, 'cf_1', 'laptop', 3, 4)",
                (f"key of {user}", user, role, f"digest of {user}"),
            )


async def test_a_file_of_the_first_version_opens_and_keeps_everything(tmp_path: Path) -> None:
    fill_version_1(tmp_path / FILE_NAME)
    database = await Database.open(tmp_path)
    store = SqliteIdentityStore(database)
    users = [(one.id, one.role) for one in await store.users("acme")]
    assert users == [("Ben", "user"), ("ann", "admin"), ("ben", "user")]
    for name, role in users:
        found = await store.key(f"digest of {name}")
        assert found is not None
        assert found.identity == Identity("acme", name, role)
        assert (found.id, found.hint, found.label) == (f"key of {name}", "cf_1", "laptop")
        assert found.last_used_at == found.created_at + timedelta(microseconds=1)
    records = await SqliteRecordStore(database).counts("acme")
    assert records["files"] == 1
    assert await store.remove_user("acme", "ben", found.created_at) == 1
    assert [one.id for one in await store.users("acme")] == ["Ben", "ann"]
    await database.aclose()
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as opened:
        assert version(opened) == len(MIGRATIONS)
        assert opened.execute("PRAGMA foreign_key_check").fetchall() == []


async def test_a_file_from_before_sessions_opens_and_takes_them(tmp_path: Path) -> None:
    before = next(n for n, step in enumerate(MIGRATIONS) if "CREATE TABLE sessions" in step[0])
    fill_version_1(tmp_path / FILE_NAME)
    with closing(sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)) as opened:
        migrate(opened, MIGRATIONS[:before])
        assert version(opened) == before == 4
        opened.execute("UPDATE users SET removed_at = 9 WHERE id = 'Ben'")
        opened.execute("UPDATE records SET origin = 'upload'")
    database = await Database.open(tmp_path)
    assert [one.id for one in await SqliteIdentityStore(database).users("acme")] == ["ann", "ben"]
    (mark,) = (await SqliteRecordStore(database).sources("acme", ROOT)).values()
    assert mark.origin == "upload"
    store = SqliteSessionStore(database)
    ann = Identity("acme", "ann")
    assert await store.list(ann, 10) == []
    session, _ = await store.append(ann, "s", [make_message()], NOON)
    assert await store.list(ann, 10) == [session]
    await database.aclose()
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as opened:
        assert version(opened) == len(MIGRATIONS)
        assert opened.execute("PRAGMA foreign_key_check").fetchall() == []
