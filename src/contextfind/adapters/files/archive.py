"""A zip as the tree inside it. Nothing is unpacked to disk."""

import asyncio
import bz2
import errno
import io
import lzma
import re
import stat
import struct
import sys
import weakref
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipInfo

from contextfind.adapters.files.names import readable_name
from contextfind.domain.errors import (
    ContextFindError,
    InvalidArgumentError,
    NotFoundError,
    UnavailableError,
)
from contextfind.ports.sources import SourceEntry, last_segment

_MIB = 1024 * 1024
_UTF8_FLAG, _ENCRYPTED_FLAG = 0x800, 0x1
_DRIVE = re.compile(r"[A-Za-z]:")
# Bytes of the list of entries, which takes six times that in memory: 20,000 entries with long names.
_LONGEST_LIST = 16 * _MIB
# What zipfile and zlib raise on broken archives.
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    ValueError,
    OverflowError,
)
# LZMA in a zip: a version and a length (4 bytes), the settings (5), the data. A file of its own: the
# settings, the size (8 bytes, all ones: unknown), the data.
_LZMA_VERSION, _LZMA_SETTINGS, _LZMA_SIZE = 4, 5, b"\xff" * 8
_LZMA_MEMORY = 128 * 1024 * 1024  # twice what the strongest usual setting needs


@dataclass(frozen=True, slots=True)
class ZipLimits:
    """What an honest archive of documents stays below.

    files and total (bytes) bound our work; ratio, asked of entries above `small` bytes (tiny ones
    compress well by nature: 1 MiB of spaces is 1 kB), and depth only bombs exceed.
    """

    files: int = 20_000
    total: int = 1024 * _MIB
    ratio: int = 200
    small: int = _MIB
    depth: int = 64


_LIMITS = ZipLimits()


class ZipSource:
    """`FileSource` over a zip file; directories in it count only as part of a path.

    name: without `.zip`. A single top folder is kept as it is.
    """

    single = False

    def __init__(self, file: Path, name: str | None = None, limits: ZipLimits = _LIMITS) -> None:
        self._file = file
        shown = last_segment(file.name if name is None else name)
        self._name = shown[:-4] if shown.lower().endswith(".zip") and len(shown) > 4 else shown  # noqa: PLR2004 - the length of .zip
        self._limits = limits
        self._archive: zipfile.ZipFile | None = None
        self._items: dict[str, ZipInfo] | None = None

    @property
    def name(self) -> str:
        """See `FileSource.name`."""
        return self._name

    async def entries(self, prune: Callable[[str], bool]) -> Sequence[SourceEntry]:
        """See `FileSource.entries`; names, links, sizes and encryption are judged before pruning."""
        return await asyncio.to_thread(self._entries, prune)

    async def read(self, paths: Sequence[str]) -> Sequence[bytes | ContextFindError]:
        """See `FileSource.read`; a damaged entry is its own error, not the archive's."""
        return await asyncio.to_thread(self._read, paths)

    def _entries(self, prune: Callable[[str], bool]) -> list[SourceEntry]:
        items = self._known(self._opened())
        verdicts: dict[str, bool] = {"": False}

        def pruned(directory: str) -> bool:
            if directory not in verdicts:
                above = directory.rpartition("/")[0]
                verdicts[directory] = pruned(above) or prune(directory)
            return verdicts[directory]

        kept = (path for path in sorted(items) if not pruned(path.rpartition("/")[0]))
        return [SourceEntry(path, items[path].file_size) for path in kept]

    def _read(self, paths: Sequence[str]) -> list[bytes | ContextFindError]:
        archive = self._opened()
        items = self._known(archive)
        return [_content(archive, items.get(path), path) for path in paths]

    def _opened(self) -> zipfile.ZipFile:
        """Return the archive, opened once: its list of entries costs as much as all their contents.

        It is closed with the source.
        """
        if self._archive is None:
            self._archive = self._open()
        return self._archive

    def _open(self) -> zipfile.ZipFile:
        try:
            file = _Bytes(self._file)
            weakref.finalize(self, file.close)
            archive = zipfile.ZipFile(file)
        except FileNotFoundError:
            raise NotFoundError(f"the archive {self._name!r} is not there (any more)") from None
        except (*_BROKEN, NotImplementedError) as error:
            if isinstance(error, OSError) and error.errno != errno.EINVAL:
                raise UnavailableError(
                    f"the archive {self._name!r} cannot be read: {error.strerror}"
                ) from error
            raise InvalidArgumentError(f"{self._name!r} is no readable zip: {error}") from error
        file.most = sys.maxsize  # entries are read in pieces, and have bounds of their own
        return archive

    def _known(self, archive: zipfile.ZipFile) -> dict[str, ZipInfo]:
        if self._items is None:
            self._items = _index(archive.infolist(), self._limits)
        return self._items


