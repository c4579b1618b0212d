"""Uploads that wait for the ingest that names them."""

import asyncio
import io
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import BinaryIO, TypeVar

from contextfind.adapters.files.refusals import refusal
from contextfind.adapters.files.uploaded import uploaded
from contextfind.domain.identity import Identity
from contextfind.ports import Clock, IdMaker
from contextfind.ports.sources import FileSource, last_segment, too_large, unknown_upload

T = TypeVar("T")

_ID = re.compile(r"upload_[A-Za-z0-9_-]+")
_PIECE = 1024 * 1024  # bytes in memory at once, however large an upload is
_SIDECAR = ".json"
_HALF = ".part"  # a sidecar that is still being written


@dataclass(frozen=True, slots=True)
class _Note:
    """What a sidecar says: whose an upload is, what it was called, and since when it is here."""

    account: str
    user: str
    name: str
    created_at: datetime


class LocalShelf:
    """`UploadShelf` in a directory: the bytes under their id, beside them whose they are.

    The sidecar appears last and whole, so an upload is there with all of its bytes or not at all;
    bytes without a readable sidecar are no upload, and the sweep takes them by their own age.

    limit: bytes of one upload. ids: fresh random names, letters, digits, `_` and `-` only.
    """

    def __init__(self, directory: Path, ids: IdMaker, clock: Clock, limit: int) -> None:
        self._root = directory
        self._root.mkdir(parents=True, exist_ok=True)
        self._ids = ids
        self._clock = clock
        self._limit = limit
        self._pool = ThreadPoolExecutor(1, "uploads")

    async def put(self, identity: Identity, name: str, data: bytes | BinaryIO) -> str:
        """See `UploadShelf.put`."""
        upload = f"upload_{self._ids()}"
        note = {
            "account": identity.account,
            "user": identity.user,
            "name": last_segment(name) or upload,
            "created_at": self._clock().isoformat(),
        }
        stream = io.BytesIO(data) if isinstance(data, bytes) else data
        await self._hop(lambda: self._write(upload, json.dumps(note), stream))
        return upload

    async def source(self, identity: Identity, temp_file_id: str, name: str | None) -> FileSource:
        """See `UploadShelf.source`."""
        return await self._hop(lambda: self._source(identity, temp_file_id, name))

    async def drop(self, temp_file_id: str) -> None:
        """See `UploadShelf.drop`."""
        if _ID.fullmatch(temp_file_id):
            await self._hop(lambda: self._unlink(temp_file_id))

    async def sweep(self, age: timedelta) -> int:
        """Drop the uploads older than `age` and return how many they were."""
        return await self._hop(lambda: self._sweep(self._clock() - age))

    async def aclose(self) -> None:
        """Finish what was begun and end the thread."""
        await asyncio.to_thread(self._pool.shutdown)

    async def _hop(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work)
        except OSError as error:
            raise refusal("uploads cannot be kept", error) from error

    def _write(self, upload: str, note: str, stream: BinaryIO) -> None:
        file, sidecar = self._root / upload, self._root / (upload + _SIDECAR)
        half = sidecar.with_name(sidecar.name + _HALF)
        try:
            _write_durably(file, self._pieces(stream))
            _write_durably(half, [note.encode()])
            half.replace(sidecar)
        except BaseException:  # too large, or its sender has left
            for part in (half, sidecar, file):  # a full disk gets its room back at once
                with suppress(OSError):
                    part.unlink()
            raise

    def _pieces(self, stream: BinaryIO) -> Iterator[bytes]:
        """Give a file a piece at a time, up to the limit."""
        size = 0
        while piece := stream.read(_PIECE):
            size += len(piece)
            if size > self._limit:
                raise too_large(self._limit)
            yield piece

    def _source(self, identity: Identity, upload: str, name: str | None) -> FileSource:
        note = self._note(upload) if _ID.fullmatch(upload) else None
        if note is None or (note.account, note.user) != (identity.account, identity.user):
            raise unknown_upload(upload)
        return uploaded(self._root / upload, note.name, name or note.name)

    def _note(self, upload: str) -> _Note | None:
        try:
            return _parsed((self._root / (upload + _SIDECAR)).read_bytes())
        except FileNotFoundError:
            return None

    def _unlink(self, upload: str) -> None:
        for name in (upload + _SIDECAR, upload):
            (self._root / name).unlink(missing_ok=True)

    def _sweep(self, before: datetime) -> int:
        """Bytes without a readable sidecar were left by a crash and have the age of their file."""
        old = [
            file.name
            for file in self._root.iterdir()
            if file.suffix != _SIDECAR and self._born(file) < before
        ]
        for upload in old:
            self._unlink(upload)
        return len(old)

    def _born(self, file: Path) -> datetime:
        note = self._note(file.name)
        if note is not None:
            return note.created_at
        return datetime.fromtimestamp(file.stat().st_mtime, self._clock().tzinfo)


def _write_durably(path: Path, pieces: Iterable[bytes]) -> None:
    with path.open("wb") as stream:
        for piece in pieces:
            stream.write(piece)
        stream.flush()
        os.fsync(stream.fileno())


def _parsed(sidecar: bytes) -> _Note | None:
    """Return what a sidecar says, None for an empty or a broken one."""
    try:
        note = json.loads(sidecar)
        born = datetime.fromisoformat(note["created_at"])
        texts = note["account"], note["user"], note["name"]
    except (ValueError, KeyError, TypeError):
        return None
    if born.tzinfo is None or not all(isinstance(text, str) for text in texts):
        return None
    return _Note(*texts, born)
