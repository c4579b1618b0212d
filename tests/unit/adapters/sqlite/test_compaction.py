"""A database file that gives room back, beside whoever writes and reads."""

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from contextfind.adapters.sqlite.compaction import SqliteCompaction
from contextfind.adapters.sqlite.database import FILE_NAME, Database
from contextfind.adapters.sqlite.identities import SqliteIdentityStore
from contextfind.adapters.sqlite.records import SqliteRecordStore
from contextfind.domain.errors import UnavailableError
from contextfind.domain.records import RecordId
from contextfind.ports.housekeeping import Swept
from tests.builders import NOON

ROWS = 3_000  # of 2 kB
_FILLED = "INSERT INTO meta SELECT 'key' || value, hex(randomblob(1000)) FROM json_each(?)"


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = await Database.open(tmp_path)
    yield opened
    await opened.aclose()


async def fill(database: Database, rows: int = ROWS) -> None:
    numbers = str(list(range(rows)))
    await database.write(lambda c: c.execute(_FILLED, (numbers,)).rowcount)


async def empty(database: Database) -> None:
    await database.write(lambda c: c.execute("DELETE FROM meta").rowcount)


async def told(database: Database, pragma: str) -> int:
    def work(connection: sqlite3.Connection) -> int:
        connection.execute("SELECT count(*) FROM meta").fetchone()  # looks at the file of now
        (number,) = connection.execute(f"PRAGMA {pragma}").fetchone()
        return int(number)

    return await database.read(work)


async def tidied(database: Database) -> dict[str, list[Swept]]:
    compaction = SqliteCompaction(database)
    return {chore.things: [step async for step in chore.steps()] for chore in compaction.chores}


async def test_free_pages_go_back_in_small_steps(database: Database, tmp_path: Path) -> None:
    await fill(database)
    await empty(database)
    database.cut_log()
    large = (tmp_path / FILE_NAME).stat().st_size
    steps = (await tidied(database))["free pages"]
    assert len(steps) > 5
    assert all(0 < step.things <= 64 for step in steps)
    small = (tmp_path / FILE_NAME).stat().st_size
    assert large - small == pytest.approx(sum(step.bytes for step in steps), rel=0.01)
    assert small < large / 3
    assert await told(database, "freelist_count") <= 256


async def test_the_log_is_empty_afterwards(database: Database, tmp_path: Path) -> None:
    await fill(database)
    log = tmp_path / f"{FILE_NAME}-wal"
    assert log.stat().st_size > 0
    (cut,) = (await tidied(database))["write-ahead log"]
    assert cut.bytes > 0
    assert log.stat().st_size == 0
    assert await database.read(lambda c: c.execute("SELECT count(*) FROM meta").fetchone()) == (
        ROWS,
    )


async def test_a_log_that_somebody_reads_stays_and_nobody_waits(
    database: Database, tmp_path: Path
) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / FILE_NAME)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM meta").fetchone()
        await fill(database)
        assert database.cut_log() == 0
        reader.execute("COMMIT")
    assert database.cut_log() > 0


async def test_chores_are_no_writes(database: Database) -> None:
    compaction = SqliteCompaction(database)
    before = compaction.writes
    await fill(database)
    assert compaction.writes == before + 1
    await tidied(database)
    await compaction.settle()
    assert compaction.writes == before + 1


async def test_settling_waits_for_what_was_handed_in(database: Database) -> None:
    writing = asyncio.create_task(fill(database))
    await asyncio.sleep(0)
    await SqliteCompaction(database).settle()
    assert await database.read(lambda c: c.execute("SELECT count(*) FROM meta").fetchone()) == (
        ROWS,
    )
    await writing


async def test_an_older_file_keeps_its_pages_until_it_is_written_anew(tmp_path: Path) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / FILE_NAME)) as older:
        older.execute("PRAGMA journal_mode = WAL")  # made before single pages could be given back
        older.execute("CREATE TABLE before (x)")
    database = await Database.open(tmp_path)
    await fill(database)
    await empty(database)
    assert (await tidied(database))["free pages"] == []
    large = database.size()
    swept = await SqliteCompaction(database).rewrite()
    assert swept.bytes == large - database.size() > large / 2
    assert await told(database, "auto_vacuum") == 2
    await fill(database)
    await empty(database)
    assert (await tidied(database))["free pages"]
    whole = await database.read(lambda c: c.execute("PRAGMA integrity_check").fetchall())
    assert whole == [("ok",)]
    await database.aclose()


async def test_a_closed_store_says_so(tmp_path: Path) -> None:
    database = await Database.open(tmp_path)
    await database.aclose()
    with pytest.raises(UnavailableError):
        await tidied(database)
    with pytest.raises(UnavailableError):
        database.cut_log()


async def test_reading_and_asking_with_a_key_put_no_tidying_up_off(database: Database) -> None:
    compaction = SqliteCompaction(database)
    await SqliteRecordStore(database).touch([RecordId(1)])
    await SqliteIdentityStore(database).used("k1", NOON)
    assert compaction.writes == 0
