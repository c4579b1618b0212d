"""What every identity store promises."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from contextfind.adapters.memory.identities import MemoryIdentityStore
from contextfind.adapters.sqlite.database import Database
from contextfind.adapters.sqlite.identities import SqliteIdentityStore
from contextfind.domain.errors import AlreadyExistsError, NotFoundError
from contextfind.domain.identity import Identity
from contextfind.ports.identities import Account, IdentityStore, Key, User
from tests.builders import NOON

LATER = NOON + timedelta(days=1)


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[IdentityStore]:
    if request.param == "memory":
        yield MemoryIdentityStore()
        return
    database = await Database.open(tmp_path)
    yield SqliteIdentityStore(database)
    await database.aclose()


def key(id: str = "k1", user: str = "ann", account: str = "acme", days: int = 0) -> Key:  # noqa: A002
    return Key(
        id,
        Identity(account, user, "admin"),
        f"digest of {id}",
        "cf_12",
        "laptop",
        NOON + timedelta(days=days),
    )


async def test_an_account_starts_with_its_admin(store: IdentityStore) -> None:
    await store.add_account("acme", "ann", NOON)
    assert await store.accounts() == [Account("acme", NOON, 1)]
    assert await store.users("acme") == [User("acme", "ann", "admin", NOON)]


async def test_an_account_is_made_once(store: IdentityStore) -> None:
    await store.add_account("acme", "ann", NOON)
    with pytest.raises(AlreadyExistsError, match="acme"):
        await store.add_account("acme", "ben", LATER)
    assert len(await store.users("acme")) == 1


async def test_accounts_and_users_come_by_id(store: IdentityStore) -> None:
    await store.add_account("bolt", "zoe", NOON)
    await store.add_account("acme", "ann", LATER)
    await store.add_user("bolt", "ben", "user", LATER)
    assert await store.accounts() == [Account("acme", LATER, 1), Account("bolt", NOON, 2)]
    assert await store.users("bolt") == [
        User("bolt", "ben", "user", LATER),
        User("bolt", "zoe", "admin", NOON),
    ]


async def test_a_user_needs_its_account_and_is_added_once(store: IdentityStore) -> None:
    with pytest.raises(NotFoundError, match="acme"):
        await store.add_user("acme", "ann", "user", NOON)
    await store.add_account("acme", "ann", NOON)
    with pytest.raises(AlreadyExistsError, match="ann"):
        await store.add_user("acme", "ann", "user", NOON)


async def test_users_of_an_unknown_account_are_not_found(store: IdentityStore) -> None:
    with pytest.raises(NotFoundError, match="none"):
        await store.users("none")


async def test_a_key_is_found_by_its_digest(store: IdentityStore) -> None:
    await store.add_account("acme", "ann", NOON)
    await store.add_key(key())
    assert await store.key("digest of k1") == key()
    assert await store.key("digest of k2") is None


async def test_a_key_needs_its_user(store: IdentityStore) -> None:
    await store.add_account("acme", "ann", NOON)
    for stranger in (key(user="ben"), key(account="bolt")):
        with pytest.raises(NotFoundError):
            await store.add_key(stranger)
    assert await store.keys() == []


async def test_a_key_is_added_once(store: IdentityStore) -> None:
    await store.add_account("acme", "ann", NOON)
    await store.add_key(key())
    for twin in (replace(key(), digest="other"), replace(key("k2"), digest="digest of k1")):
        with pytest.raises(AlreadyExistsError):
            await store.add_key(twin)


async def test_keys_come_oldest_first_for_all_or_one_account(store: IdentityStore) -> None:
    await store.add_account("acme", "ann", NOON)
    await store.add_account("bolt", "ben", NOON)
    await store.add_key(key("new", days=2))
    await store.add_key(key("old", days=-2))
    await store.add_key(key("mid", "ben", "bolt"))
    assert [one.id for one in await store.keys()] == ["old", "mid", "new"]
    assert [one.id for one in await store.keys("acme")] == ["old", "new"]
    assert await store.keys("none") == []


async def test_a_revoked_key_is_gone(store: IdentityStore) -> None:
    await store.add_account("acme", "ann", NOON)
    await store.add_key(key())
    assert await store.revoke("k1")
    assert await store.key("digest of k1") is None
    assert await store.keys() == []
    assert not await store.revoke("k1")


async def test_the_last_use_is_noted(store: IdentityStore) -> None:
    await store.add_account("acme", "ann", NOON)
    await store.add_key(key())
    await store.used("k1", LATER)
    await store.used("unknown", LATER)
    assert await store.keys() == [replace(key(), last_used_at=LATER)]
