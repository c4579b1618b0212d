"""A directory, or one file, of this machine as a source."""

import asyncio
import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path

from contextfind.adapters.files.names import readable_name
from contextfind.domain.errors import (
    ContextFindError,
    InvalidArgumentError,
    NotFoundError,
    PermissionDeniedError,
    UnavailableError,
)
from contextfind.ports.sources import SourceEntry, last_segment


class DirectorySource:
    """`FileSource` over a directory. Links are never followed, so nothing outside is ever read.

    A source is read once and by one reader: its calls use the loop's own threads, one hop each.
    """

    single = False

    def __init__(self, root: Path, name: str | None = None) -> None:
        self._root = root.resolve()
        self._name = last_segment(root.resolve().name if name is None else name)
        self._places: dict[str, Path] = {}

    @property
    def name(self) -> str:
        """See `FileSource.name`."""
        return self._name

    async def entries(self, prune: Callable[[str], bool]) -> Sequence[SourceEntry]:
        """See `FileSource.entries`; what may not be listed or looked at refuses the whole.

        A file that vanishes meanwhile is left out.
        """
        return await asyncio.to_thread(self._walk, prune)

    async def read(self, paths: Sequence[str]) -> Sequence[bytes | ContextFindError]:
        """See `FileSource.read`."""
        return await asyncio.to_thread(lambda: [self._read(path) for path in paths])

    def _walk(self, prune: Callable[[str], bool]) -> list[SourceEntry]:
        found: dict[str, SourceEntry] = {}
        doors = [("", self._root)]
        while doors:
            prefix, directory = doors.pop()
            for item in self._listed(directory):
                path = prefix + readable_name(os.fsencode(item.name))
                if _is_directory(item):
                    if not prune(path):
                        doors.append((f"{path}/", Path(item.path)))
                elif path not in found and (size := _size(item, path)) is not None:
                    self._places[path] = Path(item.path)
                    found[path] = SourceEntry(path, size)
        return [found[path] for path in sorted(found)]

    def _listed(self, directory: Path) -> list[os.DirEntry[str]]:
        """Return what stands in a directory by name, so that every walk is the same."""
        shown = directory.relative_to(self._root).as_posix()
        try:
            with os.scandir(directory) as items:
                return sorted(items, key=lambda item: item.name)
        except FileNotFoundError:
            if directory == self._root:
                raise NotFoundError(f"the directory {self._name!r} is not there") from None
            return []
        except OSError as error:
            raise InvalidArgumentError(
                f"the directory {shown!r} cannot be listed ({error.strerror}); make it readable "
                "or leave it out with ignore_dirs",
                {"path": shown},
            ) from error

    def _read(self, path: str) -> bytes | ContextFindError:
        place = self._places.get(path, self._root / path)
        if not place.parent.resolve().is_relative_to(self._root):
            return _vanished(path)
        return read_regular(place, path)


class SingleFileSource:
    """`FileSource` over one file; its only entry is called `name`."""

    single = True

    def __init__(self, file: Path, name: str | None = None) -> None:
        self._file = file
        self._name = last_segment(file.name if name is None else name) or file.name

    @property
    def name(self) -> str:
        """See `FileSource.name`."""
        return self._name

    async def entries(self, prune: Callable[[str], bool]) -> Sequence[SourceEntry]:
        """See `FileSource.entries`; there is no directory to prune."""
        del prune
        try:
            size = (await asyncio.to_thread(self._file.stat)).st_size
        except OSError:
            raise NotFoundError(f"the file {self._name!r} is not there") from None
        return [SourceEntry(self._name, size)]

    async def read(self, paths: Sequence[str]) -> Sequence[bytes | ContextFindError]:
        """See `FileSource.read`."""
        return await asyncio.to_thread(
            lambda: [
                read_regular(self._file, path) if path == self._name else _vanished(path)
                for path in paths
            ]
        )


def _is_directory(item: os.DirEntry[str]) -> bool:
    try:
        return item.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _size(item: os.DirEntry[str], path: str) -> int | None:
    """Return the bytes of a regular file; None for anything else and for what has vanished.

    Raises:
        InvalidArgumentError: it is there and may not be looked at; leaving it out would let a tree
            that is added again forget it.

    """
    try:
        status = item.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InvalidArgumentError(
            f"{path!r} cannot be looked at ({error.strerror}); make its directory accessible "
            "or leave it out with ignore_dirs",
            {"path": path},
        ) from error
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def read_regular(file: Path, shown: str) -> bytes | ContextFindError:
    """Return the bytes of a regular file that is no link, else the error that names it `shown`."""
    try:
        # NONBLOCK: opening a pipe that took the file's place must not wait for its writer.
        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as stream:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                return _vanished(shown)
            return stream.read()
    except PermissionError:
        return PermissionDeniedError(f"{shown!r} cannot be read by the server", {"path": shown})
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return _vanished(shown)
    except OSError as error:
        if file.is_symlink():
            return _vanished(shown)
        return UnavailableError(f"{shown!r} cannot be read: {error.strerror}", {"path": shown})


def _vanished(shown: str) -> NotFoundError:
    return NotFoundError(f"{shown!r} is not there (any more)", {"path": shown})
