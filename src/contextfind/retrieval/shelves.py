"""Hits onto the three shelves of an answer."""

from collections.abc import Sequence

from contextfind.domain.records import ContextType
from contextfind.domain.results import FindResult, MatchedContext
from contextfind.domain.uri import Uri


def shelve(
    hits: Sequence[MatchedContext],
    *,
    unknown_targets: Sequence[Uri] = (),
    notes: Sequence[str] = (),
    timings: dict[str, float] | None = None,
) -> FindResult:
    """Return the hits grouped by kind; their order (best first) stays within each group."""
    by_type: dict[ContextType, list[MatchedContext]] = {kind: [] for kind in ContextType}
    for hit in hits:
        by_type[hit.context_type].append(hit)
    return FindResult(
        memories=by_type[ContextType.MEMORY],
        resources=by_type[ContextType.RESOURCE],
        skills=by_type[ContextType.SKILL],
        unknown_targets=unknown_targets,
        notes=notes,
        timings=timings or {},
    )
