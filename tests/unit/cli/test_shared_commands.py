"""What commands that work without a server do when the data is in a database."""

import asyncio
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from contextfind.config.load import load_settings
from contextfind.domain.identity import DEFAULT_ACCOUNT, DEFAULT_USER, Identity, RequestContext
from contextfind.domain.queries import FindQuestion
from contextfind.domain.uri import Uri
from contextfind.wiring import House
from tests import databases
from tests.unit.cli.calling import call

ME = Identity(DEFAULT_ACCOUNT, DEFAULT_USER)
A = Uri("viking://resources/a.md")
TEXT = "# Heron\n\nThe heron waits by the river.\n"
COMMANDS = (("reindex",), ("reindex", "--vectors"), ("compact",))


@pytest.fixture(scope="module")
def shared() -> Iterator[Mapping[str, str]]:
    """Give the environment of a process on a schema that holds a file."""
    with databases.borrowed() as place:
        named = {
            "CONTEXTFIND_EMBEDDING__PROVIDER": "hash",
            "CONTEXTFIND_STORAGE__BACKEND": "postgres",
            "CONTEXTFIND_STORAGE__DSN": place.dsn,
            "CONTEXTFIND_STORAGE__DB_SCHEMA": place.schema,
            "CONTEXTFIND_STORAGE__CONNECTIONS": "4",
        }
        asyncio.run(_filled(named))
        yield named


async def _filled(named: Mapping[str, str]) -> None:
    async with House.open(load_settings(None, named).settings) as house:
        await house.writer.write(ME, A, TEXT, "create")
        await house.settling.settle(None, None, 60)


async def _found(named: Mapping[str, str]) -> tuple[str, ...]:
    async with House.open(load_settings(None, named).settings) as house:
        await house.settling.settle(None, None, 60)
        question = FindQuestion("heron river", limit=9, read_content=True)
        answer = await house.finder.find(RequestContext(ME, "r"), question)
        return tuple(hit.content or "" for hit in answer.resources if hit.uri == A)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_nothing_is_lost_and_all_is_found_afterwards(
    shared: Mapping[str, str], words: tuple[str, ...], tmp_path: Path
) -> None:
    result = call(*words, "--data", str(tmp_path / "unused"), "--json", env=shared)
    assert result.exit_code == 0, result.stderr
    if words[0] == "reindex":
        told = json.loads(result.stdout)
        assert told == {"records": 3, "waiting": 0, "repaired": {}, "note": ""}
    assert asyncio.run(_found(shared)) == (TEXT,)
    assert not (tmp_path / "unused").exists()


@pytest.mark.parametrize("words", [("backup", "to"), ("restore", "from")], ids=" ".join)
def test_copies_of_files_are_refused_with_what_to_do_instead(
    shared: Mapping[str, str], words: tuple[str, ...]
) -> None:
    result = call(*words, env=shared)
    assert result.exit_code == 2
    assert "pg_dump" in result.stderr
    assert "contextfind export" in " ".join(result.stderr.split())


@pytest.mark.parametrize("words", [*COMMANDS, ("export", "-"), ("doctor",)], ids=" ".join)
def test_a_schema_that_is_not_there_is_made_by_none_of_them(
    shared: Mapping[str, str], words: tuple[str, ...]
) -> None:
    mistyped = f"{shared['CONTEXTFIND_STORAGE__DB_SCHEMA']}x"
    result = call(*words, env={**shared, "CONTEXTFIND_STORAGE__DB_SCHEMA": mistyped})
    assert not databases.holds(mistyped)
    if words == ("doctor",):
        assert f"schema {mistyped} has none yet" in " ".join(result.stdout.split())
        return
    told = " ".join(result.stderr.split())
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"schema {mistyped}; there is some in schema " in told
    assert "storage.db_schema" in told


def test_an_empty_schema_holds_no_data(shared: Mapping[str, str]) -> None:
    empty = f"{shared['CONTEXTFIND_STORAGE__DB_SCHEMA']}e"
    databases.execute(f'CREATE SCHEMA "{empty}"')
    try:
        result = call("export", "-", env={**shared, "CONTEXTFIND_STORAGE__DB_SCHEMA": empty})
    finally:
        databases.drop(empty)
    assert (result.exit_code, result.stdout) == (2, "")
