"""What every blob store promises."""

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from contextfind.adapters.files.blobs import FileBlobs
from contextfind.adapters.memory.blobs import MemoryBlobs
from contextfind.adapters.postgres.blobs import PostgresBlobs
from contextfind.domain.errors import NotFoundError
from contextfind.ports.blobs import BlobStore
from tests import databases


@pytest.fixture(params=["memory", "files", "postgres"])
async def blobs(
    request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[MemoryBlobs | FileBlobs | PostgresBlobs]:
    if request.param == "memory":
        yield MemoryBlobs()
        return
    if request.param == "postgres":
        async with databases.opened() as shared:
            kept = PostgresBlobs(shared)
            yield kept
            await kept.aclose()
        return
    files = FileBlobs(tmp_path / "blobs")
    yield files
    await files.aclose()


async def test_blobs_come_back_by_the_digests_in_order(blobs: BlobStore) -> None:
    wanted = [b"%d" % number for number in range(30)] + [b"", bytes(range(256)) * 999]
    digests = await blobs.put(wanted)
    assert list(digests) == [hashlib.sha256(blob).hexdigest() for blob in wanted]
    assert [await blobs.get(digest) for digest in digests] == wanted


async def test_many_are_read_at_once_and_what_is_lost_is_none(blobs: BlobStore) -> None:
    digests = await blobs.put([b"%d" % number for number in range(50)])
    wanted = [*digests[::-1], "0" * 64, "", "../../etc/passwd", digests[0]]
    bodies = [b"%d" % number for number in reversed(range(50))]
    assert list(await blobs.read(wanted)) == [*bodies, None, None, None, b"0"]
    assert list(await blobs.read([])) == []


async def test_what_is_absent_is_told_in_order(
    blobs: MemoryBlobs | FileBlobs | PostgresBlobs,
) -> None:
    (digest,) = await blobs.put([b"x"])
    assert list(await blobs.absent(["f" * 64, digest, "0" * 64])) == ["f" * 64, "0" * 64]


async def test_nothing_to_put_is_fine(blobs: BlobStore) -> None:
    assert list(await blobs.put([])) == []


async def test_equal_bytes_are_kept_once(blobs: BlobStore) -> None:
    first = await blobs.put([b"x", b"y", b"x"])
    assert first[0] == first[2]
    assert list(await blobs.put([b"x"])) == [first[0]]
    assert await blobs.get(first[0]) == b"x"


@pytest.mark.parametrize("digest", ["0" * 64, "", "ab", "../../etc/passwd", "A" * 64])
async def test_an_unknown_blob_is_not_found(blobs: BlobStore, digest: str) -> None:
    with pytest.raises(NotFoundError):
        await blobs.get(digest)
