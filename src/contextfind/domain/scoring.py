"""From two channels to one score that means the same on every query.

`own = below_one(weight * d + (1 - weight) * b)`, where
`d = max(c - floor, 0) / span` (two constants that belong to the embedding model) of a cosine `c` that is
mostly the best passage's and a little the mean of the best four, and `b` is BM25 divided by the summed
idf of all query terms (the index does that) plus a little for words that are neighbours in both.
`final = alpha * own + (1 - alpha) * parent`, where the parent's score is the evidence of its
children: the best `own` in that directory. Measured in docs/benchmarks.md; below .35 is noise,
.45 plausible, .6 strong. What is used often and was changed lately may count too, see `HotnessRules`.
"""

import math
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

_DAY = 86_400.0  # seconds
_STRAIGHT = 0.8  # scores up to here are shown as they are; any bend from .6 on ranks the same

Number = TypeVar("Number", float, NDArray[np.float64])  # one score, or those of many hits


@dataclass(frozen=True, slots=True)
class Calibration:
    """Where an embedding model's cosines begin to mean something, and where they say yes.

    floor: the cosine of an unrelated pair. span: from there to a certain match.
    """

    floor: float
    span: float

    def meaning(self, cosine: float) -> float:
        """Return the cosine as a share of certainty, 0 at the floor and below.

        More than 1 beyond `floor + span`: passages that are all close to a question still differ, and
        cutting them off at 1 cost up to .06 nDCG on encyclopedia articles.
        """
        return max(cosine - self.floor, 0.0) / self.span


@dataclass(frozen=True, slots=True)
class ScoreRules:
    """The knobs of the scorer, named as in ov.conf `retrieval.*`.

    score_propagation_alpha: share of a hit's own score in the final one; 1 ignores its directory.
    meaning_weight: share of the vector channel; .4-.7 is a flat optimum.
    support_weight: share of a record's best passages together in its cosine; the rest is the best one's.
    phrase_weight: what two words that are neighbours in question and text are worth beyond themselves,
        as a share of what they are worth as words.
    directory_own: share of a directory's own text in its score, the rest is its best file:
        .2 measured best for directory answers.
    """

    score_propagation_alpha: float = 0.6
    meaning_weight: float = 0.5
    directory_own: float = 0.2
    support_weight: float = 0.4
    phrase_weight: float = 0.3


def supported(cosine: float, support: float | None, support_weight: float) -> float:
    """Return the cosine of a record: its best passage's, and a little of its best ones together.

    A text that speaks of the question throughout is nearer than one that touches it once.
    """
    if support is None:
        return cosine
    return (1 - support_weight) * cosine + support_weight * support


def own_score(meaning: float | None, words: float | None, meaning_weight: float) -> float:
    """Blend the two channels; a channel that is not there leaves the other one alone."""
    if meaning is None:
        return below_one(words or 0.0)
    if words is None:
        return below_one(meaning)
    return below_one(meaning_weight * meaning + (1 - meaning_weight) * words)


def own_scores(
    meaning: NDArray[np.float64], words: NDArray[np.float64] | None, meaning_weight: float
) -> NDArray[np.float64]:
    """Return `own_score` of many hits; a meaning of NaN is none."""
    if words is None:
        worth = np.where(np.isnan(meaning), 0.0, meaning)
    else:
        blended = meaning_weight * meaning + (1 - meaning_weight) * words
        worth = np.where(np.isnan(meaning), words, blended)
    beyond = np.maximum((worth - _STRAIGHT) / (1 - _STRAIGHT), 0.0)
    bent: NDArray[np.float64] = np.minimum(worth, 1 - (1 - _STRAIGHT) * np.exp(-beyond))
    return bent


def words_alone(words: Number) -> Number:
    """Return what the words of a question are worth when its meaning is not known.

    The square root, in the same order: a text that answers seldom holds more than half of the words by their
    weight, and where meaning has a say that lifts it to .6 and more. So a score, and a threshold, goes on to
    mean about the same while an embedder is down; figures are in docs/search.md.
    """
    root: Number = words**0.5
    return root


def below_one(worth: float) -> float:
    """Return a score below 1 in the same order: what is above .8 comes ever closer to 1.

    The bend joins smoothly, so that no two scores change places and none jumps.
    """
    beyond = (worth - _STRAIGHT) / (1 - _STRAIGHT)
    return worth if beyond <= 0 else 1 - (1 - _STRAIGHT) * math.exp(-beyond)


def propagate(own: Number, parent: Number, alpha: float) -> Number:
    """Return the final score of a file below a directory with that evidence."""
    return alpha * own + (1 - alpha) * parent


def directory_score(own: Number, evidence: Number, directory_own: float) -> Number:
    """Return what a directory is worth: mostly its best file, a little its own text.

    Never more than its evidence, so a folder never outranks the file that makes it interesting.
    """
    return evidence * (1 - directory_own * (1 - own))


def lone_directory_score(own: Number, directory_own: float) -> Number:
    """Return what a directory is worth below which no file was seen: its own text, with a discount."""
    return (1 - directory_own) * own


@dataclass(frozen=True, slots=True)
class HotnessRules:
    """How much it counts that a record is used, named as in ov.conf `retrieval.hotness_*`.

    alpha: share of hotness in the final score; 0 leaves it out. half_life_days: after that many
        days without a change a record is half as hot.
    """

    alpha: float = 0.0
    half_life_days: float = 7.0

    def blend(self, semantic: float, hotness: float) -> float:
        """Return the final score of a hit."""
        return (1 - self.alpha) * semantic + self.alpha * hotness

    def hotness(self, active_count: int, updated_at: datetime, now: datetime) -> float:
        """Return `sigmoid(log1p(active_count)) * 0.5 ** (age / half-life)`, within [0, 1].

        `sigmoid(log x)` is `x / (1 + x)`. So a record that was never used has .5 on the day it is
        written, not 0: what is new is worth something before anybody could use it. What claims to
        come from the future is of today.
        """
        uses = 1 + max(active_count, 0)
        days = max((now - updated_at).total_seconds(), 0.0) / _DAY
        fresh: float = 0.5 ** (days / self.half_life_days)
        return uses / (1 + uses) * fresh
