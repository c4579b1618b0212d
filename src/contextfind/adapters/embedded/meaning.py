"""The nearest candidates by cosine: scanned exactly, or found through the graph and scored exactly.

Every cosine is computed row by row in the same order of additions (einsum, not BLAS, at the same
speed), so equal vectors have equal cosines wherever they lie and ties are true ties.
"""

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from contextfind.adapters.embedded.graph import Graph
from contextfind.adapters.embedded.patch import Patch
from contextfind.adapters.embedded.planner import Neighbours, Plan, Skip, Task, plan, widen
from contextfind.adapters.embedded.postings import Longs
from contextfind.adapters.embedded.rules import IndexRules
from contextfind.domain.records import Matrix, Vector

Cosines = NDArray[np.float32]
Ranked = tuple[Longs, NDArray[np.floating]]  # records ascending, and the score of each
_BLOCK = 1_024  # rows gathered at once: they stay in the cache
_DENSE = 4  # a range of which every fourth row is wanted is read as a whole: four times the speed
_SAMPLE = 4_096  # scores that give the first guess of the cut


class Meaning:
    """Cosines for one round trip; it keeps a buffer and counts the plans, so one thread each.

    taken: which way was gone in the end, patch by patch, in the order they were asked for.
    """

    def __init__(self, rules: IndexRules) -> None:
        self._rules = rules
        self._buffer: Matrix | None = None
        self.plans: Counter[str] = Counter()
        self.taken: list[tuple[Task, Plan]] = []

    def nearest(self, patch: Patch, query: Vector, wanted: int) -> Ranked:
        """Return the best `wanted` candidates, ties to the earlier one; all if there are fewer."""
        graph = patch.view.graph
        nodes = 0 if graph is None else graph.nodes
        task = Task(patch.vector_count, patch.vector_span, wanted, nodes)
        step = plan(task, self._rules)
        self.plans[type(step).__name__.lower()] += 1
        while graph is not None and isinstance(step, Neighbours):
            found = self._through(graph, patch, query, step.count)
            if len(found[0]) >= wanted:
                self.taken.append((task, step))
                return best(*found, wanted)
            step = widen(task, step, self._rules)
            self.plans["widened"] += 1
        self.taken.append((task, step))
        if isinstance(step, Skip):
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        vectors, records, counts = patch.vectors()
        cosines = self.cosines(patch.segment.vectors, vectors, query)
        return best(records, largest(cosines, counts), wanted)

    def cosines(self, matrix: Matrix, rows: slice | Longs, query: Vector) -> Cosines:
        """Return the cosine of each row of the matrix, without copying more than a block of it."""
        if isinstance(rows, slice):
            return _dots(matrix[rows], query)
        if len(rows) == 0:
            return np.zeros(0, np.float32)
        low, high = int(rows[0]), int(rows[-1]) + 1
        if high - low <= _DENSE * len(rows):
            return _dots(matrix[low:high], query)[rows - low]
        found: Cosines = np.empty(len(rows), np.float32)
        for begin in range(0, len(rows), _BLOCK):
            block = rows[begin : begin + _BLOCK]
            gathered = np.take(matrix, block, 0, self._gathered(matrix, len(block)), "clip")
            found[begin : begin + _BLOCK] = _dots(gathered, query)
        return found

    def _through(self, graph: Graph, patch: Patch, query: Vector, count: int) -> Ranked:
        """Return the candidates among the nearest nodes, scored exactly.

        A record that is not among them has no vector as near as theirs, so as soon as there are enough
        of them the best of them are the best of all.
        """
        segment = patch.segment
        vectors = graph.nearest(query, count)
        records = np.searchsorted(segment.vector_start, vectors, side="right") - 1
        kept = patch.holds(records)
        vectors, records = vectors[kept], records[kept]
        distinct, counts = np.unique(records, return_counts=True)
        return distinct, largest(self.cosines(segment.vectors, vectors, query), counts)

    def _gathered(self, matrix: Matrix, rows: int) -> Matrix:
        if self._buffer is None:
            self._buffer = np.empty((_BLOCK, matrix.shape[1]), np.float32)
        return self._buffer[:rows]


def largest(scores: NDArray[np.floating], counts: Longs) -> NDArray[np.floating]:
    """Return the largest of each run of adjacent scores; runs have the lengths `counts`, none is 0."""
    if len(scores) == len(counts):
        return scores
    found: NDArray[np.floating] = np.maximum.reduceat(scores, np.cumsum(counts) - counts)
    return found


def mean_of_best(scores: Cosines, counts: Longs, most: int) -> NDArray[np.float64]:
    """Return the mean of the `most` largest of each run of adjacent scores, of all of a shorter run."""
    if len(scores) == len(counts):
        return scores.astype(np.float64)
    run_of = np.repeat(np.arange(len(counts)), counts)
    order = np.lexsort((-scores, run_of))
    begins = np.cumsum(counts) - counts
    taken = np.arange(len(scores)) - begins[run_of] < most
    sums = np.bincount(run_of[taken], scores[order][taken], len(counts))
    means: NDArray[np.float64] = sums / np.minimum(counts, most)
    return means


def best(records: Longs, scores: NDArray[np.floating], wanted: int) -> Ranked:
    """Return the `wanted` largest scores with their records, still ascending; ties to the earlier."""
    if len(records) <= wanted:
        return records, scores
    if len(scores) > 2 * max(_SAMPLE, wanted):
        sample = scores[:: len(scores) // max(_SAMPLE, wanted)]
        above = np.flatnonzero(scores >= _kth(sample, wanted))
        records, scores = records[above], scores[above]
    cut = _kth(scores, wanted)
    sure = np.flatnonzero(scores > cut)
    tied = np.flatnonzero(scores == cut)[: wanted - len(sure)]
    chosen = np.sort(np.concatenate((sure, tied)))
    return records[chosen], scores[chosen]


def _kth(scores: NDArray[np.floating], wanted: int) -> np.floating:
    place = len(scores) - wanted
    kth: np.floating = np.partition(scores, place)[place]
    return kth


def _dots(matrix: Matrix, query: Vector) -> Cosines:
    dots: Cosines = np.einsum("ij,j->i", matrix, query)
    return dots
