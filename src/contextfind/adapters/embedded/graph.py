"""A neighbour graph over the vectors of one segment: built once, never changed, dropped with it.

hnswlib is used within what was found safe: rows of unit length in space 'ip', fixed seed, one
thread, no deletes, no resizing, no filter callback; `ef` is steered by how many neighbours are
asked for. Equal vectors are one node, because numbers of equal nodes cut others off.
"""

import hashlib
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from contextfind.adapters.embedded.postings import Ints, Longs
from contextfind.adapters.embedded.segment import spread
from contextfind.domain.records import Matrix, Vector

try:
    import hnswlib
except ImportError:  # its wheel is compiled on installation; the index works without it
    hnswlib = None

_log = logging.getLogger(__name__)
_LINKS = 16  # per node; 32 gave nothing at 20,000 rows
_BUILD_EF = 100
_SEED = 100
_BLOCK = 1_000  # rows between two looks at `stopped`, about a quarter of a second


@dataclass(frozen=True, eq=False, slots=True)
class Graph:
    """The library's index, and which vectors each of its nodes stands for (CSR form)."""

    index: Any
    start: Longs
    members: Longs

    @property
    def nodes(self) -> int:
        """How many distinct vectors there are."""
        return len(self.start) - 1

    def nearest(self, query: Vector, count: int) -> Longs:
        """Return the vectors of the `count` nearest nodes, ascending; fewer when some are out of reach."""
        count = min(count, self.nodes)
        while count > 0:
            try:
                labels, _ = self.index.knn_query(query, k=count, num_threads=1)
            except RuntimeError:  # fewer nodes than asked for can be reached
                count //= 2
                continue
            nodes = labels[0].astype(np.int64)
            starts = self.start[nodes]
            return np.sort(self.members[spread(starts, self.start[nodes + 1] - starts)])
        return np.zeros(0, np.int64)


def available(library: Any = hnswlib) -> bool:
    """Say whether graphs can be built; if not, log so."""
    if library is None:
        _log.warning("hnswlib is not installed: every search scans its candidates (exact, slower)")
    return library is not None


def nodes_of(vectors: Matrix) -> Ints:
    """Return the node of each vector; equal vectors share one, numbered by first appearance."""
    known: dict[bytes, int] = {}
    nodes = [
        known.setdefault(hashlib.blake2b(row, digest_size=16).digest(), len(known))
        for row in np.ascontiguousarray(vectors)
    ]
    return np.array(nodes, np.int32)


def build_graph(vectors: Matrix, stopped: Callable[[], bool]) -> Graph | None:
    """Return a graph over unit rows, or None when `stopped` said so meanwhile."""
    node_of = nodes_of(vectors)
    graph = _assemble(_new_index(vectors.shape[1]), node_of)
    firsts = graph.members[graph.start[:-1]]
    graph.index.init_index(
        max_elements=graph.nodes, ef_construction=_BUILD_EF, M=_LINKS, random_seed=_SEED
    )
    for begin in range(0, graph.nodes, _BLOCK):
        if stopped():
            return None
        block = firsts[begin : begin + _BLOCK]
        labels = np.arange(begin, begin + len(block))
        graph.index.add_items(vectors[block], labels, num_threads=1)
    return graph


def save_graph(graph: Graph, path: Path) -> None:
    """Write the links; holds the interpreter for .6 s per 100,000 nodes, so only when closing."""
    graph.index.save_index(str(path))


def load_graph(path: Path, vectors: Matrix) -> Graph:
    """Read back what `save_graph` wrote for the same vectors; the caller has verified the file.

    Raises:
        ValueError: the file belongs to other vectors.

    """
    node_of = nodes_of(vectors)
    graph = _assemble(_new_index(vectors.shape[1]), node_of)
    try:
        graph.index.load_index(str(path))
    except RuntimeError as error:
        raise ValueError(f"{path.name} is no graph: {error}") from None
    if graph.index.get_current_count() != graph.nodes:
        raise ValueError(f"{path.name} has another number of nodes than its segment")
    return graph


def _new_index(dimension: int) -> Any:
    return hnswlib.Index(space="ip", dim=dimension)


def _assemble(index: Any, node_of: Ints) -> Graph:
    sizes = np.bincount(node_of)
    start = np.concatenate(([0], np.cumsum(sizes)))
    return Graph(index, start.astype(np.int64), np.argsort(node_of, kind="stable"))
