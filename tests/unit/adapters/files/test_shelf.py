"""Uploads on disk."""

import io
from datetime import datetime, timedelta
from pathlib import Path
from typing import BinaryIO, cast

import pytest

from contextfind.adapters.files.shelf import LocalShelf
from contextfind.domain.errors import NotFoundError, ResourceExhaustedError, UnavailableError
from contextfind.domain.identity import Identity
from tests.builders import NOON

ANN = Identity("acme", "ann")
ZIP = b"PK\x05\x06" + bytes(18)


class Hand:
    """A clock that stands where it is put."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now


def names_in(directory: Path) -> list[str]:
    return sorted(file.name for file in directory.iterdir())


async def test_uploads_survive_a_restart(tmp_path: Path) -> None:
    first = LocalShelf(tmp_path, lambda: "x1", Hand(), 99)
    upload = await first.put(ANN, "a.md", b"text")
    await first.aclose()
    second = LocalShelf(tmp_path, lambda: "x2", Hand(), 99)
    source = await second.source(ANN, upload, None)
    assert await source.read(["a.md"]) == [b"text"]
    await second.aclose()


async def test_the_sweep_drops_what_is_old_and_what_a_crash_left(tmp_path: Path) -> None:
    names, hand = iter(["old", "new"]), Hand()
    shelf = LocalShelf(tmp_path, lambda: next(names), hand, 99)
    old = await shelf.put(ANN, "a.md", b"")
    (tmp_path / "upload_half").write_bytes(b"")
    hand.now = datetime.now(NOON.tzinfo) + timedelta(days=2)
    new = await shelf.put(ANN, "b.md", b"")
    assert await shelf.sweep(timedelta(days=1)) == 2
    assert names_in(tmp_path) == [new, f"{new}.json"]
    with pytest.raises(NotFoundError):
        await shelf.source(ANN, old, None)
    assert (await shelf.source(ANN, new, None)).name == "b.md"
    await shelf.aclose()


@pytest.mark.parametrize(
    "broken",
    [
        b"",
        b'{"account": "acme", "us',
        b"\xff",
        b"[]",
        b"null",
        b"{}",
        b'{"account": "acme", "user": "ann", "name": "a.md", "created_at": "yesterday"}',
        b'{"account": "acme", "user": "ann", "name": "a.md", "created_at": 3}',
        b'{"account": "acme", "user": "ann", "name": "a.md", "created_at": "2026-03-01T12:00:00"}',
        b'{"account": "acme", "user": "ann", "name": 7, "created_at": "2026-03-01T12:00:00Z"}',
    ],
)
async def test_an_upload_with_a_broken_sidecar_is_none_and_is_swept_in_its_time(
    tmp_path: Path, broken: bytes
) -> None:
    hand = Hand()
    shelf = LocalShelf(tmp_path, lambda: "x", hand, 99)
    upload = await shelf.put(ANN, "a.md", b"text")
    (tmp_path / f"{upload}.json").write_bytes(broken)
    hand.now = datetime.now(NOON.tzinfo)
    assert await shelf.sweep(timedelta(days=1)) == 0
    with pytest.raises(NotFoundError):
        await shelf.source(ANN, upload, None)
    hand.now += timedelta(days=2)
    assert await shelf.sweep(timedelta(days=1)) == 1
    assert names_in(tmp_path) == []
    await shelf.aclose()


async def test_a_sidecar_half_written_at_a_crash_is_swept_in_its_time(tmp_path: Path) -> None:
    hand = Hand()
    shelf = LocalShelf(tmp_path, lambda: "x", hand, 99)
    (tmp_path / "upload_y").write_bytes(b"text")
    (tmp_path / "upload_y.json.part").write_bytes(b"{")
    hand.now = datetime.now(NOON.tzinfo) + timedelta(days=2)
    assert await shelf.sweep(timedelta(days=1)) == 2
    assert names_in(tmp_path) == []
    await shelf.aclose()


@pytest.mark.parametrize("obstacle", ["upload_x.json", "upload_x.json.part"])
async def test_nothing_is_left_of_an_upload_that_could_not_be_written(
    tmp_path: Path, obstacle: str
) -> None:
    (tmp_path / obstacle).mkdir()
    shelf = LocalShelf(tmp_path, lambda: "x", Hand(), 99)
    with pytest.raises(UnavailableError):
        await shelf.put(ANN, "a.md", b"text")
    assert names_in(tmp_path) == [obstacle]
    await shelf.aclose()


@pytest.mark.parametrize(
    ("name", "data", "single"),
    [
        ("docs.zip", ZIP, False),
        ("blob", ZIP, False),
        ("blob.1", ZIP, False),
        ("blob", b"text", True),
        ("report.docx", ZIP, True),
        ("../../a/b.md", b"text", True),
    ],
)
async def test_what_is_a_tree_and_what_is_one_file(
    tmp_path: Path, name: str, data: bytes, *, single: bool
) -> None:
    shelf = LocalShelf(tmp_path, lambda: "x", Hand(), 99)
    source = await shelf.source(ANN, await shelf.put(ANN, name, data), None)
    assert source.single is single
    assert "/" not in source.name
    await shelf.aclose()


async def test_an_upload_is_never_in_memory_as_a_whole_and_nothing_stays_of_one_too_large(
    tmp_path: Path,
) -> None:
    class Endless(io.RawIOBase):
        largest = 0

        def read(self, size: int = -1) -> bytes:
            self.largest = max(self.largest, size if size >= 0 else 2**60)
            return bytes(size)

    shelf = LocalShelf(tmp_path, lambda: "x", Hand(), 5_000_000)
    stream = Endless()
    with pytest.raises(ResourceExhaustedError):
        await shelf.put(ANN, "a.md", cast("BinaryIO", stream))
    assert stream.largest <= 1024 * 1024
    assert names_in(tmp_path) == []
    await shelf.aclose()
