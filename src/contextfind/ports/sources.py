"""Where files come from: a directory, a zip, one uploaded file."""

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import BinaryIO, Protocol

from contextfind.domain.errors import ContextFindError, NotFoundError, ResourceExhaustedError
from contextfind.domain.identity import Identity


@dataclass(frozen=True, slots=True)
class SourceEntry:
    """A file in a source: its path (relative, `/` between segments, NFC) and its size in bytes."""

    path: str
    size: int


class FileSource(Protocol):
    """A tree of files to be read once."""

    @property
    def name(self) -> str:
        """What a person would call it: the directory's or the file's name."""
        ...

    @property
    def single(self) -> bool:
        """Whether it is one file rather than a tree (its only entry is then `name`)."""
        ...

    async def entries(self, prune: Callable[[str], bool]) -> Sequence[SourceEntry]:
        """Return every regular file, sorted by path; links and devices are left out.

        prune: is given the relative path of a directory; true leaves out all of it.

        Raises:
            InvalidArgumentError: the source is no readable tree (broken zip, too large, evil names).
            NotFoundError: it is not there (any more).

        """
        ...

    async def read(self, paths: Sequence[str]) -> Sequence[bytes | ContextFindError]:
        """Return the bytes of each path in order; what cannot be read gives its error instead."""
        ...


class UploadShelf(Protocol):
    """Uploaded files that wait for the ingest that names them."""

    async def put(self, identity: Identity, name: str, data: bytes | BinaryIO) -> str:
        """Keep the bytes and return a `temp_file_id`; only the same identity may use it.

        data: a file is read piece by piece from where it stands, in another thread.

        Raises:
            ResourceExhaustedError: larger than the limit.

        """
        ...

    async def source(self, identity: Identity, temp_file_id: str, name: str | None) -> FileSource:
        """Return an upload as a source: a zip as the tree inside it, anything else as one file.

        name: what the source is to be called; None = the name it was uploaded with.

        Raises:
            NotFoundError: no such upload of this identity.

        """
        ...

    async def drop(self, temp_file_id: str) -> None:
        """Forget an upload; an unknown one is fine."""
        ...


class ServerPaths(Protocol):
    """Directories of the server's own machine that may be ingested."""

    def source(self, path: str) -> FileSource:
        """Return a file or directory of the server as a source.

        Raises:
            PermissionDeniedError: not below an allowed root; the message says how files are uploaded.
            NotFoundError: nothing there.

        """
        ...


def last_segment(name: str) -> str:
    """Return what stands after the last slash of either kind, NFC."""
    return unicodedata.normalize("NFC", name.replace("\\", "/").rstrip("/").rpartition("/")[2])


def too_large(limit: int) -> ResourceExhaustedError:
    """Return the refusal of an upload of more than `limit` bytes."""
    return ResourceExhaustedError(
        f"the upload is larger than {limit} bytes (server.max_upload_bytes)", {"max_bytes": limit}
    )


def unknown_upload(temp_file_id: str) -> NotFoundError:
    """Return the refusal of an id under which the caller has uploaded nothing."""
    return NotFoundError(
        f"there is no upload {temp_file_id!r}; it may have expired: send the file again",
        {"temp_file_id": temp_file_id},
    )
