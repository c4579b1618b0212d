"""Several sorted lists to one, in steps so small that nobody waits for the interpreter meanwhile.

Sorting a million strings at once holds it for a second.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import TypeVar

import numpy as np

from contextfind.adapters.embedded.postings import Longs

_Item = TypeVar("_Item", str, tuple[str, str, str])
_STEP = 4_000  # items of each list in one step: some milliseconds


def interleave(parts: Sequence[Sequence[_Item]]) -> tuple[list[_Item], list[Longs]]:
    """Return the distinct items of sorted lists, sorted, and per list the place of each of its items.

    The items of one list are distinct.
    """
    merged: list[_Item] = []
    places: list[list[Longs]] = [[np.zeros(0, np.int64)] for _ in parts]
    for pieces in _steps(parts):
        items = sorted(set().union(*pieces))
        place_of = {item: place for place, item in enumerate(items, len(merged))}
        for piece, found in zip(pieces, places, strict=True):
            found.append(np.array([place_of[item] for item in piece], np.int64))
        merged += items
    return merged, [np.concatenate(found) for found in places]


def _steps(parts: Sequence[Sequence[_Item]]) -> Iterator[list[Sequence[_Item]]]:
    """Yield adjacent pieces of all lists; what is in one step is less than all in the next."""
    begins = [0] * len(parts)
    while any(begin < len(part) for part, begin in zip(parts, begins, strict=True)):
        long = [
            part[begin + _STEP - 1]
            for part, begin in zip(parts, begins, strict=True)
            if begin + _STEP <= len(part)
        ]
        ends = [
            bisect_right(part, min(long), begin) if long else len(part)
            for part, begin in zip(parts, begins, strict=True)
        ]
        yield [part[begin:end] for part, begin, end in zip(parts, begins, ends, strict=True)]
        begins = ends
