"""Row-level security: a statement that forgets to say whose rows it means sees none of them."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from psycopg import AsyncConnection

from contextfind.adapters.files.spool import Spool
from contextfind.adapters.postgres.blobs import PostgresBlobs
from contextfind.adapters.postgres.database import EVERY_ACCOUNT, Database
from contextfind.adapters.postgres.identities import PostgresIdentityStore
from contextfind.adapters.postgres.jobs import PostgresJobStore
from contextfind.adapters.postgres.sessions import PostgresSessionStore
from contextfind.adapters.postgres.uploads import PostgresShelf
from contextfind.domain.identity import Identity
from contextfind.ports.identities import Key
from contextfind.ports.jobs import Job, JobState
from tests import databases
from tests.builders import NOON, make_message

ANN = Identity("acme", "ann", "admin")
OF_ACCOUNTS = ("sessions", "messages", "archives", "jobs", "uploads", "pieces")
OF_THE_HOUSE = ("accounts", "users", "keys", "blobs")


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    """Return a schema whose tables all have a row of Ann's."""
    async with databases.opened() as opened:
        sessions, identities = PostgresSessionStore(opened), PostgresIdentityStore(opened)
        await sessions.append(ANN, "s", [make_message("a")], NOON)
        await sessions.archive(ANN, "s", 0, NOON)
        await PostgresJobStore(opened).save(Job("j", ANN, "bake", JobState.PENDING, NOON, NOON))
        await identities.add_account("acme", "ann", NOON)
        await identities.add_key(Key("k", ANN, "digest", "cf", "laptop", NOON))
        spool, blobs = Spool(tmp_path), PostgresBlobs(opened)
        await PostgresShelf(opened, spool, lambda: "id", lambda: NOON, 9).put(ANN, "a.md", b"x")
        await blobs.put([b"x"])
        yield opened
        await blobs.aclose()
        await spool.aclose()


async def seen(database: Database, account: str, table: str) -> int:
    async def work(connection: AsyncConnection) -> int:
        cursor = await connection.execute(f"SELECT count(*) FROM {table}")  # noqa: S608 - fixed names
        row = await cursor.fetchone()
        return -1 if row is None else int(row[0])

    return await database.read(account, work)


async def test_a_statement_sees_the_rows_of_the_account_that_was_named(database: Database) -> None:
    for table in OF_ACCOUNTS:
        told = [await seen(database, account, table) for account in ("", "bolt", "acme")]
        assert (table, told) == (table, [0, 0, 1])


async def test_what_belongs_to_no_account_is_seen_by_the_house_alone(database: Database) -> None:
    for table in OF_THE_HOUSE:
        told = [await seen(database, account, table) for account in ("", "acme", EVERY_ACCOUNT)]
        assert (table, told) == (table, [0, 0, 1])
