"""Accounts, users and keys that two processes change at once."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from contextfind.adapters.postgres.database import Database
from contextfind.adapters.postgres.identities import PostgresIdentityStore
from contextfind.domain.errors import AlreadyExistsError, ConflictError
from contextfind.domain.identity import Identity
from contextfind.ports.identities import Key, Secret
from tests import databases
from tests.builders import NOON

KEY = Key("k1", Identity("acme", "ann", "admin"), "digest", "cf_12", "lap\0top", NOON)
Both = tuple[PostgresIdentityStore, PostgresIdentityStore]


@pytest.fixture
async def both() -> AsyncIterator[Both]:
    async with databases.opened() as one:
        other = await Database.open(one.place)
        yield PostgresIdentityStore(one), PostgresIdentityStore(other)
        await other.aclose()


async def test_what_one_revokes_is_dead_for_the_other_at_once(both: Both) -> None:
    one, other = both
    await one.add_account("acme", "ann", NOON)
    await one.add_key(KEY)
    assert await other.key("digest") == KEY
    await one.revoke("k1")
    assert await other.key("digest") is None


async def test_of_names_that_differ_in_case_one_is_taken(both: Both) -> None:
    names = ["acme", "ACME", "Acme", "aCME"] * 2
    made = await asyncio.gather(
        *(both[turn % 2].add_account(name, "ann", NOON) for turn, name in enumerate(names)),
        return_exceptions=True,
    )
    assert [type(one) for one in made if one is not None] == [AlreadyExistsError] * 7
    assert len(await both[0].accounts()) == 1


async def test_of_two_rotations_at_once_one_wins(both: Both) -> None:
    await both[0].add_account("acme", "ann", NOON)
    await both[0].add_key(KEY)
    rotated = await asyncio.gather(
        *(store.rotate(KEY, Secret(f"s{n}", "cf"), NOON) for n, store in enumerate(both * 2)),
        return_exceptions=True,
    )
    assert sum(isinstance(one, ConflictError) for one in rotated) == 3
