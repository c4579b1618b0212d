"""Candidates: the records of one group of one segment that a probe may return."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contextfind.adapters.embedded.mask import Mask, under
from contextfind.adapters.embedded.postings import Longs
from contextfind.adapters.embedded.segment import Group, Segment, numbers_of, union_of
from contextfind.adapters.embedded.snapshot import View
from contextfind.domain.filters import Filter
from contextfind.domain.uri import ROOT, Uri


@dataclass(frozen=True, eq=False, slots=True)
class Patch:
    """At least one candidate, in tree order.

    low, high: half-open range of records that holds all of them. picked: the candidates, ascending;
    None when they are the whole range. number: which view of the snapshot.
    """

    number: int
    view: View
    low: int
    high: int
    picked: Longs | None

    @property
    def segment(self) -> Segment:
        """Where the candidates lie."""
        return self.view.segment

    @property
    def rows(self) -> tuple[int, int]:
        """The half-open range of rows that holds all rows of the candidates."""
        start = self.segment.row_start
        return (int(start[self.low]), int(start[self.high]))

    @property
    def vector_count(self) -> int:
        """How many vectors the candidates have together."""
        if self.picked is None:
            return self.vector_span
        start = self.segment.vector_start
        return int((start[self.picked + 1] - start[self.picked]).sum())

    @property
    def vector_span(self) -> int:
        """How many vectors lie in the range that holds all candidates."""
        start = self.segment.vector_start
        return int(start[self.high] - start[self.low])

    def vectors(self) -> tuple[slice | Longs, Longs, Longs]:
        """Return the candidates' vectors, and the candidates that have some with how many each."""
        start = self.segment.vector_start
        if self.picked is None:
            counts = np.diff(start[self.low : self.high + 1])
            records = np.arange(self.low, self.high)
            found: slice | Longs = slice(int(start[self.low]), int(start[self.high]))
        else:
            records = self.picked
            found, counts = self.segment.vectors_of(records)
        having = counts > 0
        if having.all():
            return found, records, counts
        return found, records[having], counts[having]

    def holds(self, records: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Return which of the records are candidates."""
        if self.picked is None:
            return (self.low <= records) & (records < self.high)
        marked = np.zeros(self.high - self.low, np.bool_)
        marked[self.picked - self.low] = True
        inside = (self.low <= records) & (records < self.high)
        held: NDArray[np.bool_] = inside & marked.take(records - self.low, mode="clip")
        return held


def cut_out(
    number: int,
    view: View,
    groups: Sequence[Group],
    mask: Mask,
    probe: tuple[Sequence[Uri], Filter],
) -> Iterator[Patch]:
    """Yield the candidates in each group that has some: below the targets, matching, alive."""
    targets, where = probe
    matching = mask.records(where)
    for group in groups:
        if ROOT in targets:
            ranges: Sequence[tuple[int, int]] = (group.records,)
        else:
            ranges = [r for target in targets for r in under(view.segment, group, target)]
        found = union_of(ranges) & matching
        if view.dead:
            found -= view.dead
        if not found:
            continue
        low, high = found.min(), found.max() + 1
        whole = high - low == len(found)
        yield Patch(number, view, low, high, None if whole else numbers_of(found))
