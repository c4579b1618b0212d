"""Who may make the tables, and what fits into them."""

import os
import random
from collections.abc import Iterator
from contextlib import aclosing
from dataclasses import replace

import pytest
from psycopg import conninfo

from contextfind.adapters.postgres.database import Database
from contextfind.adapters.postgres.place import Place
from contextfind.adapters.postgres.records import PostgresRecordStore
from contextfind.domain.errors import FailedPreconditionError, InvalidArgumentError
from contextfind.domain.filters import Everything
from contextfind.domain.records import ContextType, Level
from contextfind.domain.scope import Scope
from contextfind.domain.uri import ROOT, Uri
from contextfind.ports.index import Probe
from contextfind.ports.store import Commit, RecordDraft
from tests import databases
from tests.builders import NOON, unit
from tests.indexes import MISERLY, open_index
from tests.strategies import ACCOUNTS, USERS, WORDS, random_log


@pytest.fixture
def lodging() -> Iterator[Place]:
    """Return a schema whose owner may make no schemas, only what is in this one."""
    if "CONTEXTFIND_TEST_POSTGRES" in os.environ:
        pytest.skip("roles are made on a server of our own only")
    place = databases.place()
    role = f"lodger_{place.schema}"
    admin = conninfo.make_conninfo(place.dsn, user="postgres")
    databases.execute(f'CREATE ROLE "{role}" LOGIN', admin)
    databases.execute(f'CREATE SCHEMA "{place.schema}" AUTHORIZATION "{role}"', admin)
    yield Place(conninfo.make_conninfo(place.dsn, user=role), place.schema)
    databases.execute(f'DROP SCHEMA "{place.schema}" CASCADE', admin)
    databases.execute(f'DROP ROLE "{role}"', admin)


async def test_a_schema_that_was_made_for_us_takes_no_right_to_make_schemas(lodging: Place) -> None:
    for _ in range(2):
        await (await Database.open(lodging)).aclose()


@pytest.mark.parametrize("what", ["address", "tag"])
async def test_what_is_too_long_for_an_index_is_refused_and_not_waited_for(what: str) -> None:
    dice = random.Random(7)  # noqa: S311 - a name that cannot be packed
    name = "".join(chr(dice.randrange(0x4E00, 0x9FA0)) for _ in range(1_500))
    async with databases.opened() as database:
        address = name if what == "address" else "a.md"
        draft = RecordDraft(
            uri=Uri.parse(f"viking://resources/{address}"),
            level=Level.DETAIL,
            context_type=ContextType.RESOURCE,
            abstract="",
            passages=(),
            tags=(f"name={name}",) if what == "tag" else (),
        )
        with pytest.raises(InvalidArgumentError, match="too long for the database"):
            await PostgresRecordStore(database).commit(Commit("acme", NOON, put=(draft,)))


@pytest.fixture
def elsewhere() -> Iterator[tuple[Place, str]]:
    """Return a schema of a database whose pgvector lies in another one than public, and who may give rights there."""
    if "CONTEXTFIND_TEST_POSTGRES" in os.environ:
        pytest.skip("databases are made on a server of our own only")
    place = databases.place()
    name = f"db_{place.schema}"
    admin = conninfo.make_conninfo(place.dsn, user="postgres")
    databases.execute(f'CREATE DATABASE "{name}" OWNER {databases.OWNER}', admin)
    there = conninfo.make_conninfo(admin, dbname=name)
    databases.execute('CREATE SCHEMA "my extensions"', there)
    databases.execute('CREATE EXTENSION vector SCHEMA "my extensions"', there)
    yield replace(place, dsn=conninfo.make_conninfo(place.dsn, dbname=name)), there
    databases.execute(f'DROP DATABASE "{name}" WITH (FORCE)', admin)


async def test_pgvector_may_lie_in_any_schema_that_is_open_to_us(
    elsewhere: tuple[Place, str],
) -> None:
    place, admin = elsewhere
    with pytest.raises(FailedPreconditionError, match='GRANT USAGE ON SCHEMA "my extensions"'):
        await Database.open(place)
    databases.execute(f'GRANT USAGE ON SCHEMA "my extensions" TO {databases.OWNER}', admin)
    async with (
        aclosing(await Database.open(place)) as database,
        aclosing(await open_index(database, MISERLY)) as index,
    ):
        log = random_log(random.Random(7), 30)  # noqa: S311 - data for tests
        await index.follow(log)
        assert index.stats()["graph_rows"] > 0
        scope = Scope(ACCOUNTS[0], USERS[0], (ROOT,))
        await index.search([Probe(scope, Everything(), 3, unit(1), (WORDS[0],))])
