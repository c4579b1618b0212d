"""Several sorted lists to one, in steps so small that nobody waits for the interpreter meanwhile.

Sorting a million strings at once holds it for a second.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

from contextfind.adapters.embedded.postings import Longs


class _Ordered(Hashable, Protocol):
    def __lt__(self, other: Any, /) -> bool: ...


_Item = TypeVar("_Item", bound=_Ordered)
_FEW = 8  # a list so many times longer than all others together is copied, and they are put in
_STEP = 4_000  # items of each list in one step: some milliseconds


def interleave(parts: Sequence[Sequence[_Item]]) -> tuple[list[_Item], list[Longs]]:
    """Return the distinct items of sorted lists, sorted, and per list the place of each of its items.

    The items of one list are distinct.
    """
    sizes = [len(part) for part in parts]
    longest = max(sizes, default=0)
    if not parts or _FEW * (sum(sizes) - longest) > longest:
        return _merged(parts)
    base: int = sizes.index(longest)
    merged, places = _inserted(parts[base], [*parts[:base], *parts[base + 1 :]])
    places.insert(base, places.pop(0))
    return merged, places


def _inserted(
    base: Sequence[_Item], rest: Sequence[Sequence[_Item]]
) -> tuple[list[_Item], list[Longs]]:
    """Interleave a long list with short ones; the places of the long one come first."""
    items, found = _merged(rest)
    at = [bisect_left(base, item) for item in items]
    fresh = [p == len(base) or base[p] != item for p, item in zip(at, items, strict=True)]
    merged: list[_Item] = []
    begin = 0
    for place, item, new in zip(at, items, fresh, strict=True):
        if new:
            merged += base[begin:place]
            merged.append(item)
            begin = place
    merged += base[begin:]
    spots, added = np.array(at, np.int64), np.array(fresh, np.bool_)
    gaps = np.bincount(spots[added], minlength=len(base) + 1)
    own: Longs = np.arange(len(base)) + np.cumsum(gaps)[: len(base)]
    spots += np.cumsum(added) - added  # those that were put in before
    return merged, [own, *(spots[places] for places in found)]


def _merged(parts: Sequence[Sequence[_Item]]) -> tuple[list[_Item], list[Longs]]:
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
