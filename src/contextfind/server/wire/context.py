"""POST search/search with `mode: "context"`, and search/recall: what is asked for, and the block."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from contextfind.answering.assembly.categories import CATEGORIES, PENALTIES
from contextfind.answering.assembly.ledger import MOST_TURNS
from contextfind.answering.assembly.request import (
    DEFAULT_BULLETS,
    DEFAULT_TOKENS,
    MOST_TOKENS,
    ContextQuestion,
    Rewriting,
)
from contextfind.answering.assembly.rewriting import MOST_BULLETS
from contextfind.answering.assembly.tiers import Tier
from contextfind.domain.identity import Identity
from contextfind.domain.queries import MAX_LIMIT
from contextfind.domain.records import split_level
from contextfind.server.wire.body import NO_FLAG, Places, address, wrong
from contextfind.server.wire.find import read_question
from contextfind.server.wire.search import SearchBody

MOST_EXCLUDED = 200  # as clients know it; each is a condition of every search
_NAMES = ", ".join(CATEGORIES)
_TIERS = ("full", "overview", "abstract", "uri")
_IGNORED = ("read_content", "include_provenance")
_LIMITS = ("limit", "node_limit")  # count where all categories are on one list


def _quotas(value: object) -> object:
    good = isinstance(value, Mapping) and all(
        name in CATEGORIES and _whole(number) for name, number in value.items()
    )
    if not good:
        expected = f"expected an object of numbers from 0 to {MAX_LIMIT} by category: {_NAMES}"
        raise PydanticCustomError("quotas", expected)
    return value


def _whole(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= MAX_LIMIT


def _detail(value: object) -> object:
    named = value if isinstance(value, Mapping) else {"": value}
    known = all(name in ("", *CATEGORIES) for name in named)
    if value == "auto":  # what earlier clients say for null
        return None
    if not known or any(tier not in _TIERS for tier in named.values()):
        expected = f"expected {', '.join(_TIERS)}, or an object of these by category: {_NAMES}"
        raise PydanticCustomError("detail", expected)
    return value


def _penalty(value: object) -> object:
    named = value if isinstance(value, Mapping) else {"": value}
    if not all(name in ("", *CATEGORIES) and _share(one) for name, one in named.items()):
        expected = f"expected a number from 0 to 1, or an object of these by category: {_NAMES}"
        raise PydanticCustomError("other_peer_penalty", expected)
    return value


def _share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _rewrite(value: object) -> object:
    if isinstance(value, bool):
        return "on" if value else "off"
    if value in ("auto", "off", "on"):
        return value
    raise PydanticCustomError("rewrite", "expected true, false or 'auto'")


def _by_category(schema: Mapping[str, object]) -> dict[str, object]:
    return {
        "type": "object",
        "properties": {name: dict(schema) for name in CATEGORIES},
        "additionalProperties": False,
    }


_TIER_SCHEMA: Mapping[str, object] = {"enum": list(_TIERS)}
_SHARE_SCHEMA: Mapping[str, object] = {"type": "number", "minimum": 0, "maximum": 1}
Quotas = Annotated[
    dict[str, int],
    BeforeValidator(_quotas),
    WithJsonSchema(_by_category({"type": "integer", "minimum": 0, "maximum": MAX_LIMIT})),
]
Detail = Annotated[
    str | dict[str, str] | None,
    BeforeValidator(_detail),
    WithJsonSchema({"anyOf": [{"enum": [*_TIERS, "auto"]}, _by_category(_TIER_SCHEMA)]}),
]
Penalty = Annotated[
    float | dict[str, float],
    BeforeValidator(_penalty),
    WithJsonSchema({"anyOf": [dict(_SHARE_SCHEMA), _by_category(_SHARE_SCHEMA)]}),
]
Rewrite = Annotated[
    str,
    BeforeValidator(_rewrite),
    WithJsonSchema({"anyOf": [{"type": "boolean"}, {"enum": ["auto", "off", "on"]}]}),
]


class ContextBody(SearchBody):
    """A question as in a search; with `mode: "context"` the answer is a block for a prompt (docs/context.md).

    The other fields below only make sense with that mode, and are refused without it.
    """

    known_modes: ClassVar[str] = "'list' or 'context': extra modes are not known"

    mode: Annotated[
        object,
        WithJsonSchema({"enum": ["list", "context"], "description": "Hits, or a block of them."}),
    ] = "list"
    max_tokens: Annotated[
        int,
        Field(ge=1, le=MOST_TOKENS, description="What the block may cost, four bytes a token."),
        NO_FLAG,
    ] = DEFAULT_TOKENS
    quotas: Annotated[
        Quotas | None,
        Field(description="Entries of each category; categories that are not named get none."),
    ] = None
    purpose: Annotated[
        Literal["coding", "chat"] | None,
        Field(description="Quotas for a kind of work, where none are given."),
    ] = None
    detail: Annotated[
        Detail,
        Field(description="How much of each entry; absent: as much as the budget allows."),
    ] = None
    dedup_turns: Annotated[
        int,
        Field(ge=0, le=MOST_TURNS, description="Turns of the session whose entries do not return."),
        NO_FLAG,
    ] = 0
    exclude_uris: Annotated[
        Places, Field(description="Addresses that are left out, with all below them.")
    ] = Field(default_factory=list)
    peer_scope: Annotated[
        Literal["all", "actor"],
        Field(description="`actor`: without what other peers of the user left."),
    ] = "all"
    other_peer_penalty: Annotated[
        Penalty | None, Field(description="Taken off the scores of what other peers left.")
    ] = None
    query_expansion: Annotated[
        Literal["auto", "off"],
        Field(description="Whether the session's last messages may add queries."),
    ] = "auto"
    rewrite: Annotated[
        Rewrite, Field(description="Whether a language model makes a digest of the block.")
    ] = Rewriting.OFF.value
    rewrite_max_bullets: Annotated[
        int, Field(ge=1, le=MOST_BULLETS, description="The most bullets of a digest."), NO_FLAG
    ] = DEFAULT_BULLETS

    @property
    def assembles(self) -> bool:
        """Whether a context is asked for."""
        return self.mode == "context"

    def without_effect(self, asked: ContextQuestion) -> list[str]:
        """Return the fields that were sent and change nothing in the context that was made of them."""
        names = _IGNORED if asked.shares is None else (*_IGNORED, *_LIMITS)
        return [name for name in names if name in self.model_fields_set]


def context_question(
    body: ContextBody, identity: Identity, actor: str, now: datetime
) -> ContextQuestion:
    """Return the validated question.

    actor: the peer on whose behalf is asked, as a header says; blank for none.

    Raises:
        InvalidArgumentError, InvalidUriError: as for a find; too many addresses to be left out.

    """
    texts = [text for text in body.exclude_uris if text.strip()]
    if len(texts) > MOST_EXCLUDED:
        raise wrong("exclude_uris", len(texts), f"at most {MOST_EXCLUDED} addresses")
    uris = (split_level(address("exclude_uris", text, identity))[0] for text in texts)
    return ContextQuestion(
        find=replace(
            read_question(body, identity, now), read_content=False, include_provenance=False
        ),
        session_id=body.session_id.strip(),
        max_tokens=body.max_tokens,
        quotas=body.quotas or None,
        purpose=body.purpose,
        detail=_tiers(body.detail),
        dedup_turns=body.dedup_turns,
        exclude=tuple(dict.fromkeys(uris)),
        actor=actor.strip(),
        all_peers=body.peer_scope == "all",
        penalties=_penalties(body.other_peer_penalty),
        expand=body.query_expansion == "auto",
        rewrite=Rewriting(body.rewrite),
        bullets=body.rewrite_max_bullets,
    )


def _tiers(value: str | Mapping[str, str] | None) -> Tier | Mapping[str, Tier] | None:
    if isinstance(value, str):
        return Tier(value)
    return {name: Tier(tier) for name, tier in value.items()} if value else None


def _penalties(value: float | Mapping[str, float] | None) -> Mapping[str, float]:
    if value is None:
        return PENALTIES
    if isinstance(value, Mapping):
        return {**PENALTIES, **value}
    return dict.fromkeys(PENALTIES, float(value))
