"""When a find is answered in which way."""

import math
from dataclasses import dataclass

_BROADEST = 1_000  # nodes in one go, what pgvector allows
_MARGIN = 1.2


@dataclass(frozen=True, slots=True)
class Effort:
    """What a graph may do for one question.

    breadth: nodes it looks at in one go. deeper: it goes on, go after go, until it has found enough.
    """

    breadth: int
    deeper: bool


@dataclass(frozen=True, slots=True)
class IndexRules:
    """Numbers that weigh one way of answering against another; measured on 100,000 vectors of 384 numbers.

    scanned: so many passages are read whole and scored here, on both channels; a round of a walk sees fewer.
    sorted: so many records are sorted by their vectors without asking the graph (8 ms), and more of them in a large graph.
    counted: so many records that a filter leaves are counted, at most (8 ms).
    graph_from: vectors from which there is a graph. breadth: nodes it looks at in one go, at least.
    filtered: times as many, where a filter leaves out who knows how many of those that are found.
    postings: passages read for the words of one question, at most.
    """

    scanned: int = 1_000
    sorted: int = 2_000
    counted: int = 10_000
    graph_from: int = 2_000
    breadth: int = 160
    filtered: float = 2.0
    postings: int = 20_000

    def sorted_in(self, vectors: int, wanted: int) -> int:
        """Return how many passages of one account, among so many vectors, are rather sorted than looked for.

        Of c among n the graph passes some `wanted * n / c` nodes, each of which takes twice as long as a vector.
        """
        return max(self.sorted, int(math.sqrt(2 * wanted * vectors)))

    def sorted_of(self, vectors: int, asked: int) -> int:
        """Return how many records that a filter leaves, among so many vectors, are rather sorted than looked for.

        Of fewer the graph would not find as many vectors as are asked for, at its broadest.
        """
        return max(self.sorted, min(asked * vectors // _BROADEST, self.counted))

    def effort(self, wanted: int, share: float, *, filtered: bool) -> Effort:
        """Return what a graph may do to find so many vectors.

        share: of all its nodes, those that may be found at all, but for a filter. What a filter leaves may lie far away,
        where going on finds three in four of the nearest: so the first go has to do, or what is left is sorted.
        """
        nodes = _MARGIN * wanted / share * (self.filtered if filtered else 1.0)
        return Effort(int(min(max(self.breadth, nodes), _BROADEST)), not filtered)
