"""Rows in pieces, put right; and texts that are lost, noted."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from psycopg import AsyncConnection

from contextfind.adapters.postgres import mending
from contextfind.adapters.postgres.mending import PostgresMending
from contextfind.adapters.postgres.records import PostgresRecordStore
from contextfind.domain.records import ContextType, Level, RecordId
from contextfind.domain.uri import ROOT, Uri
from contextfind.ports.store import Commit, RecordDraft
from tests import databases
from tests.builders import NOON, make_passages, unit


@pytest.fixture
async def store() -> AsyncIterator[PostgresRecordStore]:
    async with databases.opened() as database:
        made = PostgresRecordStore(database)
        files = [draft(f"a{number}", f"text {number % 4}") for number in range(6)]
        await made.commit(Commit("acme", NOON, put=[*files, folder("d"), folder("e")]))
        await made.add_vectors([(text.digest, unit(1)) for text in await made.pending(99)])
        yield made


def draft(path: str, *texts: str, level: Level = Level.DETAIL) -> RecordDraft:
    uri, kind = Uri.parse(f"viking://resources/{path}"), ContextType.RESOURCE
    return RecordDraft(
        uri, level, kind, "", make_passages(*texts), content="c" * 64, source="5" * 64
    )


def folder(path: str) -> RecordDraft:
    return replace(draft(path, level=Level.OVERVIEW), content="0" * 64)


async def mended(store: PostgresRecordStore) -> dict[str, int]:
    told: dict[str, int] = {}
    for chore in PostgresMending(store._database).chores:
        things = sum([step.things async for step in chore.steps()])
        told[chore.things.split()[0]] = things
    return told


async def broken(store: PostgresRecordStore, statement: str) -> None:
    async def work(connection: AsyncConnection) -> None:
        await connection.execute(statement)

    await store._database.write(work)


async def test_nothing_is_done_where_nothing_is_wrong(store: PostgresRecordStore) -> None:
    before = await store.position()
    assert await mended(store) == {"passages": 0, "records": 0}
    assert await store.position() == before


async def test_looking_for_passages_reads_an_index_and_sorts_nothing(
    store: PostgresRecordStore,
) -> None:
    """Each step looks at some: sorting them all takes a second of a million."""

    async def work(connection: AsyncConnection) -> str:
        await connection.execute(mending._BY_INDEX)
        cursor = await connection.execute(f"EXPLAIN {mending._UPTO}".encode(), ("", 9))
        return "\n".join(str(line) for (line,) in await cursor.fetchall())

    plan = await store._database.house(work)
    assert "using passages_by_digest" in plan
    assert "Sort" not in plan
    assert "Seq Scan" not in plan


async def test_a_passage_whose_vector_is_gone_waits_for_one_again(
    store: PostgresRecordStore,
) -> None:
    digest = make_passages("text 1")[0].digest
    await broken(store, f"DELETE FROM vectors WHERE digest = '{digest}'")  # noqa: S608 - ours
    before = await store.position()
    assert await mended(store) == {"passages": 2, "records": 0}
    assert [text.text for text in await store.pending(9)] == ["text 1"]
    again = await store.changes(before, 9)
    assert [change.record and change.record.name for change in again] == ["a1", "a5"]
    assert await mended(store) == {"passages": 0, "records": 0}


async def test_a_record_that_is_missing_in_the_log_is_logged(store: PostgresRecordStore) -> None:
    await broken(store, "DELETE FROM log WHERE record IN (2, 5)")
    before = await store.position()
    assert await mended(store) == {"passages": 0, "records": 2}
    assert [change.id for change in await store.changes(before, 9)] == [2, 5]


async def test_lost_summaries_are_written_again_and_lost_files_counted(
    store: PostgresRecordStore,
) -> None:
    mending = PostgresMending(store._database)
    texts = [*await mending.texts(RecordId(0), 5), *await mending.texts(RecordId(5), 9)]
    assert [text.id for text in texts] == list(range(1, 9))
    lost = [texts[0], texts[1], texts[6], replace(texts[7], content="1" * 64)]
    await store.commit(Commit("acme", NOON, remove=[Uri(texts[1].uri)]))
    assert await mending.give_up(lost, [texts[0].source]) == 2
    assert [one.uri.name for one in await store.stale(9)] == ["d"]
    [first, overview] = await store.get([texts[0].id, texts[6].id])
    assert first is not None
    assert overview is not None
    assert (first.content, first.source) == (texts[0].content, "")
    assert (overview.content, overview.source) == ("", "")
    marks = await store.sources("acme", ROOT)
    assert {mark.digest for mark in marks.values()} == {"", texts[2].source}
