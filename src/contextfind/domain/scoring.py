"""From two channels to one score that means the same on every query.

`own = weight * d + (1 - weight) * b`, capped at 1, where
`d = max(cosine - floor, 0) / span` (two constants that belong to the embedding model) and
`b` is BM25 divided by the summed idf of all query terms (the index does that).
`final = alpha * own + (1 - alpha) * parent`, where the parent's score is the evidence of its
children: the best `own` in that directory. Measured in docs/benchmarks.md; below .35 is noise,
.45 plausible, .6 strong.
"""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Number = TypeVar("Number", float, NDArray[np.float64])  # one score, or those of many hits


@dataclass(frozen=True, slots=True)
class Calibration:
    """Where an embedding model's cosines begin to mean something, and where they say yes.

    floor: the cosine of an unrelated pair. span: from there to a certain match.
    """

    floor: float
    span: float

    def meaning(self, cosine: float) -> float:
        """Return the cosine as a share in [0, 1]."""
        return min(max(cosine - self.floor, 0.0) / self.span, 1.0)


@dataclass(frozen=True, slots=True)
class ScoreRules:
    """The knobs of the scorer, named as in ov.conf `retrieval.*`.

    score_propagation_alpha: share of a hit's own score in the final one; 1 ignores its directory.
    meaning_weight: share of the vector channel; .4-.7 is a flat optimum.
    directory_own: share of a directory's own text in its score, the rest is its best file:
        .2 measured best for directory answers.
    """

    score_propagation_alpha: float = 0.7
    meaning_weight: float = 0.5
    directory_own: float = 0.2


def own_score(meaning: float | None, words: float | None, meaning_weight: float) -> float:
    """Blend the two channels; a channel that is not there leaves the other one alone."""
    if meaning is None:
        return words or 0.0
    if words is None:
        return meaning
    return min(meaning_weight * meaning + (1 - meaning_weight) * words, 1.0)


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
