"""What keeps the tables in PostgreSQL small, and that no index misses a delete for it."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import psycopg
import pytest
from psycopg import AsyncConnection

from contextfind.adapters.postgres import compaction as module
from contextfind.adapters.postgres.compaction import PostgresCompaction
from contextfind.adapters.postgres.database import Database
from contextfind.adapters.postgres.records import PostgresRecordStore
from contextfind.domain.records import ContextType, Level
from contextfind.domain.uri import Uri
from contextfind.ingestion.housekeeping import done
from contextfind.ports.housekeeping import Swept
from contextfind.ports.store import Commit, RecordDraft
from tests import databases
from tests.builders import NOON


@pytest.fixture
async def database() -> AsyncIterator[Database]:
    async with databases.opened() as opened:
        yield opened


@pytest.fixture
def compaction(database: Database) -> PostgresCompaction:
    return PostgresCompaction(database)


@pytest.fixture
async def store(database: Database) -> PostgresRecordStore:
    """Return a store of ten files, of which six are removed: of those the log has only that they are gone."""
    store = PostgresRecordStore(database)
    uris = [Uri(f"viking://resources/{number}.md") for number in range(10)]
    drafts = [RecordDraft(uri, Level.DETAIL, ContextType.RESOURCE, "about", ()) for uri in uris]
    await store.commit(Commit("acme", NOON, put=drafts))
    await store.commit(Commit("acme", NOON, remove=uris[:6]))
    return store


async def execute(database: Database, statement: str) -> None:
    async def work(connection: AsyncConnection) -> None:
        await connection.execute(statement)

    await database.tidy(work)


async def entries(store: PostgresRecordStore) -> Sequence[int]:
    return [change.position for change in await store.changes(0, 1_000)]


async def round_of(compaction: PostgresCompaction) -> Swept:
    return sum([await done(chore) for chore in compaction.chores], Swept())


async def test_entries_of_what_is_gone_go_a_week_after_the_index_followed(
    database: Database,
    store: PostgresRecordStore,
    compaction: PostgresCompaction,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_AT_ONCE", 3)
    before, there = await entries(store), await store.position()
    assert await round_of(compaction) == Swept()  # it notes where the log stands
    await execute(database, "UPDATE log_marks SET at = at - interval '8 days'")
    assert await round_of(compaction) == Swept()  # the index has not followed
    compaction.note_followed(there)
    assert await round_of(compaction) == Swept(6)
    assert len(await entries(store)) == len(before) - 6
    assert await compaction.forgotten() == there
    assert await store.position() == there


async def test_what_the_index_followed_this_week_stays(
    store: PostgresRecordStore, compaction: PostgresCompaction
) -> None:
    before = await entries(store)
    compaction.note_followed(await store.position())
    for _ in range(2):
        assert await round_of(compaction) == Swept()
    assert (await entries(store), await compaction.forgotten()) == (before, 0)


async def test_claims_of_the_dead_go_and_those_of_the_living_stay(
    database: Database, compaction: PostgresCompaction
) -> None:
    living = await Database.open(database.place)
    numbers = (database.presence.worker, living.presence.worker, 99, 99)
    values = ", ".join(f"('text {at}', {worker})" for at, worker in enumerate(numbers))
    await execute(database, f"INSERT INTO claims VALUES {values}")  # noqa: S608 - numbers
    assert await round_of(compaction) == Swept(2)
    await living.aclose()


async def test_a_claim_that_is_just_taken_from_the_dead_is_not_waited_for(
    database: Database, compaction: PostgresCompaction
) -> None:
    await execute(database, "INSERT INTO claims VALUES ('one', 99), ('two', 99)")
    with psycopg.connect(database.place.conninfo("*")) as other:
        other.execute("UPDATE claims SET worker = 1 WHERE what = 'one'")
        async with asyncio.timeout(10):
            assert await round_of(compaction) == Swept(1)


async def test_chores_are_no_writes_and_commits_of_any_process_are(
    database: Database, store: PostgresRecordStore, compaction: PostgresCompaction
) -> None:
    before = compaction.writes
    await round_of(compaction)
    assert compaction.writes == before
    other = await Database.open(database.place)
    await PostgresRecordStore(other).commit(
        Commit("acme", NOON, remove=[Uri("viking://resources/7.md")])
    )
    await database.bell.beyond(await store.position() - 1)
    assert compaction.writes > before
    await other.aclose()


async def files(database: Database) -> Sequence[tuple[object, ...]]:
    """Return in which file each table lies; how large it is depends on who else reads the same database."""

    async def work(connection: AsyncConnection) -> Sequence[tuple[object, ...]]:
        cursor = await connection.execute(
            "SELECT relname, relfilenode FROM pg_class"
            " WHERE relnamespace = %s::regnamespace AND relkind = 'r' ORDER BY relname",
            (database.place.schema,),
        )
        return await cursor.fetchall()

    return await database.house(work)


async def test_tables_are_written_anew_and_say_the_same(
    database: Database, store: PostgresRecordStore, compaction: PostgresCompaction
) -> None:
    said, lay = await entries(store), await files(database)
    await compaction.rewrite()
    assert await entries(store) == said
    assert not set(await files(database)) & set(lay)
