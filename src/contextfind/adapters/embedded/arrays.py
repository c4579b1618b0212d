"""A file of named arrays, laid out as they lie in memory, so that reading it is mapping it.

Each array begins at a multiple of 64 bytes. After the last one comes a table (JSON) of where they are,
then the length of the table and a mark. Nothing in it is ever pickled or run.
"""

import json
import mmap
import os
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from contextfind.adapters.embedded.pages import let_go

_MARK = b"arrays 1"
_TAIL = 16  # bytes: length of the table, and the mark
_ALIGNED = 64  # a cache line, and as much as any instruction of numpy asks for


class Room(Protocol):
    """Where large arrays are made."""

    def empty(self, name: str, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """Return an array to be filled."""


class Heap:
    """Room in this process's own memory."""

    def empty(self, name: str, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """Return an array to be filled; its name says nothing here."""
        del name
        return np.empty(shape, dtype)


class ArrayFile:
    """A new file, open for writing; it can be read when it was sealed.

    Arrays that are filled in place are pages of the file: the system may write them out whenever it
    needs the memory for something else.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("w+b")
        self._end = 0
        self._filled: list[mmap.mmap] = []
        self._table: dict[str, tuple[str, tuple[int, ...], int]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._file.close()

    def __contains__(self, name: str) -> bool:
        return name in self._table

    def put(self, name: str, values: NDArray[Any]) -> None:
        """Add an array.

        Raises:
            OSError: the disk does not take it.

        """
        held = np.ascontiguousarray(values)
        self._file.seek(self._place(name, held.dtype, held.shape))
        self._file.write(held.data)

    def empty(self, name: str, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """Add an array to be filled, in the file itself; those before it are hardly looked at any more.

        Raises:
            OSError: the disk has no room for it; asked for now, since later it would end the process.

        """
        kind = np.dtype(dtype)
        offset = self._place(name, kind, shape)
        size = self._end - offset
        if size == 0:
            return np.empty(shape, kind)
        self._file.flush()
        self._let_go()
        _reserve(self._file.fileno(), offset, size)
        skipped = offset % mmap.ALLOCATIONGRANULARITY
        pages = mmap.mmap(self._file.fileno(), size + skipped, offset=offset - skipped)
        self._filled.append(pages)
        return np.frombuffer(pages, kind, size // kind.itemsize, skipped).reshape(shape)

    def seal(self) -> None:
        """Write the table; what was filled in place is in the file by then."""
        table = json.dumps(self._table).encode()
        self._file.seek(self._end)
        self._file.write(table + len(table).to_bytes(_TAIL - len(_MARK), "little") + _MARK)
        self._file.flush()
        self._let_go()

    def _let_go(self) -> None:
        for pages in self._filled:
            let_go(pages)

    def _place(self, name: str, kind: np.dtype[Any], shape: tuple[int, ...]) -> int:
        offset = -(-self._end // _ALIGNED) * _ALIGNED
        self._table[name] = (kind.str, shape, offset)
        self._end = offset + int(np.prod(shape, dtype=np.int64)) * kind.itemsize
        return offset


def _reserve(handle: int, offset: int, size: int) -> None:
    if sys.platform == "linux":
        os.posix_fallocate(handle, offset, size)
    else:
        os.truncate(handle, offset + size)


def map_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file, read-only; their pages are read when they are first looked at.

    Raises:
        OSError, ValueError, KeyError, TypeError: the file cannot be read, or is something else.

    """
    with path.open("rb") as file:
        pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    begin = len(pages) - _TAIL
    if begin < 0 or pages[-len(_MARK) :] != _MARK:
        raise ValueError(f"{path.name} is no file of arrays")
    size = int.from_bytes(pages[begin : begin + _TAIL - len(_MARK)], "little")
    table = json.loads(pages[max(begin - size, 0) : begin])
    return {name: _mapped(pages, *entry) for name, entry in table.items()}


def _mapped(pages: mmap.mmap, kind: str, shape: list[int], offset: int) -> NDArray[Any]:
    count = int(np.prod(shape, dtype=np.int64))
    if count == 0:
        return np.empty(shape, np.dtype(kind))
    return np.frombuffer(pages, np.dtype(kind), count, offset).reshape(shape)
