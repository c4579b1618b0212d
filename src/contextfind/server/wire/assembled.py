"""The shape of an assembled context, and of the answer to a recall."""

import hashlib
from collections.abc import Sequence
from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict  # before 3.12 pydantic takes no other

from contextfind.answering.assembly.categories import CATEGORIES, ORIGINS
from contextfind.answering.assembly.request import Assembled, ContextQuestion
from contextfind.answering.assembly.tiers import Shown, Tier
from contextfind.server.wire.answers import Address, Amount, exact

Category = Literal[
    "events", "entities", "preferences", "experiences", "resources", "skills", "memories"
]
Detail = Literal["full", "overview", "abstract", "uri"]


@exact
class ContextEntry(TypedDict):
    """One entry of the block."""

    uri: Address
    category: Category
    score: Annotated[float, Field(ge=0, le=1)]
    detail: Detail
    text: Annotated[str, Field(description="Empty where the address alone is shown.")]
    origin: Literal["self", "actor_peer", "other_peer"]


@exact
class Fill(TypedDict):
    """How the budget was spent: the floor of everybody, and how many entries were shown more of."""

    floor_tokens: Amount
    overview_upgrades: Amount
    full_upgrades: Amount
    spare_upgrades: Annotated[
        Amount, Field(description="Beyond `per_entry_cap`, from what was left.")
    ]


@exact
class Deduplication(TypedDict):
    """What the session's ledger did."""

    turns: Amount
    status: Literal["off", "ok", "no_session"]
    cooled: Annotated[Amount, Field(description="Addresses that were shown lately.")]
    turn: Annotated[Amount, Field(description="Which context of the session this is.")] | None


@exact
class Usage(TypedDict):
    """About how many tokens a digest cost."""

    input_tokens: Amount
    output_tokens: Amount


@exact
class Deprecated(TypedDict):
    """What to call instead of search/recall."""

    endpoint: str
    successor: str
    successor_body: dict[str, str]
    aliases_used: list[str]


@exact
class ContextStats(TypedDict):
    """How a block came about."""

    searched: Annotated[
        dict[str, int], Field(description="Hits looked at, by category, or under `all`.")
    ]
    candidates: Annotated[Amount, Field(description="Entries that had a place.")]
    excluded: Annotated[
        Amount, Field(description="Addresses kept out: named ones, and those shown lately.")
    ]
    origins: dict[str, int]
    peer_scope: Literal["all", "actor"]
    quotas: dict[str, int] | None
    max_tokens: Amount
    used_tokens: Amount
    per_entry_cap: Amount
    returned: Amount
    dropped: Annotated[Amount, Field(description="Candidates for which no room was left.")]
    deduped: Annotated[Amount, Field(description="Hits without an entry of their own.")]
    detail: Detail | dict[str, Detail] | None
    tier_counts: dict[str, int]
    fill: Fill
    purpose: str | None
    query_expansion: Literal["used", "none", "nothing", "off"]
    planned_queries: list[str]
    score_threshold: float | None
    other_peer_penalties: dict[str, float]
    rewrite: Literal["off", "ok", "no_relevant", "failed", "timeout", "no_model"]
    rewrite_usage: Usage | None
    dedup: Deduplication
    fingerprint: Annotated[
        str, Field(description="SHA-256 of `rendered`: the same as long as nothing changed.")
    ]
    notes: Annotated[list[str], Field(description="What was done without.")]
    ignored: Annotated[list[str], Field(description="Fields that have no effect here.")]
    deprecated: NotRequired[Deprecated]


@exact
class Context(TypedDict):
    """A block for a prompt, best entries first."""

    entries: list[ContextEntry]
    rendered: Annotated[
        str, Field(description="What goes into the prompt where `digest` is empty.")
    ]
    digest: Annotated[str, Field(description="Bullets of a language model, with `rewrite`.")]
    stats: ContextStats


def context_answer(
    found: Assembled, asked: ContextQuestion, ignored: Sequence[str], *, render: bool = True
) -> dict[str, Any]:
    """Return the `result`; without `render` the block is left out of it."""
    block = found.block if render else ""
    return {
        "entries": [_entry(one) for one in found.filled.entries],
        "rendered": block,
        "digest": found.rewritten.text,
        "stats": _stats(found, asked) | {"fingerprint": _digest(block), "ignored": list(ignored)},
    }


def context_telemetry(found: Assembled) -> dict[str, object]:
    """Return what telemetry tells about a context."""
    return {
        "returned": len(found.filled.entries),
        "used_tokens": found.filled.tokens,
        "unknown_targets": [uri.text for uri in found.unknown_targets],
        "notes": list(found.notes),
        "words_only": found.words_only,
    }


def _entry(one: Shown) -> dict[str, object]:
    return {
        "uri": one.head.uri.text,
        "category": one.head.category,
        "score": float(one.head.score),
        "detail": one.tier.value,
        "text": one.text,
        "origin": one.head.origin,
    }


def _stats(found: Assembled, asked: ContextQuestion) -> dict[str, object]:
    entries = found.filled.entries
    origins = [one.head.origin for one in entries]
    tiers = [one.tier for one in entries]
    return {
        "searched": dict(found.searched),
        "candidates": found.candidates,
        "excluded": found.excluded,
        "origins": {name: origins.count(name) for name in ORIGINS},
        "peer_scope": "all" if asked.all_peers else "actor",
        "quotas": None if found.shares is None else dict(found.shares),
        "max_tokens": asked.max_tokens,
        "used_tokens": found.filled.tokens,
        "per_entry_cap": found.cap,
        "returned": len(entries),
        "dropped": found.candidates - len(entries),
        "deduped": found.deduped,
        "detail": asked.detail,
        "tier_counts": {tier.value: tiers.count(tier) for tier in Tier if tier in tiers},
        "fill": {
            "floor_tokens": found.filled.floor_tokens,
            "overview_upgrades": found.filled.overview_upgrades,
            "full_upgrades": found.filled.full_upgrades,
            "spare_upgrades": found.filled.spare_upgrades,
        },
        "purpose": asked.purpose,
        "query_expansion": found.expansion,
        "planned_queries": list(found.queries),
        "score_threshold": asked.find.score_threshold,
        "other_peer_penalties": {name: asked.penalties[name] for name in CATEGORIES},
        "rewrite": found.rewritten.status,
        "rewrite_usage": found.rewritten.usage,
        "dedup": {
            "turns": asked.dedup_turns,
            "status": found.dedup.status,
            "cooled": found.dedup.cooled,
            "turn": found.dedup.turn,
        },
        "notes": list(found.notes),
    }


def _digest(block: str) -> str:
    return hashlib.sha256(block.encode("utf-8", "surrogatepass")).hexdigest()
