"""What a find and a search answer, as frozen dataclasses; see `answers` for what they have in common."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from contextfind.client.answers import Told


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit(Told):
    """One found thing; `score` lies in 0..1, `content` is there when it was asked for."""

    uri: str
    context_type: str
    level: int
    score: float
    abstract: str = ""
    tags: tuple[str, ...] = ()
    match_reason: str = ""
    content: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreParts(Told):
    """What a score was made of; None for what did not count."""

    own: float
    meaning: float | None = None
    words: float | None = None
    evidence: float | None = None
    witness: str | None = None
    reranked: float | None = None
    hotness: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step(Told):
    """A step of a walk: `open`, `keep`, `cut` or `end`, and why.

    round: in which a directory was opened. rule: what cut a hit. parts: of the score of a hit.
    """

    event: str
    uri: str | None = None
    score: float | None = None
    reason: str = ""
    round: int | None = None
    rule: str | None = None
    parts: ScoreParts | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Walked(Told):
    """The steps of a walk, and the walk in numbers.

    index_plans: how the index looked for hits and for directories. formulas: how scores are made.
    """

    events: tuple[Step, ...] = ()
    statistics: Mapping[str, Any] = field(default_factory=dict)
    index_plans: tuple[str, ...] = ()
    formulas: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Match(Told):
    """A hit as provenance names it."""

    uri: str
    score: float
    context_type: str = ""
    tier: str = ""
    match_reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance(Told):
    """How one query was answered."""

    query: str
    searched_directories: tuple[str, ...] = ()
    matched_contexts: tuple[Match, ...] = ()
    thinking_trace: Walked = Walked()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedQuery(Told):
    """One query of a plan; `priority` 1 is most urgent, `context_type` None is all kinds."""

    query: str
    context_type: str | None = None
    intent: str = ""
    priority: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(Told):
    """What was searched in place of the question, and why."""

    reasoning: str = ""
    queries: tuple[PlannedQuery, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Found(Told):
    """The three shelves, best first each; `total` counts all of them.

    unknown_targets: the targets at which nothing is stored. notes: what was done without, such as a
    reranker that is down. query_plan: of a search, None of a find.
    """

    memories: tuple[Hit, ...] = ()
    resources: tuple[Hit, ...] = ()
    skills: tuple[Hit, ...] = ()
    total: int = 0
    provenance: tuple[Provenance, ...] = ()
    query_plan: Plan | None = None
    unknown_targets: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def hits(self) -> tuple[Hit, ...]:
        """The hits of all shelves in one order: best first, ties by address."""
        hits = [*self.memories, *self.resources, *self.skills]
        return tuple(sorted(hits, key=lambda hit: (-hit.score, hit.uri, hit.level)))
