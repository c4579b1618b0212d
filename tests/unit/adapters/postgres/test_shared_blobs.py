"""Blobs in PostgreSQL: how they lie there, and that nobody's is taken away too early."""

import asyncio
import os
from collections.abc import AsyncIterator, Sequence

import pytest
from psycopg import AsyncConnection

from contextfind.adapters.postgres import blobs as module
from contextfind.adapters.postgres.blobs import PostgresBlobs
from contextfind.adapters.postgres.database import Database
from contextfind.adapters.postgres.records import PostgresRecordStore
from contextfind.domain.errors import DamagedError
from contextfind.domain.records import ContextType, Level
from contextfind.domain.uri import Uri
from contextfind.ingestion.housekeeping import done
from contextfind.ports.housekeeping import Swept
from contextfind.ports.store import Commit, RecordDraft
from tests import databases
from tests.builders import NOON

TEXT = b"a text that says the same again and again. " * 30


@pytest.fixture
async def database() -> AsyncIterator[Database]:
    async with databases.opened() as opened:
        yield opened


@pytest.fixture
async def blobs(database: Database) -> AsyncIterator[PostgresBlobs]:
    kept = PostgresBlobs(database)
    yield kept
    await kept.aclose()


async def rows(database: Database, statement: str) -> Sequence[tuple[object, ...]]:
    async def work(connection: AsyncConnection) -> Sequence[tuple[object, ...]]:
        cursor = await connection.execute(statement)
        return await cursor.fetchall() if cursor.description else []

    return await database.write(work)


async def name(database: Database, number: int, content: str, source: str = "") -> None:
    draft = RecordDraft(
        Uri(f"viking://resources/{number}.md"),
        Level.DETAIL,
        ContextType.RESOURCE,
        "about",
        (),
        content=content,
        source=source,
    )
    await PostgresRecordStore(database).commit(Commit("acme", NOON, put=[draft]))


async def age(database: Database) -> None:
    await rows(database, "UPDATE blobs SET put_at = put_at - interval '2 days'")


async def test_what_shrinks_is_packed_and_all_else_is_as_it_was(
    database: Database, blobs: PostgresBlobs
) -> None:
    noise = os.urandom(2_000)
    digests = await blobs.put([TEXT, noise, b"x", b""])
    told = "SELECT octet_length(bytes), packed FROM blobs ORDER BY octet_length(bytes)"
    lies = await rows(database, told)
    assert [one for one in lies if not one[1]] == [(0, False), (1, False), (2_000, False)]
    assert [packed < len(TEXT) / 5 for packed, is_packed in lies if is_packed] == [True]  # type: ignore[operator]
    assert list(await blobs.read(digests)) == [TEXT, noise, b"x", b""]


@pytest.mark.parametrize("damage", ["'evil'", "substr(bytes, 1, 20)", "''"])
@pytest.mark.parametrize("blob", [TEXT, b"short"])
async def test_a_damaged_blob_is_not_given_out_and_made_whole_by_putting_it_again(
    database: Database, blobs: PostgresBlobs, damage: str, blob: bytes
) -> None:
    (digest,) = await blobs.put([blob])
    await rows(database, f"UPDATE blobs SET bytes = {damage} || 'x'::bytea")  # noqa: S608 - fixed texts
    with pytest.raises(DamagedError, match="damaged"):
        await blobs.get(digest)
    assert await blobs.read([digest]) == [None]
    await blobs.put([blob])
    assert await blobs.get(digest) == blob


async def test_more_than_a_statement_takes_is_put_by_several(
    blobs: PostgresBlobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MOST", 7)
    monkeypatch.setattr(module, "_MOST_BYTES", 100)
    wanted = [b"%d" % number * number for number in range(60)]
    assert list(await blobs.read(await blobs.put(wanted))) == wanted


async def test_two_processes_put_the_same_at_once_in_any_order(
    database: Database, blobs: PostgresBlobs
) -> None:
    other = await Database.open(database.place)
    second = PostgresBlobs(other)
    wanted = [b"%d" % number for number in range(300)]
    told = await asyncio.gather(
        *(blobs.put(wanted) for _ in range(4)), *(second.put(wanted[::-1]) for _ in range(4))
    )
    assert all(sorted(digests) == sorted(told[0]) for digests in told)
    assert list(await second.read(told[0])) == wanted
    await second.aclose()
    await other.aclose()


async def test_what_nobody_names_goes_after_a_day_and_what_is_named_stays(
    database: Database, blobs: PostgresBlobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PAGE", 3)
    digests = await blobs.put([b"content", b"source", *(b"loose%d" % n for n in range(8))])
    await name(database, 1, digests[0], digests[1])
    assert await done(blobs.loose(0.01)) == Swept()
    await age(database)
    assert await done(blobs.loose(0.01)) == Swept(8, 8 * len(b"loose0"))
    assert await blobs.absent(digests) == digests[2:]


async def test_nothing_is_kept_where_nobody_else_is(
    database: Database, blobs: PostgresBlobs
) -> None:
    (fresh,) = await blobs.put([b"fresh"])
    other = await Database.open(database.place)
    assert await done(blobs.loose(0.0)) == Swept()
    await other.aclose()
    async with asyncio.timeout(30):
        while await done(blobs.loose(0.0)) != Swept(1, 5):  # noqa: ASYNC110 - the other is gone some time
            await asyncio.sleep(0.02)
    assert await blobs.absent([fresh]) == [fresh]


async def test_what_is_put_or_named_again_while_readers_are_waited_for_stays(
    database: Database, blobs: PostgresBlobs
) -> None:
    put, named, loose = await blobs.put([b"put", b"named", b"loose"])
    await age(database)

    async def meanwhile(seconds: float) -> None:
        assert seconds > 0
        await blobs.put([b"put"])
        await name(database, 1, named)

    assert await done(blobs.loose(sleep=meanwhile)) == Swept(1, 5)
    assert await blobs.absent([put, named, loose]) == [loose]
