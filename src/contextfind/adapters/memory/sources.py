"""Sources and uploads in dicts."""

import asyncio
import io
import unicodedata
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from contextfind.domain.errors import (
    ContextFindError,
    InvalidArgumentError,
    NotFoundError,
    ResourceExhaustedError,
)
from contextfind.domain.identity import Identity
from contextfind.ports import IdMaker
from contextfind.ports.sources import FileSource, SourceEntry


class MemorySource:
    """`FileSource` over a dict of path to bytes; an error in place of bytes is what reading gives."""

    def __init__(
        self,
        files: Mapping[str, bytes | ContextFindError],
        name: str = "docs",
        *,
        single: bool = False,
    ) -> None:
        self._files = {unicodedata.normalize("NFC", path): data for path, data in files.items()}
        self._name = name
        self._single = single

    @property
    def name(self) -> str:
        """See `FileSource.name`."""
        return self._name

    @property
    def single(self) -> bool:
        """See `FileSource.single`."""
        return self._single

    async def entries(self, prune: Callable[[str], bool]) -> Sequence[SourceEntry]:
        """See `FileSource.entries`."""
        return [
            SourceEntry(path, len(data) if isinstance(data, bytes) else 0)
            for path, data in sorted(self._files.items())
            if self._single or not any(map(prune, _directories(path)))
        ]

    async def read(self, paths: Sequence[str]) -> Sequence[bytes | ContextFindError]:
        """See `FileSource.read`."""
        return [
            self._files[path]
            if path in self._files
            else NotFoundError(f"{path!r} is not there (any more)", {"path": path})
            for path in paths
        ]


@dataclass(frozen=True, slots=True)
class _Upload:
    identity: Identity
    name: str
    data: bytes


class MemoryShelf:
    """`UploadShelf` without files. ids: fresh names. limit: bytes of one upload."""

    def __init__(self, ids: IdMaker, limit: int = 1_000_000) -> None:
        self._ids = ids
        self._limit = limit
        self._uploads: dict[str, _Upload] = {}

    async def put(self, identity: Identity, name: str, data: bytes | BinaryIO) -> str:
        """See `UploadShelf.put`."""
        whole = data if isinstance(data, bytes) else await asyncio.to_thread(data.read)
        if len(whole) > self._limit:
            raise ResourceExhaustedError(
                f"the upload is larger than {self._limit} bytes", {"max_bytes": self._limit}
            )
        upload = f"upload_{self._ids()}"
        self._uploads[upload] = _Upload(identity, name, whole)
        return upload

    async def source(self, identity: Identity, temp_file_id: str, name: str | None) -> FileSource:
        """See `UploadShelf.source`."""
        upload = self._uploads.get(temp_file_id)
        if upload is None or not _same_person(upload.identity, identity):
            raise NotFoundError(
                f"there is no upload {temp_file_id!r}", {"temp_file_id": temp_file_id}
            )
        shown = name or upload.name
        if upload.name.lower().endswith(".zip"):
            return MemorySource(_unpacked(upload.data), shown.removesuffix(".zip"))
        return MemorySource({shown: upload.data}, shown, single=True)

    async def drop(self, temp_file_id: str) -> None:
        """See `UploadShelf.drop`."""
        self._uploads.pop(temp_file_id, None)


def _directories(path: str) -> list[str]:
    segments = path.split("/")[:-1]
    return ["/".join(segments[: depth + 1]) for depth in range(len(segments))]


def _same_person(one: Identity, other: Identity) -> bool:
    return (one.account, one.user) == (other.account, other.user)


def _unpacked(data: bytes) -> dict[str, bytes]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            files = [info for info in archive.infolist() if not info.is_dir()]
            return {info.filename: archive.read(info) for info in files}
    except zipfile.BadZipFile as error:
        raise InvalidArgumentError(f"no readable zip: {error}") from error
