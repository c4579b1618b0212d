"""observer/*, stats/memories, system/consistency: answers for people who look after a server."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field
from typing_extensions import TypedDict

from contextfind.retrieval.census import Consistency, MemoryCounts
from contextfind.server.wire.answers import Amount, exact
from contextfind.server.wire.body import Body, Params, Place

# What clients of this API have columns for.
CATEGORIES = (
    "profile",
    "preferences",
    "entities",
    "events",
    "cases",
    "patterns",
    "tools",
    "skills",
)


class ObserverParams(Params):
    """How to show what is there."""

    format: Annotated[
        Literal["table", "json"],
        Field(description="`status` as a table in text, or as an object."),
    ] = "table"


class ConsistencyBody(Body):
    """Which part of the tree to compare."""

    uri: Annotated[Place, Field(description="A file or directory.")] = "viking://"


@exact
class ComponentAnswer(TypedDict):
    """One part of the server: whether it works, and what there is to say of it."""

    name: str
    is_healthy: bool
    has_errors: bool
    status: Annotated[str | dict[str, Any], Field(description="As `format` asks.")]


@exact
class SystemAnswer(TypedDict):
    """All parts; `errors` has a line for each that does not work."""

    is_healthy: bool
    errors: list[str]
    components: dict[str, ComponentAnswer]


@exact
class Hotness(TypedDict):
    """Memories by how often their text was read: never, up to four times, more often."""

    cold: Amount
    warm: Amount
    hot: Amount


@exact
class Staleness(TypedDict):
    """How old memories are; when one was last read is not kept, and null."""

    not_accessed_7d: None
    not_accessed_30d: None
    oldest_memory_age_days: Annotated[int, Field(ge=0)] | None


@exact
class MemoryStats(TypedDict):
    """The memories that the caller may see."""

    total_memories: Amount
    by_category: dict[str, int]
    hotness_distribution: Hotness
    staleness: Staleness


@exact
class Compared(TypedDict):
    """What is stored against what finds know; `index_lag` counts changes to be followed, of all accounts."""

    ok: bool
    expected_count: Amount
    missing_record_count: Annotated[
        int, Field(ge=0, description="Without a vector yet: found by words only.")
    ]
    missing_records: list[str]
    missing_records_truncated: bool
    index_lag: Amount


@dataclass(frozen=True, slots=True)
class Component:
    """A part of the server: what is wrong with it, line by line, and what there is to say of it."""

    name: str
    errors: Sequence[str]
    facts: Mapping[str, object]

    def shown(self, view: ObserverParams) -> dict[str, Any]:
        """Return it as clients read it."""
        return {
            "name": self.name,
            "is_healthy": not self.errors,
            "has_errors": bool(self.errors),
            "status": table(self.facts) if view.format == "table" else dict(self.facts),
        }


def system(components: Sequence[Component], view: ObserverParams) -> dict[str, Any]:
    """Return the `result` of observer/system."""
    errors = [f"{one.name}: {line}" for one in components for line in one.errors]
    return {
        "is_healthy": not errors,
        "errors": errors,
        "components": {one.name: one.shown(view) for one in components},
    }


def memory_stats(counts: MemoryCounts) -> dict[str, Any]:
    """Return the `result` of stats/memories; memories in no directory count for the total alone."""
    categories = dict.fromkeys(CATEGORIES, 0)
    categories |= {name: count for name, count in counts.by_directory.items() if name}
    hotness = {"cold": counts.cold, "warm": counts.warm, "hot": counts.hot}
    unknown = {"not_accessed_7d": None, "not_accessed_30d": None}
    return {
        "total_memories": counts.total,
        "by_category": categories,
        "hotness_distribution": hotness,
        "staleness": {**unknown, "oldest_memory_age_days": counts.oldest_days},
    }


def compared(found: Consistency) -> dict[str, Any]:
    """Return the `result` of system/consistency."""
    return {
        "ok": found.missing == 0 and found.lag == 0,
        "expected_count": found.records,
        "missing_record_count": found.missing,
        "missing_records": [uri.text for uri in found.first],
        "missing_records_truncated": found.missing > len(found.first),
        "index_lag": found.lag,
    }


def table(facts: Mapping[str, object]) -> str:
    """Return facts as a table of two columns in plain text."""
    rows = [(name, str(value)) for name, value in facts.items()]
    left = max((len(name) for name, _ in rows), default=0)
    right = max((len(value) for _, value in rows), default=0)
    line = f"+{'-' * (left + 2)}+{'-' * (right + 2)}+"
    inner = [f"| {name.ljust(left)} | {value.ljust(right)} |" for name, value in rows]
    return "\n".join([line, *inner, line])
