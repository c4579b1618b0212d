"""When the graph in PostgreSQL is drawn while a log of many changes is followed."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing

import pytest
from psycopg import AsyncConnection

from contextfind.adapters.postgres.database import Database
from contextfind.adapters.postgres.index import PostgresIndex
from contextfind.adapters.postgres.index_schema import drawing
from contextfind.ports.store import Change
from tests import databases
from tests.builders import make_change, make_record
from tests.indexes import MISERLY, open_index

BULK = 30  # and MISERLY has graphs from fewer vectors on
INDEX = "contextfind.adapters.postgres.index"


@pytest.fixture
async def database() -> AsyncIterator[Database]:
    async with databases.opened() as opened:
        yield opened


@pytest.fixture
async def index(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[PostgresIndex]:
    monkeypatch.setattr(f"{INDEX}._BULK", BULK)
    monkeypatch.setattr(f"{INDEX}._QUIET_SECONDS", 0.01)
    async with aclosing(await open_index(database, MISERLY)) as opened:
        yield opened


def changes(first: int, last: int) -> Sequence[Change]:
    return [
        make_change(i, make_record(i, f"viking://resources/{i}.md"), ["x"], [i])
        for i in range(first, last + 1)
    ]


async def log_ends_at(database: Database, position: int) -> None:
    async def work(connection: AsyncConnection) -> None:
        await connection.execute("UPDATE head SET position = %s", (position,))

    await database.write(work)


async def test_no_graph_is_drawn_before_the_end_of_the_log_however_long_a_batch_takes(
    database: Database, index: PostgresIndex
) -> None:
    await log_ends_at(database, 2 * BULK)
    await index.follow(changes(1, BULK))
    await asyncio.sleep(0.2)  # many times what is waited between two looks
    assert (index.stats()["graph_rows"], index.stats()["under_way"]) == (0, 1)
    await index.follow(changes(BULK + 1, 2 * BULK))
    await index.rest()
    assert index.stats()["graph_rows"] == 2 * BULK


async def test_a_graph_is_drawn_of_what_is_there_when_nobody_goes_on_following(
    database: Database, index: PostgresIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{INDEX}._STILL_SECONDS", 0.1)
    await log_ends_at(database, 2 * BULK)
    await index.follow(changes(1, BULK))
    await index.rest()
    assert index.stats()["graph_rows"] == BULK


async def test_one_worker_draws_where_several_find_no_memory_to_share(
    index: PostgresIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    crowd = """DO $$ BEGIN
        IF current_setting('max_parallel_maintenance_workers') <> '0' THEN
            RAISE disk_full USING MESSAGE = 'could not resize shared memory segment';
        END IF; END $$;"""
    monkeypatch.setattr(f"{INDEX}_upkeep.drawing", lambda tables: crowd + drawing(tables))
    await index.follow(changes(1, BULK))
    await index.rest()
    assert index.stats()["graph_rows"] == BULK
