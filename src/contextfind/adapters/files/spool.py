"""Copies of uploads that are kept elsewhere, for the process that reads them."""

import asyncio
import re
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from filelock import FileLock, Timeout

from contextfind.adapters.files.refusals import refusal
from contextfind.adapters.files.uploaded import uploaded
from contextfind.ports.sources import FileSource

T = TypeVar("T")

_ID = re.compile(r"upload_[A-Za-z0-9_-]+")
_OWN = (
    "spool-"  # and some letters, and beside it a lock that is held for as long as the process lives
)
_LOCK = ".lock"
_HALF = ".part"  # a copy that is still being written


class Spool:
    """Copies in a directory that this process makes for itself; nothing in it has to outlive it.

    Every method raises UnavailableError when the disk refuses.
    """

    def __init__(self, directory: Path) -> None:
        """Make a place of its own below the directory, and remove those of processes that are gone."""
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._root = Path(tempfile.mkdtemp(prefix=_OWN, dir=directory))
        self._lock = FileLock(f"{self._root}{_LOCK}", thread_local=False)
        self._lock.acquire()
        for lock in directory.glob(f"{_OWN}*{_LOCK}"):
            if lock != Path(self._lock.lock_file):
                _clear(lock)

    async def held(self) -> Sequence[str]:
        """Return the ids of the uploads that have a copy here."""
        return await _hop(lambda: [file.name for file in self._root.iterdir() if _is_id(file.name)])

    async def source(
        self, upload: str, uploaded_as: str, shown: str, pieces: AsyncIterator[bytes]
    ) -> FileSource:
        """Return an upload as a source that is called `shown`.

        uploaded_as: the name that it was sent with. pieces: its bytes, asked for when there is no copy yet.
        """
        copy = self._root / upload
        if not await _hop(copy.exists):
            await self._write(copy, pieces)
        return await _hop(partial(uploaded, copy, uploaded_as, shown))

    async def forget(self, uploads: Sequence[str]) -> None:
        """Remove copies; unknown ones are fine."""
        for upload in filter(_is_id, uploads):
            await _hop(partial((self._root / upload).unlink, missing_ok=True))

    async def aclose(self) -> None:
        """Remove all of it."""
        await _hop(partial(_remove, self._root, self._lock))

    async def _write(self, copy: Path, pieces: AsyncIterator[bytes]) -> None:
        """Write a copy, which is there whole or not at all; two that want the same one write it twice."""
        half = copy.with_name(f"{copy.name}.{id(pieces)}{_HALF}")
        try:
            stream = await _hop(lambda: half.open("wb"))
            try:
                async for piece in pieces:
                    await _hop(partial(stream.write, piece))
            finally:
                await _hop(stream.close)
            await _hop(partial(half.replace, copy))
        finally:
            await _hop(partial(half.unlink, missing_ok=True))


def _is_id(name: str) -> bool:
    return _ID.fullmatch(name) is not None


def _clear(lock_file: Path) -> None:
    """Remove the copies of a process, unless it lives."""
    lock = FileLock(lock_file, timeout=0, thread_local=False)
    try:
        lock.acquire()
    except (Timeout, OSError):
        return
    _remove(lock_file.with_name(lock_file.name.removesuffix(_LOCK)), lock)


def _remove(root: Path, lock: FileLock) -> None:
    shutil.rmtree(root, ignore_errors=True)
    Path(lock.lock_file).unlink(missing_ok=True)
    lock.release()


async def _hop(work: Callable[[], T]) -> T:
    try:
        return await asyncio.to_thread(work)
    except OSError as error:
        raise refusal("an upload cannot be read", error) from error
