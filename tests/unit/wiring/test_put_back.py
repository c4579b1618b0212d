"""An older state of some tables put back behind processes that work on them, and before they start."""

import asyncio
import logging
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from pathlib import Path

import psycopg
import pytest

from contextfind.adapters.postgres.database import EVERY_ACCOUNT
from contextfind.adapters.postgres.place import Place
from contextfind.adapters.postgres.schema import lock_number
from contextfind.config.model import EmbeddingSettings, Settings
from contextfind.config.storage import IndexSettings, QdrantSettings, StorageSettings
from contextfind.domain.errors import UnavailableError
from contextfind.domain.identity import DEFAULT_ACCOUNT, DEFAULT_USER, Identity, RequestContext
from contextfind.domain.queries import FindQuestion
from contextfind.domain.uri import Uri
from contextfind.wiring import House
from tests import databases
from tests.clusters import MEMORY
from tests.stubs.qdrant_http import serving
from tests.stubs.qdrant_server import QdrantServer

ME = Identity(DEFAULT_ACCOUNT, DEFAULT_USER)
KEPT = Uri("viking://resources/kept.md")
LOST = Uri("viking://resources/lost.md")
LATER = Uri("viking://resources/later.md")
TEXTS: Mapping[Uri, str] = {KEPT: "the heron", LOST: "the quokka", LATER: "the okapi"}
# What a restore of the stores' tables alone leaves, or a standby that lacked the last writes beside another engine's index.
PUT_BACK = """
    SELECT pg_advisory_xact_lock({writer});
    DELETE FROM log WHERE position > {position};
    DELETE FROM records WHERE uri = '{lost}';
    DELETE FROM stale; DELETE FROM claims;
    UPDATE head SET position = {position}, record = {record}
"""


@asynccontextmanager
async def houses(place: Place, number: int, qdrant: str = "") -> AsyncIterator[list[House]]:
    storage = StorageSettings(
        backend="postgres", dsn=place.dsn, db_schema=place.schema, connections=4
    )
    settings = Settings(
        storage=storage,
        embedding=EmbeddingSettings(provider="hash"),
        index=IndexSettings(backend="qdrant" if qdrant else "postgres"),
        qdrant=QdrantSettings(url=qdrant or "http://nowhere.invalid", timeout=60),
    )
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(House.open(settings)) for _ in range(number)]


async def write(house: House, uri: Uri) -> None:
    await house.writer.write(ME, uri, TEXTS[uri], "create")
    settled = await house.settling.settle(None, None, 60)
    assert settled.note == ""


async def found(house: House, uri: Uri) -> bool:
    question = FindQuestion(TEXTS[uri], limit=9)
    answer = await house.finder.find(RequestContext(ME, "r"), question)
    return uri in [hit.uri for hit in answer.resources]


class State:
    """Where log and ids stand in a schema; `put_back` has them stand there again."""

    def __init__(self, place: Place) -> None:
        self._dsn = place.conninfo(EVERY_ACCOUNT)
        self._writer = lock_number(place.schema, "writer")
        with psycopg.connect(self._dsn) as connection:
            row = connection.execute("SELECT position, record FROM head").fetchone()
        assert row is not None
        self._values = dict(zip(("position", "record"), row, strict=True))

    def put_back(self) -> None:
        with psycopg.connect(self._dsn) as connection:
            statement = PUT_BACK.format(writer=self._writer, lost=LOST.text, **self._values)
            connection.execute(statement.encode())


@pytest.mark.parametrize("engine", ["postgres", pytest.param("qdrant", marks=pytest.mark.slow)])
async def test_running_processes_notice_and_answer_for_what_there_is(
    engine: str, caplog: pytest.LogCaptureFixture
) -> None:
    with ExitStack() as stack:
        place, url = stack.enter_context(databases.borrowed()), ""
        if engine == "qdrant":
            home = stack.enter_context(tempfile.TemporaryDirectory(dir=MEMORY))
            url = stack.enter_context(serving(QdrantServer(Path(home))))
        async with houses(place, 2, url) as (one, other):
            await write(one, KEPT)
            older = State(place)
            await write(other, LOST)
            assert await found(one, LOST)
            await asyncio.to_thread(older.put_back)
            await write(one, LATER)  # whoever has looked by then
            assert [await found(house, LATER) for house in (one, other)] == [True, True]
            assert [await found(house, KEPT) for house in (one, other)] == [True, True]
            assert not await found(one, LOST)
            assert "an older state of the database was put back" in caplog.text
            assert (await other.readiness())["index"] == "ok"


async def test_who_waits_for_a_write_that_was_lost_is_told_so() -> None:
    with databases.borrowed() as place:
        async with houses(place, 1) as (one,):
            await write(one, KEPT)
            older = State(place)
            await one.writer.write(ME, LOST, TEXTS[LOST], "create")
            position = await one._engines.store.position()
            await asyncio.to_thread(older.put_back)
            with pytest.raises(UnavailableError, match="what was written is lost"):
                await one.settling.followed(position, 60)


async def test_a_start_builds_an_index_of_another_time_anew(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    with databases.borrowed() as place:
        async with houses(place, 1) as (one,):
            await write(one, KEPT)
            older = State(place)
            await write(one, LOST)
        older.put_back()
        async with houses(place, 1) as (one,):
            assert "of different times" in caplog.text
            assert await found(one, KEPT)
            await write(one, LATER)
            assert await found(one, LATER)
