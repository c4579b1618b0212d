"""Candidates: the records of one group of one segment that a probe may return."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap

from contextfind.adapters.embedded.mask import under
from contextfind.adapters.embedded.postings import Longs
from contextfind.adapters.embedded.segment import Group, Segment, bitmap_of, numbers_of, union_of
from contextfind.adapters.embedded.sight import Part
from contextfind.domain.filters import Filter
from contextfind.domain.uri import ROOT, Uri

# A table of so many records costs as much as looking one of them up in a bitmap, and it is there for the next time.
_SCATTERED = 100


@dataclass(frozen=True, eq=False)
class Patch:
    """At least one candidate, in tree order.

    low, high: half-open range of records that holds all of them. found: the candidates; None when they
    are the whole range.
    """

    part: Part
    group: Group
    low: int
    high: int
    found: BitMap | None

    @property
    def segment(self) -> Segment:
        """Where the candidates lie."""
        return self.part.view.segment

    @property
    def records(self) -> Longs:
        """The candidates, ascending."""
        return np.arange(self.low, self.high) if self.found is None else self._numbers

    @property
    def size(self) -> int:
        """How many candidates there are."""
        return self.high - self.low if self.found is None else len(self.found)

    @property
    def rows(self) -> tuple[int, int]:
        """The half-open range of rows that holds all rows of the candidates."""
        start = self.segment.row_start
        return (int(start[self.low]), int(start[self.high]))

    @property
    def reach(self) -> tuple[int, int]:
        """The half-open range of rows of the whole group."""
        start = self.segment.row_start
        return (int(start[self.group.records[0]]), int(start[self.group.records[1]]))

    @cached_property
    def vector_count(self) -> int:
        """How many vectors the candidates have together."""
        if self.found is None or self.segment.vectors_are_records:
            return self.vector_span if self.found is None else self.size
        start, records = self.segment.vector_start, self.records
        return int((start[records + 1] - start[records]).sum())

    @property
    def vector_span(self) -> int:
        """How many vectors lie in the range that holds all candidates."""
        start = self.segment.vector_start
        return int(start[self.high] - start[self.low])

    def vectors(self) -> tuple[slice | Longs, Longs, Longs]:
        """Return the candidates' vectors, and the candidates that have some with how many each."""
        start = self.segment.vector_start
        if self.found is None:
            counts = np.diff(start[self.low : self.high + 1])
            vectors: slice | Longs = slice(int(start[self.low]), int(start[self.high]))
        else:
            vectors, counts = self.segment.vectors_of(self.records)
        having = counts > 0
        if having.all():
            return vectors, self.records, counts
        return vectors, self.records[having], counts[having]

    def holds(self, records: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Return which of the records are candidates."""
        if self.found is None:
            return (self.low <= records) & (records < self.high)
        if "_table" in self.__dict__ or len(records) * _SCATTERED >= self.high - self.low:
            inside = (self.low <= records) & (records < self.high)
            return inside & self._table.take(records - self.low, mode="clip")
        known = numbers_of(bitmap_of(records) & self.found)
        if len(known) == 0:
            return np.zeros(len(records), np.bool_)
        places = np.minimum(known.searchsorted(records), len(known) - 1)
        held: NDArray[np.bool_] = known[places] == records
        return held

    @cached_property
    def _numbers(self) -> Longs:
        return np.arange(0) if self.found is None else numbers_of(self.found)

    @cached_property
    def _table(self) -> NDArray[np.bool_]:
        marked = np.zeros(self.high - self.low, np.bool_)
        marked[self.records - self.low] = True
        return marked


def cut_out(part: Part, targets: Sequence[Uri], where: Filter) -> Iterator[Patch]:
    """Yield the candidates in each group that has some: below the targets, matching, alive."""
    mask = part.mask
    matching = mask.records(where)
    alone = len(part.groups) == 1
    for group in part.groups:
        if ROOT not in targets:
            found = matching & union_of(
                r for target in targets for r in under(part.segment, group, target)
            )
        elif alone:  # nothing of another group is in `everything`, and little elsewhere
            found = matching if matching is mask.everything else matching & mask.everything
        else:
            found = matching & union_of((group.records,))
        if part.view.dead and matching is not mask.everything:
            found = found - part.view.dead
        if not found:
            continue
        low, high = found.min(), found.max() + 1
        yield Patch(part, group, low, high, None if high - low == len(found) else found)
