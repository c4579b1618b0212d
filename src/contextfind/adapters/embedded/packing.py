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


def unpack_segment(path: Path) -> Segment:
    """Return what `pack_segment` wrote, its columns still on disk until they are looked at.

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
        folders=_texts(arrays, "folders"),
        names=_texts(arrays, "names"),
        words=_postings(arrays, "words"),
        tags=_postings(arrays, "tags"),
        **{name: arrays[name] for name in _COLUMNS},
    )


def _put_texts(file: ArrayFile, name: str, texts: Sequence[str]) -> None:
    joined = "".join(texts).encode("utf-8", "surrogatepass")
    file.put(name, np.frombuffer(joined, np.uint8))
    file.put(f"{name}.sizes", np.array([len(text) for text in texts], np.int64))


def _texts(arrays: _Arrays, name: str) -> list[str]:
    joined = arrays[name].tobytes().decode("utf-8", "surrogatepass")
    ends = np.cumsum(arrays[f"{name}.sizes"]).tolist()
    return [joined[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]


def _postings(arrays: _Arrays, name: str) -> Postings:
    start, members, counts = (arrays[f"{name}.{part}"] for part in ("start", "members", "counts"))
    return Postings(_texts(arrays, f"{name}.keys"), start, members, counts)
