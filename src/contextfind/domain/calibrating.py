"""Fitting the two constants of an embedding model to questions whose answers are known.

What is fitted is the order of the hits, because that is what the constants are for: the blend
`weight * max(cosine - floor, 0) / span + (1 - weight) * words` ranks the texts, and nDCG@10 judges the ranking.
(The bend at the top of the score keeps the order and is left out here; so is the directory's evidence.)

The start is read from the cosines alone: the floor where all but 1 % of the unrelated pairs lie above,
the top of the span where all but 5 % of the related pairs lie below. So 0 means less alike than anything
unrelated, and 1 as alike as the best. Around it a coarse grid is tried. The best ones are a plateau: among all
within `TOLERANCE` of the best, the nearest to the start is taken, so that chance decides little and a score keeps
its meaning.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from contextfind.domain.errors import InvalidArgumentError
from contextfind.domain.scoring import Calibration

Grid = NDArray[np.float64]  # shape (queries, texts)

DEPTH = 10  # nDCG@10: what fits on one screen
TOLERANCE = 0.002  # nDCG; differences below come and go with the sample
UNRELATED, RELATED = 0.01, 0.95  # quantiles where the start puts the floor and the top
SHIFTS = (-0.6, -0.4, -0.2, 0.0, 0.2, 0.4)  # of the floor, in spans of the start
STRETCHES = (0.6, 0.75, 0.9, 1.0, 1.2, 1.5)  # of the span; more would change what a score says
_NARROWEST = 0.01  # of a span: what the printed digits can say


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """One set: what both channels say of every pair of query and text, and what is known of it.

    cosines: NaN where the text is out of the query's reach. words: 0 and above. grades: 0 = unrelated.
    """

    name: str
    cosines: Grid
    words: Grid
    grades: NDArray[np.int64]

    @property
    def unrelated(self) -> NDArray[np.float64]:
        """The cosines of pairs that nobody called related."""
        return self._cosines_of(self.grades == 0)

    @property
    def related(self) -> NDArray[np.float64]:
        """The cosines of pairs that were judged to belong together."""
        return self._cosines_of(self.grades > 0)

    def _cosines_of(self, which: NDArray[np.bool_]) -> NDArray[np.float64]:
        held: NDArray[np.float64] = self.cosines[which]
        return held[~np.isnan(held)]


@dataclass(frozen=True, slots=True)
class Fit:
    """start: read from the cosines alone. chosen: the one to use. Both with two decimals."""

    start: Calibration
    chosen: Calibration


def fit(sets: Sequence[Judged], weight: float) -> Fit:
    """Return the constants for an embedder, each set counting alike; weight: of the vector channel.

    Raises:
        InvalidArgumentError: no related or no unrelated pairs, or they look the same.

    """
    start = _start(sets)
    tried = list(_around(start))
    means = np.mean([[ndcg(one, c, weight) for c in tried] for one in sets], axis=0)
    good = [c for c, mean in zip(tried, means, strict=True) if mean >= means.max() - TOLERANCE]
    return Fit(start, min(good, key=lambda c: (_distance(c, start), c.floor, c.span)))


def left_out(sets: Sequence[Judged], weight: float) -> list[Calibration]:
    """Return for each set, in order, what would have been chosen from the others alone."""
    return [
        fit([other for other in sets if other is not one] or [one], weight).chosen for one in sets
    ]


def ndcg(judged: Judged, calibration: Calibration, weight: float) -> float:
    """Return the mean nDCG@10 (exponential gains) of the blended ranking; ties in the order of the texts."""
    meaning = np.maximum(judged.cosines - calibration.floor, 0.0) / calibration.span
    known = judged.words.max(axis=1, initial=0.0, keepdims=True) > 0
    # A query none of whose words occurs is ranked by meaning alone, as in `own_score`.
    scores = np.where(known, weight * meaning + (1 - weight) * judged.words, meaning)
    order = np.argsort(-np.nan_to_num(scores, nan=-1.0), axis=1, kind="stable")[:, :DEPTH]
    reached = np.where(np.isnan(judged.cosines), 0, judged.grades)
    found = _dcg(np.take_along_axis(reached, order, axis=1))
    ideal = _dcg(-np.sort(-judged.grades, axis=1)[:, :DEPTH])
    return float(np.mean(found / np.maximum(ideal, 1e-12))) if len(found) else 0.0


def _dcg(grades: NDArray[np.int64]) -> NDArray[np.float64]:
    gained: NDArray[np.float64] = ((2.0**grades - 1) * _discounts()[: grades.shape[1]]).sum(axis=1)
    return gained


@lru_cache(1)
def _discounts() -> NDArray[np.float64]:
    discounts: NDArray[np.float64] = 1 / np.log2(np.arange(DEPTH) + 2.0)
    return discounts


def _start(sets: Sequence[Judged]) -> Calibration:
    unrelated = [one.unrelated for one in sets if len(one.unrelated)]
    related = [one.related for one in sets if len(one.related)]
    if not unrelated or not related:
        raise InvalidArgumentError(
            "there are no pairs to compare; expected queries with judged texts, and other texts"
        )
    # Every set counts alike, however many pairs it has.
    floor = float(np.mean([np.quantile(values, UNRELATED) for values in unrelated]))
    top = float(np.mean([np.quantile(values, RELATED) for values in related]))
    if top - floor < _NARROWEST:
        raise InvalidArgumentError(
            f"related pairs are no more alike than unrelated ones (cosines up to {top:.2f}, unrelated "
            f"ones from {floor:.2f} on); the embedder cannot tell these texts apart, or the judgements "
            "belong to other texts"
        )
    return _rounded(floor, top - floor)


def _around(start: Calibration) -> Iterator[Calibration]:
    """Yield the grid, each pair of constants once, as it would be written down."""
    tried = {
        (made.floor, made.span): made
        for shift in SHIFTS
        for stretch in STRETCHES
        for made in [_rounded(start.floor + shift * start.span, start.span * stretch)]
    }
    yield from tried.values()


def _rounded(floor: float, span: float) -> Calibration:
    return Calibration(min(max(round(floor, 2), -1.0), 0.99), max(round(span, 2), _NARROWEST))


def _distance(one: Calibration, start: Calibration) -> float:
    """How far a pair is from the start, in steps of the floor and of the logarithm of the span."""
    floor = abs(one.floor - start.floor) / start.span
    return floor + abs(float(np.log(one.span / start.span)))
