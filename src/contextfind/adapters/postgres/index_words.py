"""Words as numbers of 64 bits.

A passage has them twice. Its stream is the numbers of its words in reading order, from which everything is scored. Its
keys are the different ones among them, each mixed with whose the passage is and whether of a file: by them it
is found, and they are counted. So the list of a key holds what its owner's question may find and nothing of others,
without an account beside every number.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from contextfind.domain.scope import Scope

Numbers = NDArray[np.uint64]

# splitmix64: neighbours become unlike
_STEPS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
_LAST = np.uint64(31)


def number_of(text: str | bytes) -> int:
    """Return the number of a text: 64 bits, in every process the same."""
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "little")


def signed(number: int) -> int:
    """Return a number as the database has it."""
    return number - (1 << 64) if number >> 63 else number


def numbers_of(terms: Iterable[str], known: dict[str, int]) -> Numbers:
    """Return the numbers of terms in their order; `known` keeps them for the next text."""
    found = []
    for term in terms:
        number = known.get(term)
        if number is None:
            number = known[term] = number_of(term)
        found.append(number)
    return np.array(found, "<u8")


@dataclass(frozen=True, slots=True)
class Shelf:
    """Whose passages, and whether those of files or of directories' summaries."""

    account: str
    owner: str
    leaves: bool

    def keys(self, numbers: Numbers) -> NDArray[np.int64]:
        """Return the keys of words on this shelf, in their order."""
        salt = number_of(f"{self.account}\0{self.owner}\0{self.leaves:d}")
        mixed = numbers ^ np.uint64(salt)
        for shift, factor in _STEPS:
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
        keys: NDArray[np.int64] = (mixed ^ (mixed >> _LAST)).view(np.int64)
        return keys


def shelves(scope: Scope) -> Sequence[Shelf]:
    """Return the shelves that a scope's identity may see, wherever it looks: of files first."""
    owners = ("", scope.user) if scope.user else ("",)
    return [Shelf(scope.account, owner, leaves) for leaves in (True, False) for owner in owners]
