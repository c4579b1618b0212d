"""Immutable bytes under their SHA-256: `blobs/ab/cdef…`."""

import asyncio
import hashlib
import logging
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from io import FileIO
from pathlib import Path
from typing import TypeVar

import numpy as np

from contextfind.adapters.files.durable import sync
from contextfind.adapters.files.newcomers import Newcomers
from contextfind.adapters.files.refusals import refusal
from contextfind.adapters.files.stillness import Stillness
from contextfind.domain.errors import DamagedError, NotFoundError, UnavailableError
from contextfind.ports.fault_points import FaultPoint, reached
from contextfind.ports.housekeeping import NameKeys, Swept, key_of

T = TypeVar("T")

_log = logging.getLogger(__name__)

_THREADS = 8  # they wait for the disk, not for a core: fsyncs overlap
_DIGEST = re.compile(r"[0-9a-f]{64}")
_SHELVES = tuple(f"{number:02x}" for number in range(256))
_SHARE = 16  # files read by one thread: to ask another one costs as much as two of them
_GRASP = 64  # files removed while no put may look for one: about 2 ms


class FileBlobs:
    """`BlobStore`, `BlobSweep` and `BlobPresence` in a directory of its own.

    What is there, and whole, is not written again.

    stillness: asked by sweeps; None where no other process reads the blobs.
    """

    def __init__(self, directory: Path, stillness: Stillness | None = None) -> None:
        """Take the directory (made if need be) and clear what a crash left half written."""
        self._root = directory
        self._drafts = directory / "drafts"
        self._drafts.mkdir(parents=True, exist_ok=True)
        for draft in self._drafts.iterdir():
            draft.unlink()
        self._pool = ThreadPoolExecutor(_THREADS, "blobs")
        self._newcomers = Newcomers()
        self._stillness = stillness
        self._filings: set[asyncio.Event] = set()

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
            DamagedError: what lies there is not what was put. UnavailableError: the disk refuses.

        """
        return await self._hop(lambda: self._read(digest))

    async def read(self, digests: Sequence[str]) -> Sequence[bytes | None]:
        """See `BlobStore.read`."""
        shares = [digests[start : start + _SHARE] for start in range(0, len(digests), _SHARE)]
        read = await asyncio.gather(*(self._hop(partial(self._read_all, s)) for s in shares))
        return [blob for share in read for blob in share]

    async def absent(self, digests: Sequence[str]) -> Sequence[str]:
        """See `BlobPresence.absent`.

        Raises:
            UnavailableError: the disk refuses.

        """
        return await self._hop(lambda: [one for one in digests if not self._path(one).exists()])

    @property
    def shelves(self) -> Sequence[str]:
        """See `BlobSweep.shelves`."""
        return _SHELVES

    @contextmanager
    def filing(self) -> Iterator[None]:
        """See `BlobStore.filing`."""
        closed = asyncio.Event()
        self._filings.add(closed)
        try:
            yield
        finally:
            self._filings.remove(closed)
            closed.set()

    async def watch(self) -> None:
        """See `BlobSweep.watch`."""
        self._newcomers.hold()
        for closed in list(self._filings):
            await closed.wait()

    def rest(self) -> None:
        """See `BlobSweep.rest`."""
        self._newcomers.release()

    async def sweep(self, shelf: str, named: NameKeys) -> Swept:
        """See `BlobSweep.sweep`.

        Raises:
            UnavailableError: the disk refuses, or a backup is being taken.

        """
        return await self._hop(lambda: self._sweep(shelf, named))

    async def aclose(self) -> None:
        """Finish what was begun and end the threads."""
        await asyncio.to_thread(self._pool.shutdown)

    async def _hop(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work)
        except OSError as error:
            raise refusal("the blob store does not answer", error) from error

    def _write_all(self, blobs: Sequence[bytes]) -> list[str]:
        digests = [hashlib.sha256(blob).hexdigest() for blob in blobs]
        with self._newcomers.coming(digests):  # before looking: from now on no sweep takes any
            paths = [self._path(digest) for digest in digests]
            missing = {
                path: blob
                for path, blob in zip(paths, blobs, strict=True)
                if not _holds(path, blob)
            }
            touched = {
                directory for path, blob in missing.items() for directory in self._write(path, blob)
            }
            for directory in touched:
                sync(directory)
        reached(FaultPoint.AFTER_BLOBS)
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
        reached(FaultPoint.MID_BLOB)
        Path(draft.name).replace(path)
        return touched

    def _read_all(self, digests: Sequence[str]) -> list[bytes | None]:
        return [self._read_if_whole(digest) for digest in digests]

    def _read_if_whole(self, digest: str) -> bytes | None:
        try:
            return self._read(digest)
        except (NotFoundError, UnavailableError, OSError):
            return None

    def _read(self, digest: str) -> bytes:
        if _DIGEST.fullmatch(digest) is None:
            raise NotFoundError(f"there is no blob {digest!r}", {"digest": digest})
        place = f"{self._root}/{digest[:2]}/{digest[2:]}"  # a Path would cost half of the reading
        try:
            with FileIO(place) as file:
                blob = file.readall()
        except FileNotFoundError:
            raise NotFoundError(f"there is no blob {digest!r}", {"digest": digest}) from None
        if hashlib.sha256(blob).hexdigest() != digest:
            _log.error("blob %s is not what was put there", digest)
            raise DamagedError(f"blob {digest} is damaged on disk", {"digest": digest})
        return blob

    def _sweep(self, shelf: str, named: NameKeys) -> Swept:
        directory = self._root / shelf
        names = sorted(file.name for file in directory.iterdir()) if directory.is_dir() else []
        digests = [shelf + name for name in names if _DIGEST.fullmatch(shelf + name)]
        keys = np.array([key_of(digest) for digest in digests], np.uint64)
        near = np.searchsorted(named, keys), np.searchsorted(named, keys, "right")
        loose = [digests[place] for place in np.flatnonzero(near[0] == near[1])]
        swept = Swept()
        for start in range(0, len(loose), _GRASP):
            grasp = loose[start : start + _GRASP]
            with self._unread(), self._newcomers.absent(grasp) as leaving:
                for path in map(self._path, leaving):
                    swept += Swept(1, path.stat().st_size)
                    path.unlink()
                    reached(FaultPoint.MID_SWEEP)
        return swept

    def _unread(self) -> AbstractContextManager[None]:
        return nullcontext() if self._stillness is None else self._stillness.absent()

    def _path(self, digest: str) -> Path:
        return self._root / digest[:2] / digest[2:]


def _holds(path: Path, blob: bytes) -> bool:
    """Whether these bytes lie there; a damaged file is written again by whoever puts its bytes again."""
    try:
        return path.read_bytes() == blob
    except OSError:
        return False
