"""A key that was just looked up costs no read, and nothing that was changed is believed."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from contextfind.adapters.sqlite import identities
from contextfind.adapters.sqlite.database import Database
from contextfind.adapters.sqlite.identities import SqliteIdentityStore
from contextfind.domain.identity import Identity
from contextfind.ports.identities import Key, Secret
from tests.builders import NOON

T = TypeVar("T")
KEY = Key("k1", Identity("acme", "ann", "admin"), "digest", "cf_12", "laptop", NOON)


class CountingDatabase(Database):
    """Counts the reads."""

    reads = 0

    async def read(self, work: Callable[..., T]) -> T:
        self.reads += 1
        return await super().read(work)


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[CountingDatabase]:
    opened = CountingDatabase(tmp_path)
    yield opened
    await opened.aclose()


@pytest.fixture
async def store(database: CountingDatabase) -> SqliteIdentityStore:
    store = SqliteIdentityStore(database)
    await store.add_account("acme", "ann", NOON)
    await store.add_key(KEY)
    return store


async def test_a_key_is_read_once_and_an_unknown_one_every_time(
    store: SqliteIdentityStore, database: CountingDatabase
) -> None:
    for _ in range(3):
        assert await store.key("digest") == KEY
    assert database.reads == 1
    for _ in range(3):
        assert await store.key("guess") is None
    assert database.reads == 4


async def test_after_a_write_and_after_a_second_it_is_read_again(
    store: SqliteIdentityStore, database: CountingDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.key("digest")
    await store.set_role("acme", "ann", "user")
    found = await store.key("digest")
    assert found is not None
    assert found.identity.role == "user"
    await store.rotate(found, Secret("other", "cf_34"), NOON)
    assert await store.key("digest") is None
    monkeypatch.setattr(identities, "_KNOWN_SECONDS", -1.0)
    reads = database.reads
    for _ in range(3):
        assert await store.key("other") is not None
    assert database.reads == reads + 3
    await store.revoke("k1")
    assert await store.key("other") is None


async def test_what_was_read_beside_a_write_is_not_kept(
    store: SqliteIdentityStore, database: CountingDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = database.read

    async def slow(work: Callable[..., T]) -> T:
        found = await read(work)
        await store.revoke("k1")
        return found

    monkeypatch.setattr(database, "read", slow)
    assert await store.key("digest") == KEY
    monkeypatch.undo()
    assert await store.key("digest") is None
