"""Sessions on disk: what stays, what leaves no trace, and whose they are."""

import sqlite3
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from contextfind.adapters.sqlite.compaction import SqliteCompaction
from contextfind.adapters.sqlite.database import Database
from contextfind.adapters.sqlite.identities import SqliteIdentityStore
from contextfind.adapters.sqlite.sessions import AT_ONCE, SqliteSessionStore
from contextfind.domain.conversation import Archive
from contextfind.domain.errors import AlreadyExistsError, UnavailableError
from contextfind.domain.identity import Identity
from tests.builders import NOON, make_message

ANN = Identity("acme", "ann")
BEN = Identity("acme", "ben")
LATER = NOON + timedelta(days=1)


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = await Database.open(tmp_path)
    yield opened
    await opened.aclose()


def rows(connection: sqlite3.Connection) -> list[int]:
    """Count sessions, messages and archives, whoever's they are."""
    tables = ("sessions", "messages", "archives")
    counted = [connection.execute(f"SELECT count(*) FROM {table}") for table in tables]  # noqa: S608 - fixed names
    return [cursor.fetchone()[0] for cursor in counted]


async def converse(store: SqliteSessionStore, owner: Identity = ANN) -> Archive:
    await store.create(owner, "s", {"memory_policy": {"kinds": []}}, NOON)
    await store.append(owner, "s", [make_message(one) for one in "abc"], NOON)
    made = await store.archive(owner, "s", 1, NOON)
    assert made is not None
    await store.summarise(owner, "s", made, 2)
    return made


async def test_what_was_acknowledged_is_in_the_file_before_it_is_closed(tmp_path: Path) -> None:
    first = await Database.open(tmp_path)
    store = SqliteSessionStore(first)
    made = await converse(store)
    expected = await store.get(ANN, "s")
    second = await Database.open(tmp_path)
    other = SqliteSessionStore(second)
    assert await other.get(ANN, "s") == expected
    assert [one.id for one in await other.pending(ANN, "s")] == ["c"]
    assert await other.archives(ANN, "s") == [made]
    await first.aclose()
    await second.aclose()


async def test_a_conversation_goes_on_after_a_restart(tmp_path: Path) -> None:
    database = await Database.open(tmp_path)
    await converse(SqliteSessionStore(database))
    await database.aclose()
    database = await Database.open(tmp_path)
    store = SqliteSessionStore(database)
    session, added = await store.append(ANN, "s", [make_message(one) for one in "acd"], LATER)
    assert (added, session.message_count, session.total_message_count) == (1, 2, 4)
    assert (session.commit_count, session.memories_extracted) == (1, 2)
    assert [(m.id, m.ordinal) for m in await store.pending(ANN, "s")] == [("c", 2), ("d", 3)]
    made = await store.archive(ANN, "s", 0, LATER)
    assert made is not None
    assert (made.number, made.first, made.last) == (2, 2, 3)
    await database.aclose()


async def test_a_deleted_session_leaves_no_row(database: Database) -> None:
    store = SqliteSessionStore(database)
    await converse(store)
    await converse(store, BEN)
    assert await database.read(rows) == [2, 6, 2]
    assert await store.delete(ANN, "s")
    assert await database.read(rows) == [1, 3, 1]


async def test_a_large_session_is_gone_at_once_and_its_rows_go_part_by_part(
    database: Database,
) -> None:
    store = SqliteSessionStore(database)
    await converse(store, BEN)
    size = 2 * AT_ONCE + 10
    many = [make_message(f"m{number}") for number in range(size)]
    await store.append(ANN, "s", many, NOON)
    await store.archive(ANN, "s", 1, NOON)
    assert await store.delete(ANN, "s")
    assert not await store.delete(ANN, "s")
    assert await store.get(ANN, "s") is None
    assert await store.list(ANN, 10) == []
    assert [*await store.pending(ANN, "s"), *await store.archives(ANN, "s")] == []
    await store.append(ANN, "s", [make_message("new")], LATER)  # the name is free again
    assert await store.delete(ANN, "s")
    (chore, *_) = SqliteCompaction(database).chores
    assert [step.things async for step in chore.steps()] == [AT_ONCE, AT_ONCE, 10]
    assert await database.read(rows) == [1, 3, 1]
    assert [step async for step in chore.steps()] == []
    assert len(await store.pending(BEN, "s")) == 1


async def test_the_file_itself_refuses_an_id_or_an_ordinal_twice(database: Database) -> None:
    await converse(SqliteSessionStore(database))
    for column in ("id", "ordinal"):
        statement = f"UPDATE messages SET {column} = (SELECT min({column}) FROM messages)"  # noqa: S608 - fixed text
        with pytest.raises(UnavailableError, match=rf"UNIQUE.*messages\.{column}"):
            await database.write(lambda c, statement=statement: c.execute(statement))


async def test_the_sessions_of_a_removed_user_wait_for_it_alone(database: Database) -> None:
    identities, store = SqliteIdentityStore(database), SqliteSessionStore(database)
    await identities.add_account("acme", "ann", NOON)
    await identities.add_user("acme", "ben", "user", NOON)
    await converse(store, BEN)
    kept = await store.get(BEN, "s")
    await identities.remove_user("acme", "ben", LATER)
    for name in ("ben", "BEN", "Ben"):
        with pytest.raises(AlreadyExistsError):
            await identities.add_user("acme", name, "user", LATER)
    await identities.add_account("bolt", "ben", LATER)
    for owner in (ANN, Identity("acme", "Ben"), Identity("bolt", "ben")):
        assert await store.list(owner, 10) == []
        assert await store.pending(owner, "s") == []
    await identities.add_user("acme", "ben", "user", LATER, restore=True)
    assert await store.list(BEN, 10) == [kept]
