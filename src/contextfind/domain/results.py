"""What is answered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

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
class ScoreParts:
    """What the score of a hit was made of; None for what did not count.

    own: by its own text, from both channels, each between 0 and 1: meaning and words. evidence: the
    best file of its directory (of a hit that is a directory: the best below it), and witness: which
    that is. reranked: what the reranker said. hotness: how often and how lately it was used.
    """

    own: float
    meaning: float | None
    words: float | None
    evidence: float | None
    witness: Uri | None
    reranked: float | None
    hotness: float | None


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happened on a walk.

    event: a directory was opened, a hit was kept or cut, the walk ended. score: what the directory or
    the hit was worth. reason: why, in words. uri and level: None at the end of the walk; a directory
    that was opened has no level. round: in which a directory was opened. rule: what cut a hit.
    parts: of the score of a hit.
    """

    event: Literal["open", "keep", "cut", "end"]
    reason: str
    uri: Uri | None = None
    level: Level | None = None
    score: float | None = None
    round: int | None = None
    rule: str = ""
    parts: ScoreParts | None = None


@dataclass(frozen=True, slots=True)
class Trace:
    """How a walk went: its steps in order, and how many rounds and candidates there were.

    plans: how the index looked, for each of the questions it was asked about the whole tree.
    formulas: how scores are made of their parts, in words.
    """

    steps: Sequence[Step]
    rounds: int
    candidates: int
    plans: Sequence[str] = ()
    formulas: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The hits of one typed query, best first, and how they were found."""

    query: TypedQuery
    matched_contexts: Sequence[MatchedContext]
    searched_directories: Sequence[Uri]
    trace: Trace


@dataclass(frozen=True, slots=True)
class FindResult:
    """The hits of a whole request on three shelves, best first, ties by address.

    query_results: one per typed query that was walked; only when they were asked for.
    unknown_targets: targets at which nothing is stored.
    notes: what was done without (an embedder that is down…), for telemetry and headers.
    words_only: meaning had no say in it, because the embedder gave nothing.
    timings: milliseconds by stage.
    """

    memories: Sequence[MatchedContext]
    resources: Sequence[MatchedContext]
    skills: Sequence[MatchedContext]
    query_plan: QueryPlan | None = None
    query_results: Sequence[QueryResult] = ()
    unknown_targets: Sequence[Uri] = ()
    notes: Sequence[str] = ()
    words_only: bool = False
    timings: Mapping[str, float] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """How many hits are on the three shelves together."""
        return len(self.memories) + len(self.resources) + len(self.skills)
