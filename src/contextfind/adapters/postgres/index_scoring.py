"""What passages are worth by the words of a question: BM25 in Lucene's form, and words side by side."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contextfind.adapters.postgres.index_words import Numbers, number_of
from contextfind.domain.word_pairs import neighbours

Scores = NDArray[np.float64]
Longs = NDArray[np.int64]
Flags = NDArray[np.bool_]

K1 = 0.7  # saturation of repeats
B = 0.4  # weight of a passage's length: passages are cut to much the same size
_BUCKETS = (
    1 << 16
)  # a word's lowest bits say of nearly all words that they are none of those asked for


@dataclass(frozen=True, slots=True)
class Census:
    """What somebody's passages hold: how many there are, of how many words, and how many have each term."""

    passages: int
    length: int
    holders: Mapping[str, int]


@dataclass(frozen=True, eq=False, slots=True)
class Weights:
    """The terms of a question, each once, by spelling, and what they are worth to one who asks.

    numbers: of the terms. holders: how many passages have each. mean: words of a passage. sorted, place: the numbers
    in ascending order, and which term each is. buckets: which lowest 16 bits they have. pairs: of two terms the place
    of their pair, -1 where it is not asked for. worth: of each pair.
    """

    terms: tuple[str, ...]
    numbers: Numbers
    idf: Scores
    holders: Longs
    ceiling: float
    known: float
    mean: float
    sorted: Numbers
    place: Longs
    buckets: Flags
    pairs: Longs
    worth: Scores

    @classmethod
    def of(cls, asked: Sequence[str], census: Census) -> "Weights":
        """Return what the terms are worth."""
        terms = tuple(sorted(set(asked)))
        holders = [census.holders.get(term, 0) for term in terms]
        idf = [math.log(1 + (census.passages - n + 0.5) / (n + 0.5)) for n in holders]
        ceiling, known = 0.0, 0.0
        for worth, held in zip(idf, holders, strict=True):
            ceiling += worth
            known += worth if held else 0.0
        numbers = np.array([number_of(term) for term in terms], "<u8")
        place = numbers.argsort()
        buckets = np.zeros(_BUCKETS, np.bool_)
        buckets[numbers % _BUCKETS] = True
        wanted = sorted(neighbours(asked))
        at = {term: number for number, term in enumerate(terms)}
        pairs = np.full((len(terms), len(terms)), -1, np.int64)
        for number, (first, second) in enumerate(wanted):
            pairs[at[first], at[second]] = pairs[at[second], at[first]] = number
        return cls(
            terms,
            numbers,
            np.array(idf, np.float64),
            np.array(holders, np.int64),
            ceiling,
            known / ceiling if known else 0.0,
            census.length / census.passages if census.passages else 0.0,
            numbers[place],
            place,
            buckets,
            pairs,
            np.array([(idf[at[a]] + idf[at[b]]) / 2 for a, b in wanted], np.float64),
        )


@dataclass(frozen=True, eq=False, slots=True)
class Looked:
    """What some passages hold of a question's words.

    scores: in [0, 1). present: which terms, shape (terms, passages). phrases: worth of the words side by side.
    """

    scores: Scores
    present: Flags
    phrases: Scores


def look_up(weights: Weights, streams: Sequence[bytes]) -> Looked:
    """Score passages, given as the numbers of their words."""
    rows, terms = len(streams), len(weights.terms)
    sizes = np.fromiter(map(len, streams), np.int64, rows) // 8
    flat = np.frombuffer(b"".join(streams), "<u8")
    near = np.flatnonzero(weights.buckets[flat.view("<u2")[::4]])
    which = np.minimum(weights.sorted.searchsorted(flat[near]), terms - 1)
    found = weights.sorted[which] == flat[near]
    at, term = near[found], weights.place[which[found]]
    row = sizes.cumsum().searchsorted(at, side="right")
    counts = np.bincount(term * rows + row, minlength=terms * rows).reshape(terms, rows)
    norm = K1 * (1 - B + B * sizes / (weights.mean or 1.0))
    summed: Scores = np.zeros(rows, np.float64)
    for idf, repeats in zip(weights.idf.tolist(), counts, strict=True):
        summed += idf * (repeats / (repeats + norm))
    phrases = _phrases(weights, at, term, row, rows)
    return Looked(summed / weights.ceiling, counts > 0, phrases)


def _phrases(weights: Weights, at: Longs, term: Longs, row: Longs, rows: int) -> Scores:
    """Return what the pairs are worth that stand side by side, each once in a passage."""
    scores: Scores = np.zeros(rows, np.float64)
    if len(weights.worth) == 0 or len(at) < 2:  # noqa: PLR2004 - no pair
        return scores
    pair = weights.pairs[term[:-1], term[1:]]
    beside = (at[1:] == at[:-1] + 1) & (row[1:] == row[:-1]) & (pair >= 0)
    held = np.zeros((len(weights.worth), rows), np.bool_)
    held[pair[beside], row[1:][beside]] = True
    for worth, holds in zip(weights.worth.tolist(), held, strict=True):
        scores += worth * holds
    return scores / weights.ceiling
