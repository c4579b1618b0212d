"""What the reranker has said in one search, beside the scores it said nothing about.

Both kinds of score stand on one list, by three rules:

1. What the reranker scored is ranked by that score alone: no share of its directory, so that its
   order among what it read is the order that is shown.
2. What it was shown and gave no score to (a hole in its answer) keeps the blended score: it was among the
   best by that, and a hole says nothing against it.
3. What it was never shown ranks below all that it scored: its blended score times the lowest one.
   It was not shown because others blended better, and two scales cannot be compared otherwise.

A 0 ranks as `_LEAST`: times nothing, all that was not shown would stand in the order of its addresses.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from contextfind.domain.records import RecordId

_LEAST = (
    1e-8  # times a blended score of four digits still shows within the twelve of a reranked one
)


class Verdicts:
    """Scores in [0, 1] by record; None for a hole. Empty in a find, and while nobody was asked."""

    def __init__(self) -> None:
        self._said: dict[RecordId, float | None] = {}
        self.lowest = 1.0  # of those scored so far: what unread scores are multiplied with

    def __bool__(self) -> bool:
        """Whether anything was scored."""
        return any(score is not None for score in self._said.values())

    def __contains__(self, record: object) -> bool:
        """Whether the reranker was shown the record, whatever it said."""
        return record in self._said

    def add(self, said: Mapping[RecordId, float | None]) -> None:
        """Learn what one batch brought."""
        self._said.update(said)
        scored = [max(score, _LEAST) for score in said.values() if score is not None]
        self.lowest = min(self.lowest, *scored, 1.0)

    def of(self, record: RecordId) -> float | None:
        """Return the reranker's score, None where there is none."""
        return self._said.get(record)

    def over(self, blended: NDArray[np.float64], records: list[RecordId]) -> NDArray[np.float64]:
        """Return the scores of `records` by the three rules; `blended` is what they had without."""
        said = np.array([self._said.get(record) for record in records], dtype=np.float64)
        shown = np.array([record in self._said for record in records])
        kept = np.where(shown, blended, blended * self.lowest)
        return np.where(np.isnan(said), kept, np.maximum(said, _LEAST))
