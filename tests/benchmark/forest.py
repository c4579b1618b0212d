"""The made-up tenants and their trees: who owns how much, and which directories there are.

Ten accounts, of which the biggest has more than half of everything and the smallest a thousandth. Each
has areas of three to six levels of directories; the last area is the memories of its one user.
Documents are numbered in tree order, account by account, so that a stretch of numbers is a stretch of
the tree.
"""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

SHARES = (0.55, 0.20, 0.10, 0.06, 0.04, 0.02, 0.015, 0.01, 0.004, 0.001)
ACCOUNTS = ("default", *(f"tenant-{number:02d}" for number in range(1, len(SHARES))))
USER = "default"  # of every account
AREAS = 8
DEPTHS = (3, 4, 5, 6)  # levels of directories below a scope, area by area
FILES_PER_LEAF = 40  # in the mean; some hold a few, some hundreds
SPREAD = 0.7  # of the logarithm of a leaf's size


@dataclass(frozen=True, slots=True)
class Leaf:
    """A directory that holds files: `count` of them, from number `first` on.

    path: the names from the area down, made of digits that sort.
    """

    number: int
    account: str
    root: str
    path: tuple[int, ...]
    first: int
    count: int


class Forest:
    """All trees of `documents` files, the same for the same seed."""

    def __init__(self, documents: int, seed: int) -> None:
        self.documents = documents
        self.sizes = _sizes(documents)
        self.leaves = list(_leaves(self.sizes, np.random.default_rng((seed, 1))))
        self._firsts = [leaf.first for leaf in self.leaves]

    def leaf_of(self, document: int) -> Leaf:
        """Return the directory of a document."""
        return self.leaves[bisect_right(self._firsts, document) - 1]

    def span(self, account: str) -> range:
        """Return the numbers of the documents of an account."""
        start = sum(self.sizes[: ACCOUNTS.index(account)])
        return range(start, start + self.sizes[ACCOUNTS.index(account)])

    def leaves_in(self, account: str) -> list[Leaf]:
        """Return the leaves of an account that hold files, in tree order."""
        return [leaf for leaf in self.leaves if leaf.account == account]


def _sizes(documents: int) -> list[int]:
    small = [max(1, round(share * documents)) for share in SHARES[1:]]
    return [documents - sum(small), *small]


def _leaves(sizes: list[int], chance: np.random.Generator) -> Iterator[Leaf]:
    number = first = 0
    for account, size in zip(ACCOUNTS, sizes, strict=True):
        wanted = max(1, round(size / FILES_PER_LEAF))
        weights = chance.lognormal(0.0, SPREAD, wanted)
        ends = np.round(np.cumsum(weights) / weights.sum() * size).astype(int).tolist()
        areas = min(AREAS, wanted)
        start = 0
        for at, end in enumerate(ends):
            area = at * areas // wanted
            before = -(-area * wanted // areas)  # leaves in the areas before this one
            within = -(-(area + 1) * wanted // areas) - before
            if end > start:
                path = (area, *_digits(at - before, within, DEPTHS[area % len(DEPTHS)] - 1))
                root = _root(area, areas)
                yield Leaf(number, account, root, path, first + start, end - start)
                number += 1
            start = end
        first += size


def _root(area: int, areas: int) -> str:
    """Return the scope of an area: the last one of several is memories."""
    memories = area == areas - 1 and areas > 1
    return f"viking://user/{USER}/memories" if memories else "viking://resources"


def _digits(number: int, count: int, length: int) -> tuple[int, ...]:
    """Return a number below `count` as digits of the smallest base that does, most significant first."""
    base = 2
    while base**length < count:
        base += 1
    digits = []
    for _ in range(length):
        number, digit = divmod(number, base)
        digits.append(digit)
    return tuple(reversed(digits))
