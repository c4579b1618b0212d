"""BM25 over the postings of segments, in Lucene's form.

Passage counts and lengths are those of what the asker may see, so that nobody else's text ever
moves a score.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contextfind.adapters.embedded.postings import Ints
from contextfind.adapters.embedded.segment import Group, Segment
from contextfind.adapters.embedded.snapshot import View

K1 = 0.7  # saturation of repeats: passages are short, what they say twice they rarely mean twice
B = 0.4  # weight of a passage's length: passages are cut to much the same size

Scores = NDArray[np.float64]
Spans = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Weights:
    """Distinct terms in order, the idf of each, their sum, and the mean length of a passage.

    known: the share of the sum that belongs to terms which occur at all.
    spans: per view, where the postings of each term lie in its segment.
    """

    terms: tuple[str, ...]
    idf: tuple[float, ...]
    ceiling: float
    known: float
    mean: float
    spans: tuple[Spans, ...]


def weigh(
    terms: Sequence[str], views: Sequence[View], groups: Sequence[Sequence[Group]]
) -> Weights | None:
    """Return the weights of terms over the groups of each view; None when none of them occurs."""
    distinct = tuple(sorted(set(terms)))
    spans = tuple(tuple(map(view.segment.words.span, distinct)) for view in views)
    rows = length = 0
    holders = [0] * len(distinct)
    for view, seen, places in zip(views, groups, spans, strict=True):
        for group in seen:
            living, total = view.census(group)
            rows += living
            length += total
            for number, span in enumerate(places):
                holders[number] += _holders(view, group, span)
    if not any(holders):
        return None
    idf = tuple(math.log(1 + (rows - held + 0.5) / (held + 0.5)) for held in holders)
    ceiling = sum(idf)
    known = sum(one for one, held in zip(idf, holders, strict=True) if held) / ceiling
    return Weights(distinct, idf, ceiling, known, length / rows, spans)


def score_rows(segment: Segment, weights: Weights, spans: Spans, rows: tuple[int, int]) -> Scores:
    """Return the score of each row in a half-open range, 0 where no term occurs."""
    low, high = rows
    scores: Scores = np.zeros(high - low, np.float64)
    bounds = _bounds(low, high)
    for idf, span in zip(weights.idf, spans, strict=True):
        start, stop = _within(segment, span, bounds)
        if start == stop:
            continue
        members = segment.words.members[start:stop]
        repeats = segment.words.counts[start:stop]
        norm = K1 * (1 - B + B * segment.length[members] / weights.mean)
        scores[members - low] += idf * (repeats / (repeats + norm))
    scores /= weights.ceiling
    return scores


def _bounds(low: int, high: int) -> Ints:
    """Return a range of rows in the type of postings; numpy would convert the posting otherwise."""
    return np.array((low, high), np.int32)


def _within(segment: Segment, span: tuple[int, int], bounds: Ints) -> tuple[int, int]:
    """Return the part of a posting whose rows lie in a half-open range."""
    start, stop = span
    if start == stop:
        return (0, 0)
    first, last = segment.words.members[start:stop].searchsorted(bounds).tolist()
    return (start + first, start + last)


def _holders(view: View, group: Group, span: tuple[int, int]) -> int:
    """Return how many living rows of a group hold the term of a posting."""
    row_start = view.segment.row_start
    bounds = _bounds(int(row_start[group.records[0]]), int(row_start[group.records[1]]))
    start, stop = _within(view.segment, span, bounds)
    if view.dead_rows is None:
        return stop - start
    gone = view.dead_rows[view.segment.words.members[start:stop]]
    return stop - start - int(np.count_nonzero(gone))
