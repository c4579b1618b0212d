"""The hits of several queries on one list.

A record that several queries found has the best of its scores; what a query found counts by its
weight (`TypedQuery.weight`). With one query, or with weights of 1, every score is the one that a find
of that query shows.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from contextfind.domain.records import Level, shown_address
from contextfind.domain.uri import Uri
from contextfind.retrieval.duplicates import Chosen, Saying, saying
from contextfind.retrieval.frontier import SCORE_DIGITS
from contextfind.retrieval.inquiry import Answered


@dataclass(frozen=True, slots=True)
class Merged:
    """A hit of the whole request.

    score: as it is shown. by: number of the query that gives it, the first one of equals.
    """

    chosen: Chosen
    score: float
    by: int


def merge(
    answered: Sequence[Answered], limit: int, floor: float | None, *, collapse: bool
) -> Sequence[Merged]:
    """Return at most `limit` hits that score at least `floor`, best first, ties by address.

    Each address and level once; with `collapse` each text once, as on the page of a single query.
    """
    if _is_one_page(answered):
        page = answered[0].page.chosen
        return [Merged(chosen, chosen.scored.score, 0) for chosen in page[:limit]]
    best: dict[tuple[Uri, Level], Merged] = {}
    for one in _all(answered):
        key = (one.chosen.record.uri, one.chosen.record.level)
        if key not in best or one.score > best[key].score:
            best[key] = one
    ranked = sorted(best.values(), key=_place)
    kept = [one for one in ranked if floor is None or one.score >= floor]
    return (list(_each_text_once(kept)) if collapse else kept)[:limit]


def _is_one_page(answered: Sequence[Answered]) -> bool:
    """Whether there is nothing to weigh: the page of one query is such a list already."""
    if len(answered) != 1 or answered[0].inquiry.typed.weight != 1.0:
        return False
    return all(chosen.scored.reranked is None for chosen in answered[0].page.chosen)


def _all(answered: Sequence[Answered]) -> Iterator[Merged]:
    """Yield the hits of all queries as they are weighed.

    Where the reranker judged one query and failed another, the hits of the other stand below all that it
    scored, as texts do that it was not shown.
    """
    lowest = min((score for one in answered for score in _reranked(one)), default=1.0)
    for by, one in enumerate(answered):
        judged = any(True for _ in _reranked(one))
        weight = one.inquiry.typed.weight * (1.0 if judged else lowest)
        digits = SCORE_DIGITS if lowest == 1.0 else one.walk.frontier.digits
        for chosen in one.page.chosen:
            yield Merged(chosen, round(weight * chosen.scored.score, digits), by)


def _reranked(one: Answered) -> Iterator[float]:
    scored = (chosen.scored for chosen in one.page.chosen)
    return (hit.semantic for hit in scored if hit.reranked is not None)


def _place(one: Merged) -> tuple[float, str]:
    return -one.score, shown_address(one.chosen.record.uri, one.chosen.record.level)


def _each_text_once(ranked: Sequence[Merged]) -> Iterator[Merged]:
    said: set[Saying] = set()
    for one in ranked:
        text = saying(one.chosen.record, one.chosen.passage)
        if text is None or text not in said:
            yield one
        if text is not None:
            said.add(text)