class _Bytes(io.FileIO):
    """A zip on disk, whose list of entries is bounded: zipfile reads it at once, and believes its size."""

    most = _LONGEST_LIST

    def read(self, size: int | None = -1) -> bytes:
        """Return so many bytes.

        Raises:
            InvalidArgumentError: they are more than `most`.

        """
        if size is not None and size > self.most:
            raise InvalidArgumentError(
                f"the zip's list of entries has {size} bytes, {self.most} are allowed"
            )
        return super().read(size) or b""


def _index(infos: Sequence[ZipInfo], limits: ZipLimits) -> dict[str, ZipInfo]:
    """Return the files by path, the last one of a name; judge the archive as a whole.

    Raises:
        InvalidArgumentError: an evil or encrypted entry, or a limit is exceeded.

    """
    if len(infos) > limits.files:
        raise InvalidArgumentError(
            f"the zip holds {len(infos)} entries, {limits.files} are allowed"
        )
    items: dict[str, ZipInfo] = {}
    for info in infos:
        path = _path(info, limits.depth)
        _check_kind(info, path)
        if not _raw_name(info).endswith(("/", "\\")):
            _check_ratio(info, path, limits)
            items[path] = info
    total = sum(info.file_size for info in items.values())
    if total > limits.total:
        raise InvalidArgumentError(
            f"the zip would unpack to {total} bytes, {limits.total} are allowed"
        )
    for path in items:
        if any(above in items for above in _above(path)):
            raise InvalidArgumentError(f"the zip holds {path!r} below a file", {"entry": path})
    return items


def _raw_name(info: ZipInfo) -> str:
    if info.flag_bits & _UTF8_FLAG:
        return info.orig_filename
    return readable_name(info.orig_filename.encode("cp437"))  # undoes what zipfile assumed


def _path(info: ZipInfo, depth: int) -> str:
    """Return the relative path of an entry.

    Raises:
        InvalidArgumentError: it leads out of the tree, is absolute, or too deep.

    """
    name = readable_name(_raw_name(info).encode()).replace("\\", "/")
    segments = [segment for segment in name.split("/") if segment not in ("", ".")]
    evil = name.startswith("/") or _DRIVE.match(name) or ".." in segments or "\0" in name
    if evil or not segments or len(segments) > depth:
        raise InvalidArgumentError(
            f"the zip entry {name!r} has a path that is not allowed (absolute, leading out of the "
            f"tree, or deeper than {depth})",
            {"entry": name},
        )
    return "/".join(segments)


def _check_kind(info: ZipInfo, path: str) -> None:
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise InvalidArgumentError(f"the zip entry {path!r} is a link or a device", {"entry": path})
    if info.flag_bits & _ENCRYPTED_FLAG:
        raise InvalidArgumentError(f"the zip entry {path!r} is encrypted", {"entry": path})


def _check_ratio(info: ZipInfo, path: str, limits: ZipLimits) -> None:
    large = info.file_size > limits.small
    if large and info.file_size > limits.ratio * max(info.compress_size, 1):
        raise InvalidArgumentError(
            f"the zip entry {path!r} unpacks to more than {limits.ratio} times its size",
            {"entry": path},
        )


def _above(path: str) -> Iterator[str]:
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def _content(archive: zipfile.ZipFile, info: ZipInfo | None, path: str) -> bytes | ContextFindError:
    if info is None:
        return NotFoundError(f"{path!r} is not in the zip", {"path": path})
    try:
        body = _unpacked(archive, info)
    except (*_BROKEN, lzma.LZMAError) as error:
        return InvalidArgumentError(f"{path!r} is damaged in the zip: {error}", {"path": path})
    except (NotImplementedError, MemoryError) as error:
        return InvalidArgumentError(f"{path!r} cannot be unpacked: {error}", {"path": path})
    if len(body) != info.file_size or zlib.crc32(body) != info.CRC:
        return InvalidArgumentError(
            f"{path!r} is damaged in the zip: it is not what the list of entries says",
            {"path": path},
        )
    return body


def _unpacked(archive: zipfile.ZipFile, info: ZipInfo) -> bytes:
    """Return what is in an entry, one byte more than its size at most.

    `ZipFile.read` unpacks everything first and cuts it then, however much it is.
    """
    end = info.file_size + 1
    match info.compress_type:
        case zipfile.ZIP_BZIP2:
            return bz2.BZ2Decompressor().decompress(_packed(archive, info), end)
        case zipfile.ZIP_LZMA:
            packed = _packed(archive, info)
            head = packed[_LZMA_VERSION : _LZMA_VERSION + _LZMA_SETTINGS]
            alone = head + _LZMA_SIZE + packed[_LZMA_VERSION + _LZMA_SETTINGS :]
            return lzma.LZMADecompressor(lzma.FORMAT_ALONE, _LZMA_MEMORY).decompress(alone, end)
        case _:
            with archive.open(info) as stream:
                return stream.read(end)


def _packed(archive: zipfile.ZipFile, info: ZipInfo) -> bytes:
    """Return the bytes of an entry as they lie in the archive."""
    stored = copy(info)
    stored.compress_type, stored.file_size = zipfile.ZIP_STORED, info.compress_size
    del stored.CRC  # it is that of the unpacked bytes
    with archive.open(stored) as stream:
        return stream.read()
