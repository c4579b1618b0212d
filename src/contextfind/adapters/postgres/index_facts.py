"""What some records measure at on both channels, and which of them are the best."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from contextfind.adapters.postgres.index_scoring import Flags, Longs, Scores, Weights, look_up
from contextfind.domain.uri import SCHEME
from contextfind.ports.index import SUPPORTERS, Hits

TreeKey = tuple[str, str, int]  # folder of the parent, name, level
Row = tuple[
    Any, ...
]  # id, parent, name, level, place, ordinal, stream, cosine: see `index_statements`


@dataclass(frozen=True, eq=False, slots=True)
class Facts:
    """Records, ascending, each with the best of its passages.

    cosines, supports: NaN where a record has no vector. held: which terms the best passage has, shape (records, terms).
    """

    ids: Longs
    keys: Sequence[TreeKey]
    passages: Longs
    cosines: Scores
    words: Scores
    supports: Scores
    phrases: Scores
    held: Flags

    def chosen(self, limit: int) -> list[int]:
        """Return the places of the best by either channel in tree order; ties at a cut to the earlier one there."""
        with_vector = np.flatnonzero(~np.isnan(self.cosines))
        near = self._best(self.cosines, with_vector, limit)
        telling = self._best(self.words, np.flatnonzero(self.words > 0), limit)
        return sorted({*near, *telling}, key=self.keys.__getitem__)

    def _best(self, scores: Scores, places: Longs, limit: int) -> list[int]:
        if len(places) <= limit:
            return list(places.tolist())
        cut = np.partition(scores[places], len(places) - limit)[len(places) - limit]
        sure: list[int] = places[scores[places] > cut].tolist()
        tied = sorted(places[scores[places] == cut].tolist(), key=self.keys.__getitem__)
        return sure + tied[: limit - len(sure)]

    def hits(self, limit: int, weights: Weights | None) -> Hits:
        """Return the best of either channel as a table, in tree order."""
        chosen = self.chosen(limit)
        keys = [self.keys[place] for place in chosen]
        return Hits(
            ids=self.ids[chosen],
            folders=[folder for folder, _, _ in keys],
            names=[name for _, name, _ in keys],
            levels=np.array([level for _, _, level in keys], np.int64),
            passages=self.passages[chosen],
            cosines=self.cosines[chosen],
            words=self.words[chosen],
            supports=self.supports[chosen],
            phrases=self.phrases[chosen],
            known=0.0 if weights is None else weights.known,
            terms=() if weights is None else weights.terms,
            held=self.held[chosen],
        )


def measured(rows: Sequence[Row], weights: Weights | None) -> Facts:
    """Return the facts of the records whose passages these are, given in any order."""
    ids = np.fromiter((row[0] for row in rows), np.int64, len(rows))
    places = np.fromiter((row[4] for row in rows), np.int64, len(rows))
    order = np.lexsort((places, ids))
    ids, ordered = ids[order], [rows[place] for place in order.tolist()]
    begins = np.flatnonzero(np.concatenate(([True], ids[1:] != ids[:-1]))) if len(ids) else ids
    counts = np.diff(begins, append=len(ids))
    dots = np.array([row[7] for row in ordered], np.float64)  # None becomes NaN
    if weights is None:
        words, phrases = np.zeros(len(ids)), np.zeros(len(ids))
        present = np.zeros((0, len(ids)), np.bool_)
    else:
        looked = look_up(weights, [row[6] for row in ordered])
        words, phrases, present = looked.scores, looked.phrases, looked.present
    best = _first_largest(words + np.nan_to_num(dots), begins, counts)
    return Facts(
        ids[begins],
        [_key(*ordered[place][1:4]) for place in begins.tolist()],
        np.array([ordered[place][5] for place in best.tolist()], np.int64),
        _largest(dots, begins),
        _largest(words, begins),
        _mean_of_best(dots, counts),
        _largest(phrases, begins),
        present[:, best].T,
    )


def _key(parent: str, name: str, level: int) -> TreeKey:
    return (parent if parent in ("", SCHEME) else f"{parent}/", name, level)


def _largest(scores: Scores, begins: Longs) -> Scores:
    if len(begins) in (0, len(scores)):
        return scores
    found: Scores = np.maximum.reduceat(scores, begins)
    return found


def _first_largest(scores: Scores, begins: Longs, counts: Longs) -> Longs:
    """Return where the largest of each run stands; the first one on a tie."""
    if len(begins) in (0, len(scores)):
        return np.arange(len(scores))
    peaks = np.repeat(np.maximum.reduceat(scores, begins), counts)
    at = np.flatnonzero(scores == peaks)
    return at[at.searchsorted(begins)]


def _mean_of_best(scores: Scores, counts: Longs) -> Scores:
    """Return the mean of the `SUPPORTERS` largest of each run, of all of a shorter one."""
    if len(counts) in (0, len(scores)):
        return scores
    run = np.repeat(np.arange(len(counts)), counts)
    order = np.lexsort((-scores, run))
    begins = counts.cumsum() - counts
    taken = np.arange(len(scores)) - begins[run] < SUPPORTERS
    sums = np.bincount(run[taken], scores[order][taken], len(counts))
    return sums / np.minimum(counts, SUPPORTERS)
