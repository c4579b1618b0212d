"""Immutable bytes under their SHA-256: `blobs/ab/cdef…`."""

import asyncio
import hashlib
import os
import re
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

from contextfind.domain.errors import NotFoundError, UnavailableError

T = TypeVar("T")

_THREADS = 8  # they wait for the disk, not for a core: fsyncs overlap
_DIGEST = re.compile(r"[0-9a-f]{64}")


class FileBlobs:
    """`BlobStore` in a directory of its own. A blob that is there is never written again."""

    def __init__(self, directory: Path) -> None:
        """Take the directory (made if need be) and clear what a crash left half written."""
        self._root = directory
        self._drafts = directory / "drafts"
        self._drafts.mkdir(parents=True, exist_ok=True)
        for draft in self._drafts.iterdir():
            draft.unlink()
        self._pool = ThreadPoolExecutor(_THREADS, "blobs")

    async def put(self, blobs: Sequence[bytes]) -> Sequence[str]:
        """See `BlobStore.put`.

        Raises:
            UnavailableError: the disk refuses.

        """
        shares = [blobs[start::_THREADS] for start in range(min(_THREADS, len(blobs)))]
        digests = [""] * len(blobs)
        done = await asyncio.gather(
            *(self._hop(partial(self._write_all, share)) for share in shares)
        )
        for start, share in enumerate(done):
            digests[start::_THREADS] = share
        return digests

    async def get(self, digest: str) -> bytes:
        """See `BlobStore.get`.

        Raises:
            UnavailableError: the disk refuses, or the blob is damaged.

        """
        return await self._hop(lambda: self._read(digest))

    async def aclose(self) -> None:
        """Finish what was begun and end the threads."""
        await asyncio.to_thread(self._pool.shutdown)

    async def _hop(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work)
        except OSError as error:
            raise UnavailableError(f"the blob store does not answer: {error.strerror}") from error

    def _write_all(self, blobs: Sequence[bytes]) -> list[str]:
        digests = [hashlib.sha256(blob).hexdigest() for blob in blobs]
        touched: set[Path] = set()
        for digest, blob in zip(digests, blobs, strict=True):
            path = self._path(digest)
            if not path.exists():
                touched |= self._write(path, blob)
        for directory in touched:
            _sync(directory)
        return digests

    def _write(self, path: Path, blob: bytes) -> set[Path]:
        """Write one file and return the directories whose entries changed."""
        touched = {path.parent}
        if not path.parent.exists():
            path.parent.mkdir(exist_ok=True)
            touched.add(self._root)
        with tempfile.NamedTemporaryFile(dir=self._drafts, delete=False) as draft:
            draft.write(blob)
            draft.flush()
            os.fsync(draft.fileno())
        Path(draft.name).replace(path)
        return touched

    def _read(self, digest: str) -> bytes:
        if _DIGEST.fullmatch(digest) is None:
            raise NotFoundError(f"there is no blob {digest!r}", {"digest": digest})
        try:
            blob = self._path(digest).read_bytes()
        except FileNotFoundError:
            raise NotFoundError(f"there is no blob {digest!r}", {"digest": digest}) from None
        if hashlib.sha256(blob).hexdigest() != digest:
            raise UnavailableError(f"blob {digest} is damaged on disk", {"digest": digest})
        return blob

    def _path(self, digest: str) -> Path:
        return self._root / digest[:2] / digest[2:]


def _sync(directory: Path) -> None:
    """Make the names in a directory durable."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
