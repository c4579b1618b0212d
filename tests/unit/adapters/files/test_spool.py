"""Copies of uploads on the disk of the process that reads them."""

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from contextfind.adapters.files.spool import Spool
from contextfind.domain.errors import NotFoundError

DYING = """
import os, sys
from pathlib import Path
from contextfind.adapters.files.spool import Spool
spool = Spool(Path(sys.argv[1]))
os._exit(1)
"""


def names(directory: Path) -> list[str]:
    return [file.name for file in directory.iterdir()]


async def pieces(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


async def broken() -> AsyncIterator[bytes]:
    yield b"half"
    raise NotFoundError("dropped")


async def test_a_copy_is_whole_or_not_there(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    with pytest.raises(NotFoundError):
        await spool.source("upload_1", "a.md", "a.md", broken())
    assert await spool.held() == []
    source = await spool.source("upload_1", "a.md", "b.md", pieces(b"te", b"xt"))
    assert await source.read(["b.md"]) == [b"text"]
    again = await spool.source("upload_1", "a.md", "a.md", broken())  # not asked for
    assert await again.read(["a.md"]) == [b"text"]
    await spool.forget(["upload_1", "upload_2", "../x"])
    assert await spool.held() == []
    await spool.aclose()
    assert names(tmp_path) == []


async def test_copies_of_the_living_are_let_alone_and_those_of_the_dead_removed(
    tmp_path: Path,
) -> None:
    living = Spool(tmp_path)
    await living.source("upload_1", "a.md", "a.md", pieces(b"x"))
    died = await asyncio.create_subprocess_exec(sys.executable, "-c", DYING, str(tmp_path))
    assert await died.wait() == 1
    assert sum(name.endswith(".lock") for name in names(tmp_path)) == 2
    second = Spool(tmp_path)
    assert sum(name.endswith(".lock") for name in names(tmp_path)) == 2
    assert await living.held() == ["upload_1"]
    await living.aclose()
    await second.aclose()
