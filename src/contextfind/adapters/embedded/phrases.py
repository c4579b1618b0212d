"""What a passage is worth by words of the question that stand side by side in it.

Each row keeps its pairs of neighbours as numbers of 32 bits, four bytes a word, whatever the pair: two
pairs that share a number are as rare as one in four thousand million, and all they could do is to lift a
passage by a tenth of a word.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from contextfind.adapters.embedded.postings import Longs
from contextfind.adapters.embedded.segment import Segment
from contextfind.adapters.embedded.words import Scores, Weights
from contextfind.domain.word_pairs import has_neighbours, neighbours

Numbers = NDArray[np.uint32]
_Wide = NDArray[np.uint64]
_HALF = np.uint64(32)
# Odd, with bits everywhere (from the golden ratio, and of MurmurHash3): similar pairs get unlike numbers.
_SPREAD, _MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xFF51AFD7ED558CCD)


@dataclass(frozen=True, eq=False, slots=True)
class Wanted:
    """The pairs that are asked for.

    numbers: ascending. worth: of each the mean idf of its terms. place: of each its place by spelling; sums
    are made in that order, so that they are the same in every engine. ceiling: the sum of all idf.
    first, second: of each the places of its terms in the weights.
    """

    numbers: Numbers
    worth: Scores
    place: Longs
    ceiling: float
    first: Longs
    second: Longs

    @classmethod
    def by(cls, terms: Sequence[str], weights: Weights) -> "Wanted":
        """Return what to look for."""
        known = {term: place for place, term in enumerate(weights.terms)}
        pairs = sorted(neighbours(terms))
        first, second = (
            np.array([known[pair[side]] for pair in pairs], np.int64) for side in (0, 1)
        )
        idf = np.array(weights.idf)
        worth = (idf[first] + idf[second]) / 2
        digests = _digests(weights.terms)
        numbers = _paired(digests[first], digests[second])
        place = np.argsort(numbers, kind="stable")
        return cls(
            numbers[place], worth[place], place, weights.ceiling, first[place], second[place]
        )


def pairs_of(
    terms: Sequence[str], term_of: Longs, row_of: Longs, rows: int
) -> tuple[Longs, Numbers]:
    """Return where the pairs of each row begin, the end put last, and their numbers, ascending in a row.

    terms: distinct ones. term_of, row_of: per word of the text, in reading order, its place in `terms` and
    the row it stands in.
    """
    digests = _digests(terms)
    able = np.array([has_neighbours(term) for term in terms], np.bool_)
    first, second = term_of[:-1], term_of[1:]
    near = (row_of[:-1] == row_of[1:]) & (first != second) & able[first] & able[second]
    numbers = _paired(digests[first[near]], digests[second[near]])
    held = np.sort((row_of[:-1][near].astype(np.uint64) << _HALF) | numbers)
    fresh = np.ones(len(held), np.bool_)
    fresh[1:] = held[1:] != held[:-1]
    held = held[fresh]  # `np.unique` takes ten times as long: it hashes
    starts = np.searchsorted(held, np.arange(rows + 1, dtype=np.uint64) << _HALF)
    return starts.astype(np.int64), held.astype(np.uint32)


def score_pairs(segment: Segment, asked: Wanted, rows: Longs, present: NDArray[np.bool_]) -> Scores:
    """Return for each of the rows the summed worth of the pairs that it holds, as a share of all idf.

    present: which rows hold which terms, shape (terms, rows); one without both terms of a pair is not read.
    """
    scores: Scores = np.zeros(len(rows), np.float64)
    if len(asked.numbers) == 0:
        return scores
    telling = np.flatnonzero((present[asked.first] & present[asked.second]).any(axis=0))
    if len(telling) == 0:
        return scores
    starts, ends = segment.pair_start[rows[telling]], segment.pair_start[rows[telling] + 1]
    held = _read(segment.pairs, starts, ends)
    which = asked.numbers.searchsorted(held)
    (found,) = (asked.numbers.take(which, mode="clip") == held).nonzero()
    if len(found) == 0:
        return scores
    which = which[found]
    row_of = (ends - starts).cumsum().searchsorted(found, side="right")
    order = np.lexsort((asked.place[which], row_of))
    summed = np.bincount(row_of[order], asked.worth[which[order]], len(telling))
    scores[telling] = summed / asked.ceiling
    return scores


def _read(column: Numbers, starts: Longs, ends: Longs) -> Numbers:
    """Return ascending ranges of a column one after the other; adjacent ones, as of one file, in one piece."""
    breaks = np.flatnonzero(ends[:-1] != starts[1:])
    begins = starts[np.concatenate(([0], breaks + 1))].tolist()
    stops = ends[np.concatenate((breaks, [len(ends) - 1]))].tolist()
    return np.concatenate([column[low:high] for low, high in zip(begins, stops, strict=True)])


def _digests(terms: Sequence[str]) -> _Wide:
    """Return a number for each term, in every process the same."""
    return np.array([crc32(term.encode("utf-8", "surrogatepass")) for term in terms], np.uint64)


def _paired(first: _Wide, second: _Wide) -> Numbers:
    """Return the numbers of pairs, whichever of their terms comes first; arithmetic is modulo 2 ** 64."""
    mixed = np.minimum(first, second) * _SPREAD + np.maximum(first, second)
    mixed = (mixed ^ (mixed >> _HALF)) * _MIX
    numbers: Numbers = (mixed >> _HALF).astype(np.uint32)
    return numbers
