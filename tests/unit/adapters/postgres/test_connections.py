"""Connections that are lent: for how long, to how many, and what becomes of them in the end."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import psycopg
import pytest
from psycopg import AsyncConnection, conninfo

from contextfind.adapters.postgres import connections
from contextfind.adapters.postgres import database as opened
from contextfind.adapters.postgres.database import Database
from contextfind.adapters.postgres.place import Place
from contextfind.domain.errors import UnavailableError
from tests import databases

_LONG = 60.0  # seconds that these tests may take on a machine with other work


@contextlib.asynccontextmanager
async def at(place: Place) -> AsyncIterator[Database]:
    database = await Database.open(place)
    try:
        yield database
    finally:
        await database.aclose()
        databases.drop(place.schema)


async def at_length(connection: AsyncConnection) -> None:
    await connection.execute("SET LOCAL statement_timeout = 0")
    await connection.execute("SELECT pg_sleep(1.5)")


async def nothing(connection: AsyncConnection) -> None:
    await connection.execute("SELECT 1")


async def test_work_that_takes_as_long_as_it_takes_goes_on() -> None:
    async with at(databases.place(seconds=0.3)) as database:
        await database.tidy(at_length)


async def test_work_whose_server_knows_nothing_of_it_is_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connections, "_AT_WORK", "SELECT 1 WHERE %s = 0")
    async with at(databases.place(seconds=0.3)) as database:
        with pytest.raises(UnavailableError, match="does not answer"):
            await database.tidy(at_length)
        await database.tidy(nothing)


async def test_work_of_a_process_that_is_gone_is_not_done_to_its_end() -> None:
    async with at(databases.place()) as database:

        async def interval(connection: AsyncConnection) -> str:
            cursor = await connection.execute("SHOW client_connection_check_interval")
            (row,) = await cursor.fetchall()
            return str(row[0])

        assert await database.glance(interval) == "5s"


async def test_writers_that_wait_for_another_process_leave_connections_to_who_reads() -> None:
    async with at(databases.place()) as database:
        with psycopg.connect(database.place.conninfo("*"), autocommit=True) as other:
            other.execute("SELECT pg_advisory_lock(%s)", (database._writer,))
            writing = [asyncio.create_task(database.commit(nothing)) for _ in range(8)]
            await asyncio.sleep(0.2)
            assert not any(task.done() for task in writing)
            async with asyncio.timeout(10):
                await database.glance(nothing)
        async with asyncio.timeout(_LONG):
            await asyncio.gather(*writing)


async def test_who_waits_for_the_writers_of_his_process_for_too_long_is_told_so() -> None:
    async with at(databases.place(seconds=0.2)) as database:
        for _ in range(opened._WRITERS):
            await database._writers.acquire()
        with pytest.raises(UnavailableError, match="others write for too long"):
            await database.commit(nothing)


async def test_closing_waits_for_what_is_under_way_but_not_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(opened, "_LAST_SECONDS", 0.2)

    async def endless(connection: AsyncConnection) -> None:
        await connection.execute("SELECT pg_sleep(300)")

    async with at(databases.place()) as database:
        written = asyncio.create_task(database.commit(nothing))
        working = asyncio.create_task(database.tidy(endless))
        await asyncio.sleep(0.05)
        async with asyncio.timeout(_LONG / 2):
            await database.aclose()
        await written
        with pytest.raises(UnavailableError):
            await working


async def test_options_of_a_connection_string_are_kept() -> None:
    place = databases.place()
    asked = Place(
        conninfo.make_conninfo(place.dsn, options="-c work_mem=7MB -c timezone=Asia/Tokyo"),
        place.schema,
    )
    async with at(asked) as database:

        async def settings(connection: AsyncConnection) -> list[tuple[object, ...]]:
            query = "SELECT current_setting('work_mem'), current_setting('timezone')"
            return await (await connection.execute(query)).fetchall()

        assert await database.glance(settings) == [("7MB", "UTC")]
