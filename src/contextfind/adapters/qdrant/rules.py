"""How much a search asks of the cluster at first, and how it goes on."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SearchRules:
    """Numbers of one search.

    passages, spare: points asked for at first, so many per record that is wanted and so many more; records have two
        to three passages, and the last of the best must be told from the next.
    more: times as many, where that was too few.
    widest: points that are looked at only to settle who is the last of the best. Where thousands of texts are alike,
        who of them is shown is no matter.
    exact_below: passages in sight up to which all that match are compared with a vector. Qdrant draws no graph over
        10 MB of vectors anyhow, which are 6,500 of 384 numbers.
    in_view: neighbours that a walk through Qdrant's graph keeps in view, at least.
    """

    passages: int = 2
    spare: int = 16
    more: int = 4
    widest: int = 4_096
    exact_below: int = 10_000
    in_view: int = 128
