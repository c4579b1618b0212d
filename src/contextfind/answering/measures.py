"""Figures: ranking quality per query, their intervals, and quantiles of durations."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

RESAMPLES = 2_000  # the ends of a 95 % interval then repeat to about a hundredth of its width
SEED = 20  # the same queries are drawn for every set of that size, so that figures can be compared
DEPTH = 10  # every figure is "at 10": what fits on one screen, and what the sets were judged for


@dataclass(frozen=True, slots=True)
class Quality:
    """The three figures of one query, or their means; each in [0, 1]."""

    ndcg: float
    recall: float
    mrr: float


def quality_of(ranked: Sequence[str], relevant: Mapping[str, int]) -> Quality:
    """Judge a ranking (best first, no repeats) against graded relevance (0 = not relevant).

    nDCG has exponential gains (Burges et al. 2005); recall counts grades above 0.
    """
    gains = [relevant.get(uri, 0) for uri in ranked[:DEPTH]]
    ideal = sorted(relevant.values(), reverse=True)[:DEPTH]
    wanted = sum(grade > 0 for grade in relevant.values())
    if not wanted:
        return Quality(0.0, 0.0, 0.0)
    first = next((1 / (rank + 1) for rank, gain in enumerate(gains) if gain > 0), 0.0)
    return Quality(_dcg(gains) / _dcg(ideal), sum(gain > 0 for gain in gains) / wanted, first)


def mean_of(judged: Sequence[Quality]) -> Quality:
    """Return the means over queries; zeros over none."""
    count = max(len(judged), 1)
    return Quality(
        sum(one.ndcg for one in judged) / count,
        sum(one.recall for one in judged) / count,
        sum(one.mrr for one in judged) / count,
    )


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean, and where the means of 95 % of the resamples lie."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{_short(self.mean)} [{_short(self.low)}, {_short(self.high)}]"

    @property
    def signed(self) -> str:
        """The same for a difference."""
        return f"{_short(self.mean, '+')} [{_short(self.low, '+')}, {_short(self.high, '+')}]"


def interval_of(values: Sequence[float]) -> Interval:
    """Return the mean and its 95 % interval by the percentile bootstrap over queries (Efron 1979).

    Of differences per query it is the paired bootstrap: what makes a query hard for both drops out.
    """
    if not values:
        return Interval(0.0, 0.0, 0.0)
    held = np.asarray(values, np.float64)
    drawn = np.random.default_rng(SEED).integers(0, len(held), (RESAMPLES, len(held)))
    low, high = np.quantile(held[drawn].mean(axis=1), [0.025, 0.975]).tolist()
    return Interval(float(held.mean()), low, high)


def quantile(values: Sequence[float], share: float) -> float:
    """Return the value below which `share` of the values lie (nearest rank); NaN over none."""
    if not values:
        return math.nan
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, math.ceil(share * len(ordered)) - 1 if share > 0 else 0)]


def _short(value: float, sign: str = "") -> str:
    """Return three decimals without the zero in front, as the documentation writes them."""
    return f"{value:{sign}.3f}".replace("0.", ".", 1)


def _dcg(gains: Sequence[int]) -> float:
    return sum(float(2**gain - 1) / math.log2(rank + 2) for rank, gain in enumerate(gains))
