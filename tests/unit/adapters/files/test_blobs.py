"""Blobs on disk."""

import asyncio
from pathlib import Path

import pytest

from contextfind.adapters.files.blobs import FileBlobs
from contextfind.domain.errors import DamagedError, UnavailableError


async def test_a_blob_is_one_file_under_its_digest(tmp_path: Path) -> None:
    blobs = FileBlobs(tmp_path)
    (digest,) = await blobs.put([b"x"])
    path = tmp_path / digest[:2] / digest[2:]
    assert path.read_bytes() == b"x"
    born = path.stat().st_mtime_ns
    await blobs.put([b"x"])
    assert path.stat().st_mtime_ns == born
    assert list((tmp_path / "drafts").iterdir()) == []
    await blobs.aclose()


async def test_a_damaged_blob_is_not_given_out(tmp_path: Path) -> None:
    blobs = FileBlobs(tmp_path)
    (digest,) = await blobs.put([b"good"])
    (tmp_path / digest[:2] / digest[2:]).write_bytes(b"evil")
    with pytest.raises(DamagedError, match="damaged"):
        await blobs.get(digest)
    await blobs.aclose()


@pytest.mark.parametrize("damage", [b"evil", b"", b"good and more"])
async def test_putting_the_bytes_of_a_damaged_blob_again_makes_it_whole(
    tmp_path: Path, damage: bytes
) -> None:
    blobs = FileBlobs(tmp_path)
    (digest,) = await blobs.put([b"good"])
    (tmp_path / digest[:2] / digest[2:]).write_bytes(damage)
    assert list(await blobs.put([b"good"])) == [digest]
    assert await blobs.get(digest) == b"good"
    await blobs.aclose()


async def test_what_a_crash_left_is_cleared_and_the_blobs_stay(tmp_path: Path) -> None:
    first = FileBlobs(tmp_path)
    (digest,) = await first.put([b"x"])
    await first.aclose()
    (tmp_path / "drafts" / "half").write_bytes(b"hal")
    second = FileBlobs(tmp_path)
    assert not (tmp_path / "drafts" / "half").exists()
    assert await second.get(digest) == b"x"
    await second.aclose()


async def test_many_callers_may_put_the_same_bytes_at_once(tmp_path: Path) -> None:
    blobs = FileBlobs(tmp_path)
    done = await asyncio.gather(*(blobs.put([b"a", b"b", b"a"]) for _ in range(20)))
    assert len({tuple(digests) for digests in done}) == 1
    await blobs.aclose()


async def test_a_disk_that_refuses_is_unavailable(tmp_path: Path) -> None:
    blobs = FileBlobs(tmp_path)
    (tmp_path / "drafts").rmdir()
    with pytest.raises(UnavailableError):
        await blobs.put([b"x"])
    await blobs.aclose()
