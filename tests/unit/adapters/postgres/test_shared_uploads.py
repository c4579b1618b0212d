"""Uploads that are sent to one process and added by another."""

import io
import os
import zipfile
from collections.abc import AsyncIterator
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import BinaryIO, cast

import pytest
from psycopg import AsyncConnection

from contextfind.adapters.files.spool import Spool
from contextfind.adapters.postgres.database import Database
from contextfind.adapters.postgres.uploads import PostgresShelf
from contextfind.domain.errors import NotFoundError, ResourceExhaustedError
from contextfind.domain.identity import Identity
from tests import databases
from tests.builders import NOON

ANN = Identity("acme", "ann")
LIMIT = 5_000_000
Both = tuple[PostgresShelf, PostgresShelf]
_ids = count()


@pytest.fixture
async def database() -> AsyncIterator[Database]:
    async with databases.opened() as opened:
        yield opened


@pytest.fixture
async def both(database: Database, tmp_path: Path) -> AsyncIterator[Both]:
    other = await Database.open(database.place)
    spools = [Spool(tmp_path), Spool(tmp_path)]
    here, there = (
        PostgresShelf(one, spool, lambda: f"id{next(_ids)}", lambda: NOON, LIMIT)
        for one, spool in zip((database, other), spools, strict=True)
    )
    yield here, there
    for spool in spools:
        await spool.aclose()
    await other.aclose()
    assert is_empty(tmp_path)


def is_empty(directory: Path) -> bool:
    return not any(directory.iterdir())


def copies(directory: Path) -> list[str]:
    return sorted(file.name for file in directory.glob("*/*"))


async def test_what_one_was_sent_another_adds_and_drops(both: Both, tmp_path: Path) -> None:
    here, there = both
    data = os.urandom(3_500_000)
    upload = await here.put(ANN, "dir/a.bin", io.BytesIO(data))
    for shelf in (here, there, there):
        source = await shelf.source(ANN, upload, None)
        assert await source.read(["a.bin"]) == [data]
    assert copies(tmp_path) == [upload, upload]
    await there.drop(upload)
    with pytest.raises(NotFoundError):
        await here.source(ANN, upload, None)
    await here.source(ANN, await here.put(ANN, "b.md", b""), None)
    assert upload not in copies(tmp_path)


async def test_a_zip_is_the_tree_in_it_in_every_process(both: Both) -> None:
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w") as archive:
        archive.writestr("docs/回滚.md", "x")
    upload = await both[0].put(ANN, "docs.zip", memory.getvalue())
    source = await both[1].source(ANN, upload, None)
    assert [entry.path for entry in await source.entries(lambda _: False)] == ["docs/回滚.md"]
    assert await source.read(["docs/回滚.md"]) == [b"x"]


async def rows(database: Database) -> list[int]:
    async def work(connection: AsyncConnection) -> list[int]:
        counts = "SELECT (SELECT count(*) FROM uploads), (SELECT count(*) FROM pieces)"
        row = await (await connection.execute(counts)).fetchone()
        return list(row or ())

    return await database.house(work)


class Failing(io.BytesIO):
    """A file whose second piece cannot be read."""

    def read(self, size: int | None = -1, /) -> bytes:
        if self.tell():
            raise RuntimeError
        return super().read(size)


async def test_what_is_too_large_or_breaks_off_leaves_nothing(
    database: Database, both: Both
) -> None:
    with pytest.raises(ResourceExhaustedError, match=str(LIMIT)):
        await both[0].put(ANN, "a.bin", io.BytesIO(bytes(LIMIT + 1)))
    with pytest.raises(RuntimeError):
        await both[0].put(ANN, "a.bin", cast("BinaryIO", Failing(bytes(2_000_000))))
    assert await rows(database) == [0, 0]


async def test_old_uploads_are_swept(database: Database, both: Both) -> None:
    upload = await both[0].put(ANN, "a.md", b"x")
    assert await both[1].sweep(timedelta(days=1)) == 0
    assert await both[1].sweep(timedelta(days=-1)) == 1
    assert await rows(database) == [0, 0]
    with pytest.raises(NotFoundError):
        await both[0].source(ANN, upload, None)
