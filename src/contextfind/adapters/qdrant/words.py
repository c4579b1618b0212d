"""What the words of a question are worth in a passage: BM25 in Lucene's form, as `ports.hits.Hit` defines it.

Qdrant ranks by sums of products, and the weight of a word depends on the mean length of the passages that a caller
may see. So what it ranks by is a bound from above, made for one fixed mean; who is really among the best is worked
out here from the words themselves.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b

from contextfind.domain.word_pairs import Pair, neighbours

K1 = 0.7  # saturation of repeats
B = 0.4  # weight of a passage's length
# Of the passages that the stored weights are made for, in terms. The bound is the looser the further the true mean is
# away. Made-up texts, 50,000 passages, words of five terms: to be sure of the best 100, so many must be looked at where
# a passage has 60, 110, 400 or 1,100 terms (Chinese): 240, 130, 330, 1,500 with 128 here, 350, 340, 190, 610 with 256,
# 330, 400, 130, 280 with 512, 360, 420, 190, 110 with 1,024.
MEAN_LENGTH = 512.0
_ROUNDING = 1 + 1e-5  # of weights and sums in 32 bits


@dataclass(frozen=True, slots=True)
class Census:
    """What the passages that somebody may see have in them.

    lengths: how many passages have how many terms. holders: how many hold a term, of the terms asked for.
    """

    lengths: Mapping[int, int]
    holders: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Weights:
    """A sparse vector: ascending numbers of terms, and what each weighs."""

    indices: list[int]
    values: list[float]


@dataclass(frozen=True)
class Text:
    """The words of one passage: its terms in reading order, and how often each stands there."""

    ordinal: int
    terms: Sequence[str]
    counts: Counter[str]

    @classmethod
    def of(cls, ordinal: int, terms: Sequence[str]) -> "Text":
        """Return the words of a passage."""
        return cls(ordinal, terms, Counter(terms))

    @cached_property
    def pairs(self) -> frozenset[Pair]:
        """Its words side by side; found when they are asked for, which takes longer than all else."""
        return neighbours(self.terms)


@dataclass(frozen=True, slots=True)
class Asked:
    """The words of one question, and their worth to one caller.

    idf: of each distinct term. ceiling: of all together. known: share of them that occurs at all.
    passages, mean: how many there are in sight, and their mean length. slack: how many times the weight that is stored for a passage, a true one can be.
    """

    idf: Mapping[str, float]
    ceiling: float
    known: float
    passages: int
    mean: float
    slack: float
    pairs: Mapping[Pair, float]
    holders: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, terms: Sequence[str], census: Census) -> "Asked":
        """Return the worth of terms, given in reading order."""
        passages = sum(census.lengths.values())
        total = sum(length * count for length, count in census.lengths.items())
        mean = total / passages if passages else 0.0
        idf: dict[str, float] = {}
        known = 0.0
        for term in sorted(set(terms)):
            holders = min(census.holders.get(term, 0), passages)  # they are not counted at once
            idf[term] = math.log(1 + (passages - holders + 0.5) / (holders + 0.5))
            known += idf[term] if holders else 0.0
        ceiling = sum(idf.values())
        pairs = {(a, b): (idf[a] + idf[b]) / 2 for a, b in sorted(neighbours(terms))}
        share = known / ceiling if known else 0.0
        slack = _slack(mean, max(census.lengths, default=0))
        return cls(idf, ceiling, share, passages, mean, slack, pairs, census.holders)

    @property
    def weights(self) -> Weights | None:
        """What to look for; None when none of the words occurs."""
        return _weights(
            (term, idf) for term, idf in self.idf.items() if self.holders.get(term, 0) > 0
        )

    def bound(self, ranked: float) -> float:
        """Return what a passage that Qdrant ranks at a value is worth at most."""
        return ranked * self.slack * _ROUNDING / self.ceiling

    def score(self, text: Text) -> float:
        """Return what the words of a passage are worth, in [0, 1)."""
        total = 0.0
        for term, idf in self.idf.items():
            repeats = text.counts[term]
            if repeats:
                total += idf * (repeats / (repeats + _norm(len(text.terms), self.mean)))
        return total / self.ceiling if total else 0.0

    def phrases(self, text: Text) -> float:
        """Return what its words side by side are worth."""
        total = 0.0  # added from left to right, as other engines do
        for pair, worth in self.pairs.items():
            if all(term in text.counts for term in pair) and pair in text.pairs:
                total += worth
        return total / self.ceiling if total else 0.0

    def shared(self, text: Text) -> frozenset[str]:
        """Return which of the words stand in a passage."""
        return frozenset(term for term in self.idf if term in text.counts)


def stored_weights(terms: Sequence[str]) -> Weights | None:
    """Return what to store for a passage; None when it has no words."""
    norm = _norm(len(terms), MEAN_LENGTH)
    return _weights((term, n / (n + norm)) for term, n in Counter(terms).items())


def _weights(worths: Iterable[tuple[str, float]]) -> Weights | None:
    """Add up what falls on the same number: a term that shares one makes a bound looser, never wrong."""
    summed: dict[int, float] = {}
    for term, worth in worths:
        number = _number(term)
        summed[number] = summed.get(number, 0.0) + worth
    if not summed:
        return None
    numbers = sorted(summed)
    return Weights(numbers, [summed[number] for number in numbers])


def _number(term: str) -> int:
    digest = blake2b(term.encode("utf-8", "surrogatepass"), digest_size=4).digest()
    return int.from_bytes(digest, "big")


def _norm(length: int, mean: float) -> float:
    return K1 * (1 - B + B * length / mean) if mean else K1 * (1 - B)


def _slack(mean: float, longest: int) -> float:
    """Return how many times its stored weight a word can weigh: most where it stands once in the longest passage."""
    if mean <= MEAN_LENGTH:
        return 1.0
    return (1 + _norm(longest, MEAN_LENGTH)) / (1 + _norm(longest, mean))
