"""One state of the index; searches hold on to it while the next one is made."""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap

from contextfind.adapters.embedded.graph import Graph
from contextfind.adapters.embedded.postings import Longs
from contextfind.adapters.embedded.segment import Group, Segment, bitmap_of, numbers_of


@dataclass(frozen=True, eq=False)
class View:
    """A segment as it now counts: `dead` are the records that later changes replaced or removed.

    The bitmap is never changed, only replaced. graph: None until it is built.
    """

    segment: Segment
    dead: BitMap = field(default_factory=BitMap)
    graph: Graph | None = None

    @property
    def kept(self) -> Longs:
        """The records that still count, ascending."""
        alive = np.ones(self.segment.size, np.bool_)
        alive[numbers_of(self.dead)] = False
        return np.flatnonzero(alive)

    @cached_property
    def dead_rows(self) -> NDArray[np.bool_] | None:
        """Which rows belong to dead records; None when all are alive."""
        if not self.dead:
            return None
        marked = np.zeros(self.segment.rows, np.bool_)
        marked[self.segment.rows_of(numbers_of(self.dead))[0]] = True
        return marked

    def census(self, group: Group) -> tuple[int, int]:
        """Return how many living rows a group has, and how many terms stand in them."""
        segment = self.segment
        low, high = (int(segment.row_start[record]) for record in group.records)
        rows = high - low
        terms = int(segment.total_length[high] - segment.total_length[low])
        if self.dead_rows is not None:
            gone = self.dead_rows[low:high]
            rows -= int(np.count_nonzero(gone))
            terms -= int(segment.length[low:high][gone].sum(dtype=np.int64))
        return rows, terms

    def without(self, ids: Longs) -> "View":
        """Return the view with the records of these ids dead; the same view if none is here."""
        found = self.segment.holding(ids)
        if len(found) == 0:
            return self
        return replace(self, dead=self.dead | bitmap_of(np.sort(found)))


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All views, each living record in exactly one, and the log position they stand for."""

    views: tuple[View, ...] = ()
    position: int = 0
