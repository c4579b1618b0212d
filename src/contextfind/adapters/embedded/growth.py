"""Which segments to write together, so that a handful of them holds everything."""

from collections.abc import Sequence
from dataclasses import dataclass

from contextfind.adapters.embedded.rules import IndexRules


@dataclass(frozen=True, slots=True)
class Size:
    """Of one segment: its rows, and the share of its records that no longer count."""

    rows: int
    dead: float


def choose(sizes: Sequence[Size], rules: IndexRules) -> list[int]:
    """Return the places of the segments to merge into one, or to write again alone; none when all is well.

    All small ones go together, then every next one that is not `merge_ratio` times larger than those
    together: their number grows with the logarithm of the rows, and so does the number of times that a
    row is copied (4 times while a million come by the thousand).
    """
    order = sorted(range(len(sizes)), key=lambda place: sizes[place].rows)
    chosen = [place for place in order if sizes[place].rows < rules.small_rows]
    total = sum(sizes[place].rows for place in chosen)
    for place in order[len(chosen) :]:
        if chosen and sizes[place].rows >= rules.merge_ratio * total:
            break
        chosen.append(place)
        total += sizes[place].rows
    if len(chosen) > 1:
        return chosen
    return _worn(order, sizes, rules)


def gather(sizes: Sequence[Size], rules: IndexRules) -> list[int]:
    """Return what to merge when there is time for it; none when all is well.

    The largest one that is not `quiet_ratio` times larger than all smaller ones together, and those: what
    came in a bulk becomes one segment with one graph, and what trickles in is drawn some nine times until
    it is part of the largest. Segments too small for a graph are left to `choose`.
    """
    order = sorted(range(len(sizes)), key=lambda place: sizes[place].rows)
    chosen: list[int] = []
    total = 0
    for number, place in enumerate(order):
        rows = sizes[place].rows
        if number > 0 and rules.graph_from <= rows < rules.quiet_ratio * total:
            chosen = order[: number + 1]
        total += rows
    return chosen or _worn(order, sizes, rules)


def _worn(order: Sequence[int], sizes: Sequence[Size], rules: IndexRules) -> list[int]:
    return [place for place in order if sizes[place].dead > rules.rewrite_dead][:1]
