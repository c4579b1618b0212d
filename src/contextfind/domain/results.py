"""What is answered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from contextfind.domain.queries import QueryPlan, TypedQuery
from contextfind.domain.records import ContextType, Level
from contextfind.domain.uri import Uri


@dataclass(frozen=True, slots=True)
class MatchedContext:
    """One hit; `score` lies in [0, 1], `match_reason` says in words why it is here."""

    uri: Uri
    context_type: ContextType
    level: Level
    abstract: str
    score: float
    tags: Sequence[str] = ()
    match_reason: str = ""
    content: str | None = None


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The hits of one typed query, best first."""

    query: TypedQuery
    matched_contexts: Sequence[MatchedContext]
    searched_directories: Sequence[Uri]


@dataclass(frozen=True, slots=True)
class FindResult:
    """The hits of a whole request on three shelves, best first, ties by address.

    unknown_targets: targets at which nothing is stored.
    notes: what was done without (an embedder that is down…), for telemetry and headers.
    timings: milliseconds by stage.
    """

    memories: Sequence[MatchedContext]
    resources: Sequence[MatchedContext]
    skills: Sequence[MatchedContext]
    query_plan: QueryPlan | None = None
    query_results: Sequence[QueryResult] = ()
    unknown_targets: Sequence[Uri] = ()
    notes: Sequence[str] = ()
    timings: Mapping[str, float] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """How many hits are on the three shelves together."""
        return len(self.memories) + len(self.resources) + len(self.skills)
