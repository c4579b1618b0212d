"""Which numbers belong to a key: term -> rows, tag -> records; sorted, in three arrays."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Counts = NDArray[
    np.integer
]  # bytes where they do: a word stands in a passage more than 255 times once in a book
_BYTE = 255


@dataclass(frozen=True, eq=False, slots=True)
class Postings:
    """Sorted keys and the ascending numbers that belong to each (CSR form).

    start: shape (keys + 1,). members: numbers of rows or records. counts: how often, beside members.
    """

    keys: list[str]
    start: Longs
    members: Ints
    counts: Counts

    def span(self, key: str) -> tuple[int, int]:
        """Return where the members of `key` lie; an empty range for an unknown key."""
        place = bisect_left(self.keys, key)
        if place == len(self.keys) or self.keys[place] != key:
            return (0, 0)
        return (int(self.start[place]), int(self.start[place + 1]))


def kind_of(largest: int) -> type[np.integer]:
    """Return the smallest type that counts up to `largest` are kept in."""
    return np.uint8 if largest <= _BYTE else np.int32


def pack(keys: Sequence[str], key_of: Longs, members: Longs, counts: Ints) -> Postings:
    """Return the postings of triples in any order; `key_of` are places in the sorted `keys`.

    Keys without members are left out.
    """
    width = int(members.max()) + 1 if len(members) else 1
    order = np.argsort(key_of * width + members, kind="stable")
    sizes = np.bincount(key_of, minlength=len(keys))
    used = np.flatnonzero(sizes)
    start = np.zeros(len(used) + 1, np.int64)
    np.cumsum(sizes[used], out=start[1:])
    return Postings(
        keys=[keys[place] for place in used.tolist()],
        start=start,
        members=members[order].astype(np.int32),
        counts=counts[order].astype(kind_of(int(counts.max(initial=0)))),
    )
