"""Sessions that two processes write to at once."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from contextfind.adapters.postgres.database import Database
from contextfind.adapters.postgres.sessions import PostgresSessionStore
from contextfind.domain.identity import Identity
from tests import databases
from tests.builders import NOON, make_message

ANN = Identity("acme", "ann")
Both = tuple[PostgresSessionStore, PostgresSessionStore]


@pytest.fixture
async def both() -> AsyncIterator[Both]:
    async with databases.opened() as one:
        other = await Database.open(one.place)
        yield PostgresSessionStore(one), PostgresSessionStore(other)
        await other.aclose()


async def test_ordinals_and_counts_are_whole_whoever_appends(both: Both) -> None:
    async def say(store: PostgresSessionStore, number: int) -> None:
        said = [make_message(f"{number} {at}") for at in range(3)]
        await store.append(ANN, "s", [make_message("same"), *said], NOON)

    await asyncio.gather(*(say(both[number % 2], number) for number in range(12)))
    session, messages = await both[0].get(ANN, "s"), await both[1].pending(ANN, "s")
    assert session is not None
    assert session.message_count == session.total_message_count == len(messages) == 37
    assert [message.ordinal for message in messages] == list(range(37))


async def test_of_two_archivings_one_finds_the_messages(both: Both) -> None:
    await both[0].append(ANN, "s", [make_message("a")], NOON)
    made = await asyncio.gather(*(store.archive(ANN, "s", 0, NOON) for store in both * 3))
    assert sum(one is not None for one in made) == 1


async def test_deleting_beside_appending_ends_whole(both: Both) -> None:
    for turn in range(10):
        message = [make_message(f"m{turn}")]
        (after, new), _ = await asyncio.gather(
            both[0].append(ANN, "s", message, NOON), both[1].delete(ANN, "s")
        )
        assert (new, after.message_count) in {(1, 1), (1, 2)}
