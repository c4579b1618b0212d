"""The best of many scores."""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from contextfind.adapters.embedded.postings import Longs

_Number = TypeVar("_Number", bound=np.integer)
_SAMPLE = 4_096  # scores that give the first guess of the cut


def best(scores: NDArray[np.floating], wanted: int) -> Longs:
    """Return the places of the `wanted` largest scores, ascending; ties to the earlier one."""
    if len(scores) <= wanted:
        return np.arange(len(scores))
    if len(scores) > 2 * max(_SAMPLE, wanted):
        sample = scores[:: len(scores) // max(_SAMPLE, wanted)]
        above = np.flatnonzero(scores >= kth_largest(sample, wanted))
        found: Longs = above[_best_of_all(scores[above], wanted)]
        return found
    return _best_of_all(scores, wanted)


def distinct(some: Sequence[NDArray[_Number]]) -> NDArray[_Number]:
    """Return the numbers in several arrays, each once, ascending; faster than `np.unique`, which hashes."""
    held = np.concatenate(some)
    held.sort()
    fresh = np.ones(len(held), np.bool_)
    fresh[1:] = held[1:] != held[:-1]
    return held[fresh]


def kth_largest(scores: NDArray[np.floating], wanted: int) -> np.floating:
    """Return the smallest of the `wanted` largest scores; there must be so many."""
    place = len(scores) - wanted
    parted = scores.copy()
    parted.partition(place)
    kth: np.floating = parted[place]
    return kth


def largest(scores: NDArray[np.floating], counts: Longs) -> NDArray[np.floating]:
    """Return the largest of each run of adjacent scores; runs have the lengths `counts`, none is 0."""
    if len(scores) == len(counts):
        return scores
    found: NDArray[np.floating] = np.maximum.reduceat(scores, counts.cumsum() - counts)
    return found


def first_largest(scores: NDArray[np.floating], counts: Longs) -> Longs:
    """Return where the largest of each run of adjacent scores stands; the first one on a tie."""
    if len(scores) == len(counts):
        return np.arange(len(scores))
    begins = counts.cumsum() - counts
    peaks = np.repeat(np.maximum.reduceat(scores, begins), counts)
    places = np.flatnonzero(scores == peaks)
    return places[places.searchsorted(begins)]


def mean_of_best(scores: NDArray[np.floating], counts: Longs, most: int) -> NDArray[np.float64]:
    """Return the mean of the `most` largest of each run of adjacent scores, of all of a shorter run."""
    if len(scores) == len(counts):
        return scores.astype(np.float64)
    run_of = np.repeat(np.arange(len(counts)), counts)
    order = np.lexsort((-scores, run_of))
    begins = counts.cumsum() - counts
    taken = np.arange(len(scores)) - begins[run_of] < most
    sums = np.bincount(run_of[taken], scores[order][taken], len(counts))
    means: NDArray[np.float64] = sums / np.minimum(counts, most)
    return means


def _best_of_all(scores: NDArray[np.floating], wanted: int) -> Longs:
    if len(scores) <= wanted:
        return np.arange(len(scores))
    cut = kth_largest(scores, wanted)
    found: Longs = (scores >= cut).nonzero()[0]
    if len(found) > wanted:  # more tie for the last places than there are
        (sure,) = (scores > cut).nonzero()
        (tied,) = (scores == cut).nonzero()
        found = np.concatenate((sure, tied[: wanted - len(sure)]))
        found.sort()
    return found
