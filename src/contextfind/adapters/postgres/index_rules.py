"""When a find is answered in which way."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class IndexRules:
    """Numbers that weigh one way of answering against another.

    scanned: so many passages are read whole and scored here, on both channels; it is what a round of a walk sees.
    graph_from: vectors from which there is a graph. breadth: nodes the graph looks at for one question, at least.
    node_cost: what a node of the graph costs, in vectors that are read one by one.
    postings: passages read for the words of one question, at most.
    """

    scanned: int = 1_000
    graph_from: int = 2_000
    breadth: int = 160
    node_cost: float = 2.0
    postings: int = 20_000

    def sorted_below(self, vectors: int, wanted: int) -> int:
        """Return how many candidates are rather read one by one than looked for with the graph.

        With c candidates among n vectors the graph passes some `wanted * n / c` nodes.
        """
        return max(self.scanned, int(math.sqrt(self.node_cost * wanted * max(vectors, 1))))
