"""A directory that holds a backup: files that never change, a list of them, and a manifest that is written last.

Whatever is written gets its name when it is whole, and names are not used twice for different bytes. So a backup that is
interrupted leaves the one before as it was, and a copy made of links (`cp -al`) keeps what it had.
"""

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import Protocol, TextIO

from filelock import FileLock, Timeout

from contextfind.adapters.files.durable import sync
from contextfind.domain.errors import (
    DamagedError,
    FailedPreconditionError,
    NotFoundError,
    UnavailableError,
)

MANIFEST = "manifest.json"
LISTING = "files"  # the list of files lies in it, under its digest

OF_THE_DISK = "lost+found"  # lies in an empty directory where a disk is mounted

_LOCK = "backup.lock"  # beside it nothing is made that is not ours
_DRAFT = "unfinished"
_HALF = ".part"
_CHUNK = 1 << 20  # bytes read at once: large files do not fill the memory
_OWNER_ONLY = 0o700  # it holds every tenant's texts


class PieceOfBackup(Protocol):
    """What a line of the list says; see `transfer/manifest`."""

    @property
    def path(self) -> str:
        """Where it lies."""

    @property
    def size(self) -> int:
        """Its bytes."""

    @property
    def sha256(self) -> str:
        """Its digest."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A file as it lies in a backup; copied: it was not there before."""

    path: str
    size: int
    sha256: str
    copied: bool


class BackupDirectory:
    """The files of one backup. Its methods block; `take` may be called by several threads at once.

    Raises (each of them):
        UnavailableError: the disk refuses, on either side.

    """

    def __init__(self, root: Path) -> None:
        self._root = root

    @contextmanager
    def opened_to_write(self) -> Iterator[None]:
        """Make it if need be, and keep others out until the context ends.

        Raises:
            FailedPreconditionError: another backup goes there, or something else lies there.

        """
        with _translated(self._root):
            self._check_ours()
            self._root.mkdir(mode=_OWNER_ONLY, parents=True, exist_ok=True)
            lock = FileLock(self._root / _LOCK, timeout=0, thread_local=False)
            try:
                lock.acquire()
            except Timeout:
                raise FailedPreconditionError(
                    f"another backup is being written to {self._root}"
                ) from None
        try:
            yield
        finally:
            lock.release()

    @property
    def manifest(self) -> str | None:
        """The text of its manifest, None where no backup was ever finished."""
        return text_of(self._root / MANIFEST)

    @property
    def begun(self) -> bool:
        """Whether anybody ever began to write a backup there."""
        return (self._root / _LOCK).exists()

    @property
    def draft(self) -> Path:
        """Where a large file may be made before it gets its name."""
        return self._root / _DRAFT

    def place(self, path: str) -> Path:
        """Return where a file of it lies."""
        return self._root / path

    def put(self, text: str, directory: str, suffix: str) -> Taken:
        """Write a text; its name is its digest and a suffix."""
        with self.list_to_write() as stream:
            stream.write(text)
        return self.adopt(directory, suffix)

    def adopt(self, directory: str, suffix: str) -> Taken:
        """Give the draft its name: its digest and a suffix, in a directory."""
        with _translated(self._root):
            size, sha256 = _measured(self.draft)
            path = f"{directory}/{sha256}{suffix}"
            copied = not (self._root / path).exists()
            self._put(self.draft, path)
            return Taken(path, size, sha256, copied)

    def take(self, source: Path, path: str, sha256: str | None = None) -> Taken:
        """Copy a file.

        sha256: what it should be; then one that is there in the same length is left as it is, and a whole one that
        is there also where the source is lost or damaged since.

        Raises:
            NotFoundError: the source is not there. DamagedError: it has another digest.

        """
        target = self._root / path
        with _translated(source):
            if sha256 is not None and (size := _same_size(source, target)) is not None:
                return Taken(path, size, sha256, copied=False)
            try:
                return self._take(source, path, sha256)
            except (DamagedError, FileNotFoundError):
                if sha256 is not None and target.exists() and _measured(target)[1] == sha256:
                    return Taken(path, target.stat().st_size, sha256, copied=False)
                raise

    @contextmanager
    def list_to_write(self) -> Iterator[TextIO]:
        """Give the draft as a text file."""
        with _translated(self._root), self.draft.open("w", encoding="utf-8", newline="") as stream:
            yield stream

    def finish(self, manifest: str) -> None:
        """Make all of it durable, then put the manifest in the place of the one before."""
        with _translated(self._root):
            os.sync()  # a sync for each file would take minutes for a million of them
            half = self._root / (MANIFEST + _HALF)
            half.write_text(manifest, "utf-8")
            sync(half)
            half.replace(self._root / MANIFEST)
            sync(self._root)

    def sweep(self, listing: PieceOfBackup, path_of: Callable[[str], str]) -> None:
        """Remove what the list does not name; what cannot be removed stays for the next time.

        path_of: the path that a line of the list names; lines of one directory stand together.
        """
        kept = {self._root, self._root / LISTING}
        _keep_only(self._root / LISTING, {PurePosixPath(listing.path).name})
        with suppress(OSError):
            self.draft.unlink(missing_ok=True)
        with self.lines(listing) as lines:
            paths = (PurePosixPath(path_of(line)) for line in lines)
            for directory, files in groupby(paths, key=lambda path: path.parent):
                kept.add(self._root / directory)
                _keep_only(self._root / directory, {file.name for file in files})
        for walked, _, _ in os.walk(self._root):
            if Path(walked) not in kept:
                _keep_only(Path(walked), set())

    @contextmanager
    def lines(self, listing: PieceOfBackup) -> Iterator[Iterator[str]]:
        """Give the lines of the list."""
        with (
            _translated(self._root),
            (self._root / listing.path).open(encoding="utf-8", errors="replace", newline="\n") as f,
        ):
            yield iter(f)

    def fault(self, piece: PieceOfBackup) -> str:
        """Return what is wrong with a file: `is missing`, `is damaged`; empty when it is whole."""
        try:
            with _translated(self._root / piece.path):
                found = _measured(self._root / piece.path)
        except NotFoundError:
            return "is missing"
        return "" if found == (piece.size, piece.sha256) else "is damaged"

    def give(self, piece: PieceOfBackup, target: Path) -> None:
        """Copy a file out of it.

        Raises:
            NotFoundError: it is not there. DamagedError: it is not what was written.

        """
        with _translated(self._root / piece.path):
            target.parent.mkdir(parents=True, exist_ok=True)
            half = target.with_name(target.name + _HALF)
            if _copied(self._root / piece.path, half) != (piece.size, piece.sha256):
                half.unlink()
                raise DamagedError(f"{piece.path} is damaged")
            half.replace(target)

    def _take(self, source: Path, path: str, sha256: str | None) -> Taken:
        target = self._root / path
        half = target.with_name(target.name + _HALF)
        target.parent.mkdir(parents=True, exist_ok=True)
        size, found = _copied(source, half)
        if sha256 not in (None, found):
            half.unlink()
            raise DamagedError(f"{path} is damaged")
        half.replace(target)
        return Taken(path, size, found, copied=True)

    def _put(self, file: Path, path: str) -> None:
        target = self._root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        file.replace(target)

    def _check_ours(self) -> None:
        """Never mix with what somebody else has put there, or take it away."""
        if not self._root.exists():
            return
        names = {entry.name for entry in self._root.iterdir()} - {OF_THE_DISK}
        if names and not names & {MANIFEST, _LOCK}:
            raise FailedPreconditionError(
                f"{self._root} holds something that is no backup; name an empty directory, or one "
                "with a backup in it"
            )


