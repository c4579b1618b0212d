"""What every shelf of uploads promises."""

import io
import zipfile
from collections.abc import AsyncIterator, Callable
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import BinaryIO

import pytest

from contextfind.adapters.files.shelf import LocalShelf
from contextfind.adapters.files.spool import Spool
from contextfind.adapters.memory.sources import MemoryShelf
from contextfind.adapters.postgres.uploads import PostgresShelf
from contextfind.domain.errors import (
    InvalidArgumentError,
    NotFoundError,
    ResourceExhaustedError,
)
from contextfind.domain.identity import Identity
from contextfind.ports.sources import UploadShelf
from tests import databases
from tests.builders import NOON

ANN = Identity("acme", "ann")


def clock() -> datetime:
    return NOON


@pytest.fixture(params=["memory", "local", "postgres"])
async def shelf(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[UploadShelf]:
    numbers = count()
    if request.param == "memory":
        yield MemoryShelf(lambda: f"id{next(numbers)}", limit=1_000)
        return
    if request.param == "postgres":
        async with databases.opened() as database:
            spool = Spool(tmp_path / "spool")
            yield PostgresShelf(database, spool, lambda: f"id{next(numbers)}", clock, 1_000)
            await spool.aclose()
        return
    local = LocalShelf(tmp_path / "uploads", lambda: f"id{next(numbers)}", clock, 1_000)
    yield local
    await local.aclose()


def packed() -> bytes:
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w") as archive:
        archive.writestr("docs/a.md", "x")
    return memory.getvalue()


async def test_an_upload_becomes_a_single_file_with_its_name(shelf: UploadShelf) -> None:
    upload = await shelf.put(ANN, "a.md", b"text")
    assert upload.startswith("upload_")
    source = await shelf.source(ANN, upload, None)
    assert (source.name, source.single) == ("a.md", True)
    assert await source.read(["a.md"]) == [b"text"]


async def test_a_zip_becomes_the_tree_inside_it(shelf: UploadShelf) -> None:
    upload = await shelf.put(ANN, "docs.zip", packed())
    source = await shelf.source(ANN, upload, None)
    assert (source.name, source.single) == ("docs", False)
    assert [entry.path for entry in await source.entries(lambda _: False)] == ["docs/a.md"]
    assert await source.read(["docs/a.md"]) == [b"x"]


async def test_the_caller_may_name_the_source(shelf: UploadShelf) -> None:
    file = await shelf.put(ANN, "tmp1.md", b"text")
    tree = await shelf.put(ANN, "tmp2.zip", packed())
    assert (await shelf.source(ANN, file, "guide.md")).name == "guide.md"
    assert (await shelf.source(ANN, tree, "handbook")).name == "handbook"


async def test_a_broken_zip_is_refused(shelf: UploadShelf) -> None:
    upload = await shelf.put(ANN, "docs.zip", b"no zip at all")
    with pytest.raises(InvalidArgumentError):
        await (await shelf.source(ANN, upload, None)).entries(lambda _: False)


@pytest.mark.parametrize("other", [Identity("acme", "ben"), Identity("bolt", "ann")])
async def test_an_upload_is_nobody_elses(shelf: UploadShelf, other: Identity) -> None:
    upload = await shelf.put(ANN, "a.md", b"text")
    with pytest.raises(NotFoundError):
        await shelf.source(other, upload, None)


@pytest.mark.parametrize("unknown", ["upload_none", "", "../x", "upload_../../etc/passwd"])
async def test_an_unknown_upload_is_not_found(shelf: UploadShelf, unknown: str) -> None:
    with pytest.raises(NotFoundError):
        await shelf.source(ANN, unknown, None)
    await shelf.drop(unknown)


async def test_a_dropped_upload_is_gone(shelf: UploadShelf) -> None:
    upload = await shelf.put(ANN, "a.md", b"text")
    await shelf.drop(upload)
    await shelf.drop(upload)
    with pytest.raises(NotFoundError):
        await shelf.source(ANN, upload, None)


@pytest.mark.parametrize("as_sent", [bytes, io.BytesIO])
async def test_an_upload_has_a_limit(
    shelf: UploadShelf, as_sent: Callable[[bytes], bytes | BinaryIO]
) -> None:
    await shelf.put(ANN, "a.bin", as_sent(bytes(1_000)))
    with pytest.raises(ResourceExhaustedError, match="1000"):
        await shelf.put(ANN, "a.bin", as_sent(bytes(1_001)))


async def test_a_file_is_kept_from_where_it_stands(shelf: UploadShelf) -> None:
    stream = io.BytesIO(b"head text")
    stream.seek(5)
    upload = await shelf.put(ANN, "a.md", stream)
    assert await (await shelf.source(ANN, upload, None)).read(["a.md"]) == [b"text"]
