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
from contextfind.adapters.embedded.segment import Segment, spread
from contextfind.adapters.embedded.words import Scores, Weights
from contextfind.domain.word_pairs import Pair, neighbours

Numbers = NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Wanted:
    """The numbers of the pairs that are asked for, and what each is worth; in the order of the pairs."""

    numbers: tuple[int, ...]
    worth: tuple[float, ...]


def number_of(pair: Pair) -> int:
    """Return the number that stands for a pair, in every process the same."""
    return crc32(" ".join(pair).encode("utf-8", "surrogatepass"))


def column_of(pairs: Sequence[frozenset[Pair]]) -> Numbers:
    """Return the numbers of all rows one after the other, ascending within a row."""
    return np.array([n for held in pairs for n in sorted(map(number_of, held))], np.uint32)


def wanted(terms: Sequence[str], weights: Weights) -> Wanted:
    """Return what to look for: a pair is worth the mean idf of its terms, as a share of all idf."""
    idf = dict(zip(weights.terms, weights.idf, strict=True))
    ordered = sorted(neighbours(terms))
    worth = tuple((idf[first] + idf[second]) / 2 / weights.ceiling for first, second in ordered)
    return Wanted(tuple(map(number_of, ordered)), worth)


def score_pairs(segment: Segment, asked: Wanted, rows: Longs) -> Scores:
    """Return for each of the rows the summed worth of the pairs that it holds."""
    scores: Scores = np.zeros(len(rows), np.float64)
    if not asked.numbers:
        return scores
    starts = segment.pair_start[rows]
    sizes = segment.pair_start[rows + 1] - starts
    held = segment.pairs[spread(starts, sizes)]
    row_of = np.repeat(np.arange(len(rows)), sizes)
    for number, worth in zip(asked.numbers, asked.worth, strict=True):
        scores[row_of[held == number]] += worth
    return scores
