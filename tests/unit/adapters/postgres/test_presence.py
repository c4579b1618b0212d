"""Which processes live, as every one of them sees it."""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import psycopg
import pytest

from contextfind.adapters.postgres.database import Database
from contextfind.adapters.postgres.presence import lock_class
from tests import databases

Opener = Callable[[], Awaitable[Database]]


@pytest.fixture
async def opened() -> AsyncIterator[Opener]:
    """Return what opens the same schema once more, as another process would."""
    place = databases.place()
    async with AsyncExitStack() as stack:

        async def another() -> Database:
            database = await Database.open(place)
            stack.push_async_callback(database.aclose)
            return database

        yield another
    databases.drop(place.schema)


async def living(database: Database) -> set[int]:
    return await database.house(database.presence.living)


async def leads(database: Database) -> bool:
    return await database.house(database.presence.leads)


async def until(true: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(30):
        while not await true():  # noqa: ASYNC110 - what is asked is in the database
            await asyncio.sleep(0.02)


async def test_each_has_a_number_and_all_see_who_lives(opened: Opener) -> None:
    one, other = await opened(), await opened()
    numbers = {one.presence.worker, other.presence.worker}
    assert numbers == {1, 2}
    assert await living(one) == await living(other) == numbers


async def test_who_is_gone_is_seen_at_once_and_the_number_stays_his(opened: Opener) -> None:
    one, other = await opened(), await opened()
    await one.aclose()
    await until(lambda: _equals(other, {2}))
    assert (await opened()).presence.worker == 3


async def test_the_oldest_leads_and_the_next_one_when_it_is_gone(opened: Opener) -> None:
    one, other = await opened(), await opened()
    assert [await leads(one), await leads(other)] == [True, False]
    await one.aclose()
    await until(lambda: leads(other))


async def test_a_broken_connection_is_made_again_with_the_same_number(opened: Opener) -> None:
    one, other = await opened(), await opened()
    holder = (
        f"FROM pg_locks WHERE classid = {lock_class(one.place.schema)}::bigint::oid AND objid = 1"
    )
    with psycopg.connect(databases.server(), autocommit=True) as admin:
        before = admin.execute(f"SELECT pid {holder}").fetchall()
        admin.execute(f"SELECT pg_terminate_backend(pid) {holder}")

        async def again() -> bool:
            after = admin.execute(f"SELECT pid {holder}").fetchall()
            return len(after) == 1 and after != before

        await until(again)
    assert one.presence.worker == 1
    assert await living(other) == {1, 2}


async def test_who_waits_for_the_log_waits_also_after_the_database_was_put_back(
    opened: Opener,
) -> None:
    one = await opened()
    one.bell.ring(1_000)  # what a replica that is the database now has never heard of
    holder = f"FROM pg_locks WHERE classid = {lock_class(one.place.schema)}::bigint::oid"
    databases.execute(f"SELECT pg_terminate_backend(pid) {holder}")

    async def knows() -> bool:
        return one.bell.position == 0

    await until(knows)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await one.bell.beyond(0)


async def test_a_log_that_goes_back_under_a_living_connection_wakes_who_waits(
    opened: Opener,
) -> None:
    one = await opened()
    databases.execute(f'UPDATE "{one.place.schema}".head SET position = 9')  # noqa: S608 - ours
    async with asyncio.timeout(30):
        await one.bell.beyond(0)
        waiting = asyncio.ensure_future(one.bell.beyond(9))
        await asyncio.sleep(0)
        databases.execute(f'UPDATE "{one.place.schema}".head SET position = 4')  # noqa: S608 - ours
        await waiting
    assert one.bell.position == 4


async def test_a_number_that_another_process_has_is_not_taken(opened: Opener) -> None:
    one = await opened()
    # A standby that took over without the last of the log gives out the same numbers once more.
    databases.execute(f'ALTER SEQUENCE "{one.place.schema}".workers RESTART')
    other = await opened()
    assert {one.presence.worker, other.presence.worker} == {1, 2}
    assert await living(one) == {1, 2}


DYING = """
import asyncio, sys
from contextfind.adapters.postgres.database import Database
from contextfind.adapters.postgres.place import Place

async def main():
    database = await Database.open(Place(sys.argv[1], sys.argv[2]))
    print(database.presence.worker, flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""


async def test_a_process_that_is_killed_is_gone_at_once(opened: Opener) -> None:
    one = await opened()
    command = (sys.executable, "-c", DYING, one.place.dsn, one.place.schema)
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    assert await process.stdout.readline() == b"2\n"
    assert await living(one) == {1, 2}
    process.kill()
    await process.wait()
    await until(lambda: _equals(one, {1}))


async def test_another_schema_has_processes_of_its_own(opened: Opener) -> None:
    one = await opened()
    place = databases.place()
    elsewhere = await Database.open(place)
    assert await living(one) == await living(elsewhere) == {1}
    await elsewhere.aclose()
    databases.drop(place.schema)


async def _equals(database: Database, numbers: set[int]) -> bool:
    return await living(database) == numbers
