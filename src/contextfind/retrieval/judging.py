"""From what the index measured to what a hit is worth."""

from collections.abc import Iterable
from dataclasses import dataclass

from contextfind.domain.scoring import Calibration, ScoreRules, own_score
from contextfind.ports import Hit


@dataclass(frozen=True, slots=True)
class Judge:
    """Scores hits of one query, each on its own, with the same constants.

    words_known: whether any word of the query occurs at all; a query in a language that the
    data does not speak gets its score from meaning alone.
    """

    calibration: Calibration
    rules: ScoreRules
    words_known: bool

    def own(self, hit: Hit) -> float:
        """Return the score in [0, 1] that the hit deserves by itself."""
        words = hit.words if self.words_known else None
        meaning = None if hit.cosine is None else self.calibration.meaning(hit.cosine)
        return own_score(meaning, words, self.rules.meaning_weight)

    def meaning(self, hit: Hit) -> float | None:
        """Return how much of a match the meaning is, at most 1; None when there is no vector to compare."""
        return None if hit.cosine is None else min(self.calibration.meaning(hit.cosine), 1.0)


def words_known(hits: Iterable[Hit]) -> bool:
    """Whether some hit holds some word of the query.

    The index puts forward every record with a known word before any without, so none among the
    hits means none at all where was searched.
    """
    return any(hit.words > 0 for hit in hits)
