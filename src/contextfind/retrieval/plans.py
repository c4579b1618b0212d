"""What becomes of a planner's queries: the plan of one search.

The original query is always asked too, untyped, so that a planner that misunderstands loses nothing.
Their hits share one list. The scores of a query count a hundredth less for every step of priority: of
equal hits the more urgent one stands first, and no score is moved by more than .04. A query that leans
on what was said before (`how do we undo it?`) counts `LEANING` beside the ones that say what is meant:
a text may fit half a question very well.
"""

from collections.abc import Sequence
from dataclasses import replace

from contextfind.domain.queries import QueryPlan, TypedQuery

MOST_PLANNED = 5  # besides the original
MOST_URGENT, LEAST_URGENT = 1, 5
LEANING = 0.7  # .5 to .8 measure alike; 1 lost a fourth of the first places
_STEP = 0.01
_COMPARED = 1_000  # characters: planned queries are shorter, and an original may be a pasted file


def only(query: str, reasoning: str) -> QueryPlan:
    """Return the plan that searches the query as it was asked; nothing where it is blank."""
    asked = (TypedQuery(query, priority=MOST_URGENT),) if query.strip() else ()
    return QueryPlan(asked, reasoning)


def nothing(reasoning: str) -> QueryPlan:
    """Return the plan of a message that needs no retrieval."""
    return QueryPlan((), reasoning)


def together(
    query: str, planned: Sequence[TypedQuery], reasoning: str, *, leans: bool
) -> QueryPlan:
    """Return the plan that searches the most urgent of `planned`, each once, and the original query.

    Most urgent first, in the order of the planner; the original before them, or last where it leans
    on what was said before.
    """
    others: dict[tuple[str, str | None], TypedQuery] = {}
    for typed in sorted(planned, key=lambda one: one.priority):
        if _folded(typed.query) != _folded(query):
            others.setdefault((_folded(typed.query), typed.context_type), typed)
    chosen = [replace(typed, weight=_weight(typed)) for typed in others.values()][:MOST_PLANNED]
    if not chosen:
        return only(query, reasoning)
    if leans:
        original = TypedQuery(query, priority=LEAST_URGENT, weight=LEANING)
        return QueryPlan((*chosen, original), reasoning)
    return QueryPlan((TypedQuery(query, priority=MOST_URGENT), *chosen), reasoning)


def _weight(typed: TypedQuery) -> float:
    return typed.weight * (1 - _STEP * (typed.priority - MOST_URGENT))


def _folded(text: str) -> str:
    return " ".join(text[:_COMPARED].casefold().split())