def text_of(file: Path) -> str | None:
    """Return the text of a file, None when it is not there; bytes that are no text are question marks.

    Raises:
        UnavailableError: the disk refuses.

    """
    with _translated(file):
        try:
            return file.read_bytes().decode("utf-8", "replace")
        except FileNotFoundError:
            return None


def _measured(file: Path) -> tuple[int, str]:
    """Return size and digest of a file."""
    with file.open("rb") as stream:
        sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
        return os.fstat(stream.fileno()).st_size, sha256


def _same_size(source: Path, target: Path) -> int | None:
    """Return the size of two files, None when one is missing or they differ."""
    try:
        size = target.stat().st_size
        return size if source.stat().st_size == size else None
    except FileNotFoundError:
        return None


def _copied(source: Path, target: Path) -> tuple[int, str]:
    """Copy a file and return its size and digest as it was read."""
    digest, size = hashlib.sha256(), 0
    with source.open("rb") as incoming, target.open("wb") as outgoing:
        while chunk := incoming.read(_CHUNK):
            digest.update(chunk)
            outgoing.write(chunk)
            size += len(chunk)
    return size, digest.hexdigest()


def _keep_only(directory: Path, names: set[str]) -> None:
    with suppress(OSError):
        for entry in list(os.scandir(directory)):
            if entry.name not in names and entry.is_file(follow_symlinks=False):
                Path(entry.path).unlink()


@contextmanager
def _translated(place: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise NotFoundError(f"{error.filename or place} is not there") from error
    except OSError as error:
        told = error.strerror or str(error)
        raise UnavailableError(f"{error.filename or place}: {told}") from error
