"""Hits onto the three shelves of an answer."""

from collections.abc import Sequence

from contextfind.domain.records import ContextType
from contextfind.domain.results import FindResult, MatchedContext


def shelve(hits: Sequence[MatchedContext]) -> FindResult:
    """Return the hits grouped by kind; their order (best first) stays within each group."""
    by_type: dict[ContextType, list[MatchedContext]] = {kind: [] for kind in ContextType}
    for hit in hits:
        by_type[hit.context_type].append(hit)
    return FindResult(
        memories=by_type[ContextType.MEMORY],
        resources=by_type[ContextType.RESOURCE],
        skills=by_type[ContextType.SKILL],
    )
