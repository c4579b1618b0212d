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

    All small ones go together, then every segment that is not `merge_ratio` times larger than all
    smaller ones together: their number grows with the logarithm of the rows, and so does the number
    of times that a row is copied.
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
    return [place for place in order if sizes[place].dead > rules.rewrite_dead][:1]
