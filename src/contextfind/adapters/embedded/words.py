"""BM25 over the postings of segments, in Lucene's form.

Passage counts and lengths are those of what the asker may see, so that nobody else's text ever
moves a score.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contextfind.adapters.embedded.patch import Patch
from contextfind.adapters.embedded.postings import Longs
from contextfind.adapters.embedded.ranking import best, distinct, kth_largest
from contextfind.adapters.embedded.segment import Segment
from contextfind.adapters.embedded.sight import Part, Sight

K1 = 0.7  # saturation of repeats: passages are short, what they say twice they rarely mean twice
B = 0.4  # weight of a passage's length: passages are cut to much the same size
_ROUNDING = 1e-6  # a term: how far a score in 32 bits (of at most 1) may be off, with room to spare
_LOOKED_UP = 8  # a row looked up in a posting costs as much as so many rows of it read

_SPARED = 2  # times as many candidates as wanted cost less to measure than to choose from

Scores = NDArray[np.float64]
Shares = NDArray[np.float32]
Spans = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Weights:
    """Distinct terms in order, the idf of each, their sum, and the mean length of a passage.

    known: the share of the sum that belongs to terms which occur at all.
    spans: per part of the sight, where the postings of each term lie in its segment. inside: per part and group
    of it, the piece of each posting whose rows are of that group.
    """

    terms: tuple[str, ...]
    idf: tuple[float, ...]
    ceiling: float
    known: float
    mean: float
    spans: tuple[Spans, ...]
    inside: tuple[tuple[Spans, ...], ...]

    def norms(self, lengths: NDArray[np.integer]) -> NDArray[np.floating]:
        """Return the norm of rows of these lengths, 64 bits wide."""
        return K1 * (1 - B + B * lengths / self.mean)


def weigh(terms: Sequence[str], sight: Sight) -> Weights | None:
    """Return the weights of terms over what the caller sees; None when none of them occurs."""
    distinct = tuple(sorted(set(terms)))
    spans = tuple(tuple(map(part.segment.words.span, distinct)) for part in sight.parts)
    inside = tuple(map(_inside, sight.parts, spans))
    held = [(part, one) for part, some in zip(sight.parts, inside, strict=True) for one in some]
    holders = [
        sum(_living(part, one[number]) for part, one in held) for number in range(len(distinct))
    ]
    if not any(holders):
        return None
    rows = sight.passages
    idf = tuple(math.log(1 + (rows - there + 0.5) / (there + 0.5)) for there in holders)
    ceiling = sum(idf)
    known = sum(one for one, there in zip(idf, holders, strict=True) if there) / ceiling
    return Weights(distinct, idf, ceiling, known, sight.length / rows, spans, inside)


@dataclass(frozen=True, eq=False, slots=True)
class Looked:
    """What the words of a question are worth in some rows.

    scores: 64 bits, 0 where no term occurs. present: shape (terms, rows).
    """

    scores: Scores
    present: NDArray[np.bool_]


def look_up(segment: Segment, weights: Weights, spans: Spans, rows: Longs) -> Looked:
    """Return the exact score of each of some ascending rows; terms are added in their order."""
    present = np.zeros((len(spans), len(rows)), np.bool_)
    if _are_empty(spans):  # as in most segments of a few records
        return Looked(np.zeros(len(rows)), present)
    places = np.zeros(present.shape, np.int64)
    words = segment.words
    sought = rows.astype(words.members.dtype)  # numpy would convert the posting otherwise
    for number, (start, stop) in enumerate(spans):
        if start < stop:
            posting = words.members[start:stop]
            found = places[number] = posting.searchsorted(sought)
            np.equal(posting.take(found, mode="clip"), sought, out=present[number])
    terms, held = present.nonzero()
    starts = np.array([start for start, _ in spans], np.int64)
    repeats = words.counts[starts[terms] + places[present]]
    norms = weights.norms(segment.length[rows])[held]
    worth = np.array(weights.idf)[terms] * (repeats / (repeats + norms))
    scores: Scores = np.bincount(held, worth, len(rows)).astype(np.float64, copy=False)
    scores /= weights.ceiling
    return Looked(scores, present)


@dataclass(frozen=True, eq=False, slots=True)
class Tally:
    """What the words are worth in every row of a group, in 32 bits; several probes may be answered from it.

    scores: of every row of the segment, 0 outside of the group. touched: the rows of each term, rarest first.
    """

    scores: Shares
    touched: Sequence[NDArray[np.integer]]

    @classmethod
    def of(cls, segment: Segment, weights: Weights, inside: Spans, scratch: Shares) -> "Tally":
        """Return the sum of parts of postings; scratch: zeros, one a row, until `wipe` theirs no more."""
        words = segment.words
        touched: list[NDArray[np.integer]] = []
        for number in sorted(range(len(inside)), key=lambda at: inside[at][1] - inside[at][0]):
            first, last = inside[number]
            if first == last:
                continue
            rows = words.members[first:last]
            shares = words.counts[first:last].astype(np.float32)
            norms = segment.length.take(rows).astype(np.float32)
            norms *= K1 * B / weights.mean
            norms += K1 * (1 - B)
            norms += shares
            shares /= norms
            shares *= weights.idf[number] / weights.ceiling
            scratch[rows] += shares
            touched.append(rows)
        return cls(scratch, touched)

    def wipe(self) -> None:
        """Give the scratch back as it was."""
        for rows in self.touched:
            self.scores[rows] = 0

    @property
    def blur(self) -> float:
        """How far a score may be off."""
        return _ROUNDING * len(self.touched)


def is_rare(patch: Patch, inside: Spans) -> bool:
    """Whether looking up every candidate costs less than adding up what lies in the postings."""
    return patch.size * _LOOKED_UP * len(inside) < sum(last - first for first, last in inside)


def most_telling(
    patch: Patch, weights: Weights, spans: Spans, wanted: int, tally: Tally | None
) -> Longs:
    """Return candidates, ascending, that hold the best `wanted` by words, ties to the earlier one.

    They hold a few more where the tally says of so few that they may be: all are scored exactly later.
    """
    if tally is None:
        rows, _ = patch.segment.rows_of(patch.records)
    else:
        rows = _near_the_cut(patch, tally, wanted)
    records = patch.segment.record_of[rows]
    kept = patch.holds(records)
    if not kept.all():
        rows, records = rows[kept], records[kept]
    if len(rows) <= _SPARED * wanted:
        return distinct([records.astype(np.int64)])
    return _best_of(patch, weights, spans, rows, wanted)


def _near_the_cut(patch: Patch, tally: Tally, wanted: int) -> Longs:
    """Return rows that hold all those of the best `wanted` candidates, ascending.

    The rarest terms' rows are judged first: their best ones are a bound for the best of all.
    """
    floor = 0.0
    some: list[NDArray[np.integer]] = []
    enough = 2 * wanted
    for rows in tally.touched:
        some.append(rows)
        total = sum(map(len, some))
        if total >= enough:
            floor = _floor(patch, tally.scores, some, wanted) - tally.blur
            if floor > 0:
                break
            enough = 4 * total
    low, high = patch.rows
    found: Longs = (tally.scores[low:high] > max(floor, 0.0)).nonzero()[0]
    return found + low


def _floor(patch: Patch, scores: Shares, some: Sequence[NDArray[np.integer]], wanted: int) -> float:
    """Return the score of the last of the best `wanted` candidates among some rows; 0 if there are fewer."""
    rows = some[0] if len(some) == 1 else distinct(some)
    records = patch.segment.record_of[rows]
    kept = patch.holds(records)
    records, values = records[kept], scores[rows[kept]]
    if len(records) < wanted:
        return 0.0
    if not patch.segment.rows_are_records:
        begins = np.flatnonzero(np.concatenate(([True], records[1:] != records[:-1])))
        values = np.maximum.reduceat(values, begins)
    return 0.0 if len(values) < wanted else float(kth_largest(values, wanted))


def _best_of(patch: Patch, weights: Weights, spans: Spans, rows: Longs, wanted: int) -> Longs:
    """Return the best candidates among those with these rows, by their exact scores."""
    segment = patch.segment
    records = segment.record_of[rows]
    scores = look_up(segment, weights, spans, rows).scores
    telling = scores > 0
    if not telling.all():
        scores, records = scores[telling], records[telling]
    if len(records) == 0:
        return np.zeros(0, np.int64)
    if not segment.rows_are_records:
        begins = np.flatnonzero(np.concatenate(([True], records[1:] != records[:-1])))
        records, scores = records[begins], np.maximum.reduceat(scores, begins)
    return records[best(scores, wanted)].astype(np.int64)


def _inside(part: Part, spans: Spans) -> tuple[Spans, ...]:
    """Return per group the pieces of postings whose rows are of that group."""
    if _are_empty(spans):
        return (spans,) * len(part.groups)
    segment = part.segment
    members = segment.words.members
    ends = [end for group in part.groups for end in group.records]
    # Of the type of the postings: numpy would convert them otherwise.
    bounds = segment.row_start[ends].astype(members.dtype)
    cuts = [(members[start:stop].searchsorted(bounds) + start).tolist() for start, stop in spans]
    return tuple(tuple((cut[at], cut[at + 1]) for cut in cuts) for at in range(0, len(ends), 2))


def _are_empty(spans: Spans) -> bool:
    """Whether no term occurs."""
    return all(start == stop for start, stop in spans)


def _living(part: Part, span: tuple[int, int]) -> int:
    """Return how many living rows a piece of a posting holds."""
    view = part.view
    start, stop = span
    if start == stop or view.dead_rows is None:
        return stop - start
    gone = view.dead_rows[view.segment.words.members[start:stop]]
    return stop - start - int(np.count_nonzero(gone))
