"""A segment as one file of arrays.

Texts are two arrays: all of them as UTF-8, and how many characters each has.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextfind.adapters.embedded.arrays import ArrayFile, map_arrays
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
_STEP = 50_000  # texts that are joined at once
_Arrays = Mapping[str, NDArray[Any]]


def pack_segment(segment: Segment, file: ArrayFile) -> None:
    """Write the segment into a new file; columns that were made in the file are there already.

    Raises:
        OSError: the disk does not take it.

    """
    _put_texts(file, "accounts", [group.account for group in segment.groups])
    _put_texts(file, "owners", [group.owner for group in segment.groups])
    bounds = [(*group.records, *group.folders) for group in segment.groups]
    file.put("groups", np.array(bounds, np.int64).reshape(-1, 4))
    _put_texts(file, "folders", segment.folders)
    _put_texts(file, "names", segment.names)
    columns = {name: getattr(segment, name) for name in _COLUMNS}
    for name, postings in (("words", segment.words), ("tags", segment.tags)):
        _put_texts(file, f"{name}.keys", postings.keys)
        for part in ("start", "members", "counts"):
            columns[f"{name}.{part}"] = getattr(postings, part)
    for name, values in columns.items():
        if name not in file:
            file.put(name, values)
    file.seal()


def unpack_segment(path: Path, made: Segment | None = None) -> Segment:
    """Return what `pack_segment` wrote, its columns still on disk until they are looked at.

    made: what was written, if it is at hand; its texts are shared instead of being read.

    Raises:
        OSError, ValueError, KeyError, TypeError: the file cannot be read, or is something else.

    """
    arrays = map_arrays(path)
    accounts, owners = _texts(arrays, "accounts"), _texts(arrays, "owners")
    groups = tuple(
        Group(account, owner, (bounds[0], bounds[1]), (bounds[2], bounds[3]))
        for account, owner, bounds in zip(accounts, owners, arrays["groups"].tolist(), strict=True)
    )
    return Segment(
        groups=groups,
        folders=_texts(arrays, "folders") if made is None else made.folders,
        names=_texts(arrays, "names") if made is None else made.names,
        words=_postings(arrays, "words", None if made is None else made.words),
        tags=_postings(arrays, "tags", None if made is None else made.tags),
        **{name: arrays[name] for name in _COLUMNS},
    )


def _put_texts(file: ArrayFile, name: str, texts: Sequence[str]) -> None:
    """Add texts, in steps so small that nobody waits for the interpreter."""
    joined, sizes = [np.zeros(0, np.uint8)], [np.zeros(0, np.int64)]
    for begin in range(0, len(texts), _STEP):
        piece = texts[begin : begin + _STEP]
        joined.append(np.frombuffer("".join(piece).encode("utf-8", "surrogatepass"), np.uint8))
        sizes.append(np.array([len(text) for text in piece], np.int64))
    file.put(name, np.concatenate(joined))
    file.put(f"{name}.sizes", np.concatenate(sizes))


def _texts(arrays: _Arrays, name: str) -> list[str]:
    joined = arrays[name].tobytes().decode("utf-8", "surrogatepass")
    ends = np.cumsum(arrays[f"{name}.sizes"]).tolist()
    return [joined[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]


def _postings(arrays: _Arrays, name: str, made: Postings | None) -> Postings:
    keys = _texts(arrays, f"{name}.keys") if made is None else made.keys
    return Postings(keys, *(arrays[f"{name}.{part}"] for part in ("start", "members", "counts")))
