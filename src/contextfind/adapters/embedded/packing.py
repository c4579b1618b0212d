"""A segment as one file: its arrays one after the other in numpy's own format, never pickled.

Texts are two arrays: all of them as UTF-8, and how many characters each has.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from contextfind.adapters.embedded.postings import Postings
from contextfind.adapters.embedded.segment import Group, Segment

_COLUMNS = (
    "folder_start",
    "name_of",
    "ids",
    "level",
    "context_type",
    "created",
    "updated",
    "row_start",
    "vector_start",
    "ordinal",
    "length",
    "pair_start",
    "pairs",
    "vectors",
)


def pack_segment(segment: Segment, path: Path) -> None:
    """Write the segment to a new file.

    Raises:
        OSError: the disk does not take it.

    """
    with path.open("wb") as file:
        _write_texts(file, [group.account for group in segment.groups])
        _write_texts(file, [group.owner for group in segment.groups])
        bounds = [(*group.records, *group.folders) for group in segment.groups]
        _write(file, np.array(bounds, np.int64).reshape(-1, 4))
        _write_texts(file, segment.folders)
        _write_texts(file, segment.names)
        for name in _COLUMNS:
            _write(file, getattr(segment, name))
        for postings in (segment.words, segment.tags):
            _write_texts(file, postings.keys)
            _write(file, postings.start)
            _write(file, postings.members)
            _write(file, postings.counts)


def unpack_segment(path: Path) -> Segment:
    """Return what `pack_segment` wrote.

    Raises:
        OSError, ValueError: the file cannot be read, or is something else.

    """
    with path.open("rb") as file:
        accounts, owners = _read_texts(file), _read_texts(file)
        groups = tuple(
            Group(account, owner, (bounds[0], bounds[1]), (bounds[2], bounds[3]))
            for account, owner, bounds in zip(accounts, owners, _read(file).tolist(), strict=True)
        )
        folders, names = _read_texts(file), _read_texts(file)
        columns = {name: _read(file) for name in _COLUMNS}
        words, tags = _read_postings(file), _read_postings(file)
    return Segment(groups=groups, folders=folders, names=names, words=words, tags=tags, **columns)


def _write(file: BinaryIO, values: NDArray[Any]) -> None:
    npy.write_array(file, np.ascontiguousarray(values), allow_pickle=False)


def _read(file: BinaryIO) -> NDArray[Any]:
    values: NDArray[Any] = npy.read_array(file, allow_pickle=False)
    return values


def _write_texts(file: BinaryIO, texts: Sequence[str]) -> None:
    joined = "".join(texts).encode("utf-8", "surrogatepass")
    _write(file, np.frombuffer(joined, np.uint8))
    _write(file, np.array([len(text) for text in texts], np.int64))


def _read_texts(file: BinaryIO) -> list[str]:
    joined = _read(file).tobytes().decode("utf-8", "surrogatepass")
    ends = np.cumsum(_read(file)).tolist()
    return [joined[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]


def _read_postings(file: BinaryIO) -> Postings:
    return Postings(_read_texts(file), _read(file), _read(file), _read(file))
