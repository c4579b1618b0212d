"""What some records of one segment measure at: exactly, on both channels, whoever put them forward."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contextfind.adapters.embedded.meaning import Cosines, Meaning
from contextfind.adapters.embedded.phrases import Wanted, score_pairs
from contextfind.adapters.embedded.postings import Longs
from contextfind.adapters.embedded.ranking import first_largest, largest, mean_of_best
from contextfind.adapters.embedded.segment import Segment
from contextfind.adapters.embedded.words import Looked, Scores, Spans, Weights, look_up
from contextfind.ports.index import SUPPORTERS


@dataclass(frozen=True, eq=False, slots=True)
class Facts:
    """Of ascending records: the largest cosine (NaN without a vector) and the best words of their passages.

    rows, counts: their rows one after the other, how many each has. dots, sizes: cosines of their vectors one
    after the other, how many each has. chosen: which of them are described in the end, set as they are chosen.
    """

    segment: Segment
    records: Longs
    rows: Longs
    counts: Longs
    looked: Looked | None
    dots: Cosines
    sizes: Longs
    cosines: Scores
    words: Scores
    chosen: NDArray[np.bool_]

    def places(self, records: Longs) -> Longs:
        """Return where some of the records stand."""
        if len(records) == len(self.records):
            return np.arange(len(records))
        return self.records.searchsorted(records)


@dataclass(frozen=True, eq=False, slots=True)
class Description:
    """Of all records of `Facts`, filled in where they are chosen: support, phrases, ordinal of the best passage.

    held: which terms it holds, shape (records, terms); no terms where no words are asked for.
    """

    supports: Scores
    phrases: Scores
    passages: NDArray[np.int64]
    held: NDArray[np.bool_]


def measure(
    segment: Segment,
    records: Longs,
    meaning: Meaning | None,
    words: tuple[Weights, Spans] | None,
) -> Facts:
    """Return the facts of ascending records; a channel that is not asked finds nothing."""
    rows, counts = segment.rows_of(records)
    looked = None if words is None else look_up(segment, *words, rows)
    telling: Scores = np.zeros(len(records))
    if looked is not None:
        telling = largest(looked.scores, counts).astype(np.float64, copy=False)
    cosines: Scores = np.full(len(records), np.nan)
    dots: Cosines = np.zeros(0, np.float32)
    sizes: Longs = np.zeros(len(records), np.int64)
    if meaning is not None:
        vectors, sizes = segment.vectors_of(records)
        dots = meaning.cosines(segment.vectors, vectors)
        if len(dots):
            having = sizes > 0
            cosines[having] = largest(dots, sizes[having])
    chosen = np.zeros(len(records), np.bool_)
    return Facts(segment, records, rows, counts, looked, dots, sizes, cosines, telling, chosen)


def describe(facts: Facts, pairs: Wanted | None) -> Description:
    """Return the rest of what is told of the chosen records."""
    chosen, segment = facts.chosen, facts.segment
    supports: Scores = np.full(len(chosen), np.nan)
    phrases: Scores = np.zeros(len(chosen))
    passages = np.zeros(len(chosen), np.int64)
    counts = facts.counts[chosen]
    mine = chosen.repeat(facts.counts)
    rows = facts.rows[mine]
    looked = facts.looked
    sums = np.zeros(len(rows)) if looked is None else looked.scores[mine]
    present = np.zeros((0, len(rows)), np.bool_) if looked is None else looked.present[:, mine]
    if looked is not None and pairs is not None:
        phrases[chosen] = largest(score_pairs(segment, pairs, rows, present), counts)
    sizes = facts.sizes[chosen]
    having = sizes > 0
    if having.any():
        dots = facts.dots[chosen.repeat(facts.sizes)]
        supports[chosen.nonzero()[0][having]] = mean_of_best(dots, sizes[having], SUPPORTERS)
        if len(sums) > len(counts):
            sums = sums.copy()
            sums[having.repeat(counts)] += dots
    best = first_largest(sums, counts)
    passages[chosen] = segment.ordinal[rows[best]]
    held = np.zeros((len(chosen), len(present)), np.bool_)
    held[chosen] = present[:, best].T
    return Description(supports, phrases, passages, held)
