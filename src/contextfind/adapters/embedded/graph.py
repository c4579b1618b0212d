"""Neighbour graphs over the vectors of one segment: built once, never changed, dropped with it.

Each group of a segment (what a user owns, what an account shares) that is large has a net of its own: nobody
walks through the records of others to find their own, and nobody's speed depends on what others store.

hnswlib is used within what was found safe: rows of unit length in space 'ip', fixed seed, one
thread, no deletes, no resizing, no filter callback; `ef` is steered by how many neighbours are
asked for. Equal vectors are one node, because numbers of equal nodes cut others off.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextfind.adapters.embedded.aside import done_aside
from contextfind.adapters.embedded.pages import large_pages
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
_BLOCK = 1_000  # rows between two looks up from the work, about a quarter of a second


@dataclass(frozen=True, eq=False, slots=True)
class Net:
    """The library's index over one range of vectors, and which of them each node stands for (CSR form).

    first: the first vector of the range; members are counted from there.
    """

    first: int
    index: Any
    start: Longs
    members: Longs

    @property
    def nodes(self) -> int:
        """How many distinct vectors there are."""
        return len(self.start) - 1

    @property
    def node_of(self) -> Ints:
        """The node of each vector."""
        nodes: Ints = np.empty(len(self.members), np.int32)
        nodes[self.members] = np.repeat(np.arange(self.nodes), np.diff(self.start))
        return nodes

    def nearest(self, query: Vector, count: int) -> Longs:
        """Return the vectors of the `count` nearest nodes, nearest first; fewer when some are out of reach.

        Vectors of one node are equal, and stand in ascending order.
        """
        count = min(count, self.nodes)
        while count > 0:
            try:
                labels, _ = self.index.knn_query(query, k=count, num_threads=1)
            except RuntimeError:  # fewer nodes than asked for can be reached
                count //= 2
                continue
            nodes = labels[0].astype(np.int64)
            starts = self.start[nodes]
            return self.members[spread(starts, self.start[nodes + 1] - starts)] + self.first
        return np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class Graph:
    """The nets of a segment."""

    nets: tuple[Net, ...]

    def over(self, first: int) -> Net | None:
        """Return the net of the range that begins with this vector."""
        return next((net for net in self.nets if net.first == first), None)

    @property
    def vectors(self) -> int:
        """How many vectors are in nets."""
        return sum(len(net.members) for net in self.nets)


def available(library: Any = hnswlib) -> bool:
    """Say whether graphs can be built; if not, log so."""
    if library is None:
        _log.warning("hnswlib is not installed: every search scans its candidates (exact, slower)")
    return library is not None


def nodes_of(vectors: Matrix) -> Ints:
    """Return the node of each vector; equal vectors share one, numbered by first appearance."""
    marks = _marks_of(vectors)
    order = np.argsort(marks, kind="stable")
    fresh = np.ones(len(order), np.bool_)
    fresh[1:] = marks[order[1:]] != marks[order[:-1]]
    for begin in range(0, len(order), _BLOCK):
        alike = begin + np.flatnonzero(~fresh[begin : begin + _BLOCK])
        fresh[alike] = (_bits(vectors[order[alike]]) != _bits(vectors[order[alike - 1]])).any(1)
    firsts = order[fresh]
    numbers = np.empty(len(firsts), np.int32)
    numbers[np.argsort(firsts)] = np.arange(len(firsts), dtype=np.int32)
    nodes: Ints = np.empty(len(order), np.int32)
    nodes[order] = numbers[np.cumsum(fresh) - 1]
    return nodes


def build_graph(
    vectors: Matrix, ranges: Sequence[tuple[int, int]], told: Callable[[int], bool]
) -> Graph | None:
    """Return nets over half-open ranges of unit rows, or None when told to stop.

    told: hears how many nodes are in, every thousand, and says whether to go on.
    """
    nets: list[Net] = []
    done = 0
    for first, last in ranges:
        held = vectors[first:last]
        net = _assemble(_new_index(vectors.shape[1]), first, nodes_of(held))
        firsts = net.members[net.start[:-1]]
        with large_pages(filled=False):
            net.index.init_index(
                max_elements=net.nodes, ef_construction=_BUILD_EF, M=_LINKS, random_seed=_SEED
            )
        for begin in range(0, net.nodes, _BLOCK):
            if not told(done + begin):
                return None
            block = firsts[begin : begin + _BLOCK]
            labels = np.arange(begin, begin + len(block))
            net.index.add_items(held[block], labels, num_threads=1)
        nets.append(net)
        done += net.nodes
    return Graph(tuple(nets))


def save_net(net: Net, path: Path) -> None:
    """Write the links; holds the interpreter for .6 s per 100,000 nodes.

    Raises:
        OSError: the disk did not take all of it.

    """
    net.index.save_index(str(path))
    if path.stat().st_size != net.index.index_file_size():
        raise OSError(f"{path.name} was not written to its end")  # the library does not say


def save_net_aside(net: Net, path: Path) -> None:
    """Write the links from a copy of this process, so that nobody waits for the interpreter.

    Raises:
        OSError: it could not be written.

    """
    if not done_aside(lambda: save_net(net, path)):
        raise OSError(f"{path.name} was not written")


def load_net(path: Path, first: int, node_of: Ints, dimension: int) -> Net:
    """Read back what `save_net` wrote; holds the interpreter for .4 s per 100,000 nodes.

    The caller has verified the file. node_of: the node of each vector of the range.

    Raises:
        ValueError: the file belongs to other vectors.

    """
    net = _assemble(_new_index(dimension), first, node_of)
    try:
        with large_pages(filled=True):
            net.index.load_index(str(path))
    except RuntimeError as error:
        raise ValueError(f"{path.name} is no graph: {error}") from None
    if net.index.get_current_count() != net.nodes:
        raise ValueError(f"{path.name} has another number of nodes than its segment")
    return net


def _marks_of(vectors: Matrix) -> NDArray[np.uint64]:
    """Return a number for each vector that is the same for equal ones, and hardly ever for others."""
    marks: NDArray[np.uint64] = np.empty(len(vectors), np.uint64)
    factors = np.random.default_rng(_SEED).integers(1, 2**63, vectors.shape[1], np.uint64) | 1
    for begin in range(0, len(vectors), _BLOCK):
        marks[begin : begin + _BLOCK] = (_bits(vectors[begin : begin + _BLOCK]) * factors).sum(1)
    return marks


def _bits(vectors: Matrix) -> NDArray[np.uint64]:
    return np.ascontiguousarray(vectors).view(np.uint32).astype(np.uint64)


def _new_index(dimension: int) -> Any:
    return hnswlib.Index(space="ip", dim=dimension)


def _assemble(index: Any, first: int, node_of: Ints) -> Net:
    sizes = np.bincount(node_of)
    start = np.concatenate(([0], np.cumsum(sizes)))
    return Net(first, index, start.astype(np.int64), np.argsort(node_of, kind="stable"))
