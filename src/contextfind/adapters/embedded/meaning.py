"""The nearest candidates by cosine: scanned exactly, or found through a net of neighbours.

Every cosine that is compared or shown is computed row by row in the same order of additions (einsum, not
BLAS, at the same speed), so equal vectors have equal cosines wherever they lie and ties are true ties.
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contextfind.adapters.embedded.graph import Net
from contextfind.adapters.embedded.patch import Patch
from contextfind.adapters.embedded.planner import Neighbours, Plan, Scan, Skip, Task, plan, widen
from contextfind.adapters.embedded.postings import Longs
from contextfind.adapters.embedded.ranking import best, largest
from contextfind.adapters.embedded.rules import IndexRules
from contextfind.domain.records import Matrix, Vector

Cosines = NDArray[np.float32]
BLOCK = 1_024  # rows gathered at once: they stay in the cache
_DENSE = 4  # a range of which every fourth row is wanted is read as a whole: four times the speed


@dataclass(frozen=True, eq=False, slots=True)
class _Neighbourhood:
    """What a graph gave for one question: vectors by distance, and how many neighbours were asked for."""

    asked: int
    vectors: Longs


class Meaning:
    """Cosines of one vector for one round trip; it counts the plans.

    taken: which way was gone in the end, patch by patch, in the order they were asked for.
    buffer: shape (at least 1,024, dimension), of this thread alone.
    """

    def __init__(self, query: Vector, rules: IndexRules, buffer: Matrix) -> None:
        self._query = query
        self._rules = rules
        self._buffer = buffer
        self._walked: dict[Net, _Neighbourhood] = {}
        self.plans: Counter[str] = Counter()
        self.taken: list[tuple[Task, Plan]] = []

    def nearest(self, patch: Patch, wanted: int) -> Longs:
        """Return the best `wanted` candidates, ascending, ties to the earlier one; all if there are fewer."""
        graph = patch.part.view.graph
        net = None if graph is None else graph.over(patch.segment.vector_range(patch.group)[0])
        nodes = 0 if net is None else net.nodes
        task = Task(patch.vector_count, patch.vector_span, wanted, nodes)
        walked = None if net is None else self._walked.get(net)
        step = plan(task, self._rules, 0 if walked is None else walked.asked)
        self.plans[type(step).__name__.lower()] += 1
        while net is not None and isinstance(step, Neighbours):
            found = self._through(net, patch, step.count, wanted)
            if len(found) >= wanted:
                self.taken.append((task, step))
                return found
            step = widen(task, step, self._rules)
            self.plans["widened"] += 1
        self.taken.append((task, step))
        if isinstance(step, Skip):
            return np.zeros(0, np.int64)
        vectors, records, counts = patch.vectors()
        cosines = self.cosines(patch.segment.vectors, vectors)
        return records[best(largest(cosines, counts), wanted)]

    def note_scan(self, patch: Patch) -> None:
        """Count candidates that are all measured anyhow."""
        step: Plan = Scan() if patch.vector_count else Skip()
        self.plans[type(step).__name__.lower()] += 1
        self.taken.append((Task(patch.vector_count, patch.vector_span, patch.size, 0), step))

    def cosines(self, matrix: Matrix, rows: slice | Longs) -> Cosines:
        """Return the cosine of each row of the matrix, without copying more than a block of it."""
        if isinstance(rows, slice):
            return _dots(matrix[rows], self._query)
        if len(rows) == 0:
            return np.zeros(0, np.float32)
        low, high = int(rows[0]), int(rows[-1]) + 1
        if high - low <= _DENSE * len(rows):
            return _dots(matrix[low:high], self._query)[rows - low]
        found: Cosines = np.empty(len(rows), np.float32)
        for begin in range(0, len(rows), BLOCK):
            block = rows[begin : begin + BLOCK]
            gathered = matrix.take(block, 0, self._buffer[: len(block)], "clip")
            found[begin : begin + BLOCK] = _dots(gathered, self._query)
        return found

    def _through(self, net: Net, patch: Patch, count: int, wanted: int) -> Longs:
        """Return the nearest candidates among the nearest nodes, ascending.

        A record that is not among them has no vector as near as theirs, so as soon as there are enough
        of them the first of them are the best of all.
        """
        walked = self._walked.get(net)
        if walked is None or walked.asked < count:
            walked = self._walked[net] = _Neighbourhood(count, net.nearest(self._query, count))
        segment = patch.segment
        records = walked.vectors
        if not segment.vectors_are_records:
            records = segment.vector_start.searchsorted(records, side="right") - 1
        records = records[patch.holds(records)]
        if not segment.vectors_are_records:
            records = _each_once(records)
        nearest: Longs = records[:wanted].copy()
        nearest.sort()
        return nearest


def _each_once(records: Longs) -> Longs:
    """Return records in the order they first come."""
    order = records.argsort(kind="stable")
    alike = records[order]
    (again,) = (alike[1:] == alike[:-1]).nonzero()
    return records if len(again) == 0 else np.delete(records, order[again + 1])


def _dots(matrix: Matrix, query: Vector) -> Cosines:
    dots: Cosines = np.einsum("ij,j->i", matrix, query)
    return dots
