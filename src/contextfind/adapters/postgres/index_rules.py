"""When a find is answered in which way."""

import math
from dataclasses import dataclass

_BROADEST = 1_000  # nodes in one go, what pgvector allows
_MARGIN = 1.2


@dataclass(frozen=True, slots=True)
class Effort:
    """What a graph may do for one question.

    breadth: nodes it looks at before it gives the first answers. nodes: when it gives up, about.
    """

    breadth: int
    nodes: int


@dataclass(frozen=True, slots=True)
class IndexRules:
    """Numbers that weigh one way of answering against another; measured on 100,000 vectors of 384 numbers.

    scanned: so many passages are read whole and scored here, on both channels; a round of a walk sees fewer.
    sorted: so many records are sorted by their vectors rather than looked for with the graph (5 ms).
    graph_from: vectors from which there is a graph. breadth: nodes it looks at in one go, at least.
    node_cost: what a node of the graph costs, in vectors that are read by their numbers (15 and 5 microseconds).
    postings: passages read for the words of one question, at most.
    """

    scanned: int = 1_000
    sorted: int = 2_000
    graph_from: int = 2_000
    breadth: int = 160
    node_cost: float = 3.0
    postings: int = 20_000

    def effort(self, wanted: int, share: float, vectors: int) -> Effort:
        """Return what a graph may do to find so many vectors.

        share: of all its nodes, those that may be found at all, but for a filter. Where a filter leaves so little that
        the graph gives up, sorting what is left costs no more than has been spent by then.
        """
        nodes = math.sqrt(wanted * max(vectors, 1) / self.node_cost)
        breadth = int(min(max(self.breadth, _MARGIN * wanted / share), _BROADEST))
        return Effort(breadth, max(int(nodes), 2 * breadth))
