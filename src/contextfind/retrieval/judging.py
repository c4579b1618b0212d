"""From what the index measured to what a hit is worth."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contextfind.domain.scoring import (
    Calibration,
    ScoreRules,
    own_score,
    own_scores,
    supported,
    words_alone,
)
from contextfind.ports import Hit, Hits


@dataclass(frozen=True, slots=True)
class Judge:
    """Scores hits of one query, each on its own, with the same constants.

    words_known: whether any word of the query occurs at all; a query in a language that the
    data does not speak gets its score from meaning alone. blind: the question has no vector, and words
    stand alone.
    """

    calibration: Calibration
    rules: ScoreRules
    known: float
    blind: bool = False

    @property
    def words_known(self) -> bool:
        """Whether any word of the query occurs at all."""
        return self.known > 0

    @property
    def alpha(self) -> float:
        """Return the share of a hit's own score in its final one.

        A directory testifies as far as the words of the query are known: by meaning alone all the files of
        one topic are alike, and a strong one says little of its neighbours.
        """
        return 1 - (1 - self.rules.score_propagation_alpha) * self.known

    def own(self, hit: Hit) -> float:
        """Return the score in [0, 1] that the hit deserves by itself."""
        words = self.words(hit)
        if self.blind and words is not None:
            words = words_alone(words)
        return own_score(self._meaning(hit), words, self.rules.meaning_weight)

    def owns(self, hits: Hits) -> NDArray[np.float64]:
        """Return `own` of each hit."""
        share = self.rules.support_weight
        near = (1 - share) * hits.cosines + share * hits.supports
        near = np.where(np.isnan(near), hits.cosines, near)
        meaning = np.maximum(near - self.calibration.floor, 0.0) / self.calibration.span
        words = hits.words + self.rules.phrase_weight * hits.phrases if self.words_known else None
        if self.blind and words is not None:
            words = words_alone(words)
        return own_scores(meaning, words, self.rules.meaning_weight)

    def meaning(self, hit: Hit) -> float | None:
        """Return how much of a match the meaning is, at most 1; None when there is no vector to compare."""
        meaning = self._meaning(hit)
        return None if meaning is None else min(meaning, 1.0)

    def words(self, hit: Hit) -> float | None:
        """Return how much of the question the words hold; None when none of them occurs anywhere.

        A little more than 1 where a text holds all of them side by side.
        """
        if not self.words_known:
            return None
        return hit.words + self.rules.phrase_weight * hit.phrases

    def cosine(self, hit: Hit) -> float | None:
        """Return how near the record is to the question; None when there is no vector to compare."""
        if hit.cosine is None:
            return None
        return supported(hit.cosine, hit.support, self.rules.support_weight)

    def _meaning(self, hit: Hit) -> float | None:
        cosine = self.cosine(hit)
        return None if cosine is None else self.calibration.meaning(cosine)
