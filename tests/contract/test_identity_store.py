"""What every identity store promises."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from contextfind.adapters.memory.identities import MemoryIdentityStore
from contextfind.adapters.postgres.identities import PostgresIdentityStore
from contextfind.adapters.sqlite.database import Database
from contextfind.adapters.sqlite.identities import SqliteIdentityStore
from contextfind.domain.errors import AlreadyExistsError, ConflictError, NotFoundError
from contextfind.domain.identity import Identity
from contextfind.ports.identities import Account, IdentityStore, Key, Secret, User
from tests import databases
from tests.builders import NOON

LATER = NOON + timedelta(days=1)


@pytest.fixture(params=["memory", "sqlite", "postgres"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[IdentityStore]:
    if request.param == "memory":
        yield MemoryIdentityStore()
        return
    if request.param == "postgres":
        async with databases.opened() as shared:
            yield PostgresIdentityStore(shared)
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


@pytest.mark.parametrize("name", ["ACME", "Acme"])
async def test_names_that_differ_only_in_case_are_taken(store: IdentityStore, name: str) -> None:
    await store.add_account("acme", "acme", NOON)
    with pytest.raises(AlreadyExistsError, match="differs from it only in case"):
        await store.add_account(name, "ann", NOON)
    with pytest.raises(AlreadyExistsError, match="differs from it only in case"):
        await store.add_user("acme", name, "user", NOON)
    assert await store.accounts() == [Account("acme", NOON, 1)]


async def test_a_user_may_be_called_as_one_of_another_account(store: IdentityStore) -> None:
    await store.add_account("acme", "ann", NOON)
    await store.add_account("bolt", "Ann", NOON)
    await store.add_key(key(account="acme"))
    await store.remove_user("bolt", "Ann", LATER)
    assert [one.id for one in await store.keys()] == ["k1"]


async def test_a_removed_user_and_its_keys_are_gone_and_nobody_elses(store: IdentityStore) -> None:
    await store.add_account("acme", "ann", NOON)
    await store.add_user("acme", "ben", "user", NOON)
    for one in (key("k1", "ben"), key("k2", "ben"), key("k3", "ann")):
        await store.add_key(one)
    assert await store.remove_user("acme", "ben", LATER) == 2
    assert [one.id for one in await store.users("acme")] == ["ann"]
    assert await store.accounts() == [Account("acme", NOON, 1)]
    assert [one.id for one in await store.keys()] == ["k3"]
    assert await store.key("digest of k1") is None
    for refused in (
        store.remove_user("acme", "ben", LATER),
        store.set_role("acme", "ben", "admin"),
        store.add_key(key("k4", "ben")),
    ):
        with pytest.raises(NotFoundError, match="ben"):
            await refused


async def test_the_name_of_a_removed_user_is_kept_for_it(store: IdentityStore) -> None:
    await store.add_account("acme", "ann", NOON)
    await store.add_user("acme", "ben", "admin", NOON)
    await store.add_key(key(user="ben"))
    await store.remove_user("acme", "ben", LATER)
    with pytest.raises(AlreadyExistsError, match="restore=true"):
        await store.add_user("acme", "ben", "user", LATER)
    with pytest.raises(AlreadyExistsError, match="only in case"):
        await store.add_user("acme", "BEN", "user", LATER, restore=True)
    await store.add_user("acme", "ben", "user", LATER, restore=True)
    assert await store.users("acme") == [
        User("acme", "ann", "admin", NOON),
        User("acme", "ben", "user", NOON),
    ]
    assert await store.keys() == []


async def test_only_a_removed_user_is_restored(store: IdentityStore) -> None:
    await store.add_account("acme", "ann", NOON)
    with pytest.raises(AlreadyExistsError, match="exists"):
        await store.add_user("acme", "ann", "user", LATER, restore=True)
    await store.add_user("acme", "ben", "user", LATER, restore=True)
    assert await store.users("acme") == [
        User("acme", "ann", "admin", NOON),
        User("acme", "ben", "user", LATER),
    ]


async def test_a_key_has_the_role_of_its_user_at_the_moment(store: IdentityStore) -> None:
    await store.add_account("acme", "ann", NOON)
    await store.add_user("acme", "ben", "user", NOON)
    await store.add_key(key(user="ben"))  # says admin
    for role in ("user", "admin"):
        await store.set_role("acme", "ben", role)  # type: ignore[arg-type]
        found = await store.key("digest of k1")
        assert found is not None
        assert found.identity.role == role
        assert [one.identity.role for one in await store.keys("acme")] == [role]
    with pytest.raises(NotFoundError):
        await store.set_role("bolt", "ben", "user")


async def test_a_rotated_key_has_another_secret_and_is_otherwise_the_same(
    store: IdentityStore,
) -> None:
    await store.add_account("acme", "ann", NOON)
    await store.add_key(key())
    await store.used("k1", NOON)
    rotated = await store.rotate(key(), Secret("new digest", "cf_34"), LATER)
    assert rotated == replace(key(), digest="new digest", hint="cf_34", created_at=LATER)
    assert await store.key("digest of k1") is None
    assert await store.key("new digest") == rotated
    assert await store.keys() == [rotated]


async def test_of_two_rotations_of_one_key_one_wins(store: IdentityStore) -> None:
    await store.add_account("acme", "ann", NOON)
    await store.add_key(key())
    await store.rotate(key(), Secret("first", "cf_1"), LATER)
    with pytest.raises(ConflictError) as caught:
        await store.rotate(key(), Secret("second", "cf_2"), LATER)
    assert caught.value.details["retryable"] is True
    assert await store.key("first") is not None
    await store.revoke("k1")
    with pytest.raises(NotFoundError):
        await store.rotate(key(), Secret("third", "cf_3"), LATER)


async def test_two_keys_never_share_a_secret(store: IdentityStore) -> None:
    await store.add_account("acme", "ann", NOON)
    await store.add_key(key("k1"))
    await store.add_key(key("k2"))
    with pytest.raises(AlreadyExistsError):
        await store.rotate(key("k1"), Secret("digest of k2", "cf_1"), LATER)
    assert await store.key("digest of k1") == key("k1")


async def test_a_key_added_alone_ends_all_others_of_its_user(store: IdentityStore) -> None:
    await store.add_account("acme", "ann", NOON)
    await store.add_user("acme", "ben", "admin", NOON)
    for one in (key("k1"), key("k2"), key("k3", "ben")):
        await store.add_key(one)
    await store.add_key(key("k4", days=1), alone=True)
    assert [one.id for one in await store.keys()] == ["k3", "k4"]
    with pytest.raises(AlreadyExistsError):
        await store.add_key(key("k4"), alone=True)
    assert [one.id for one in await store.keys()] == ["k3", "k4"]
