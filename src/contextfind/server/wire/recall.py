"""POST search/recall: the older spelling of a context of memories."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from contextfind.answering.assembly.request import MOST_TOKENS, Assembled, ContextQuestion
from contextfind.answering.assembly.tiers import Tier
from contextfind.domain.identity import Identity
from contextfind.domain.tokens import BYTES
from contextfind.server.wire.assembled import context_answer
from contextfind.server.wire.body import NO_FLAG
from contextfind.server.wire.context import ContextBody, context_question

# What clients of this route count on where they say nothing.
QUOTAS: Mapping[str, int] = {"events": 10, "entities": 10, "preferences": 3, "experiences": 0}
THRESHOLD = 0.1
TURNS = 5  # of the session, when one is named
_LEAST_TOKENS = 64
_ALIASES = ("max_chars", "min_score", "render")
DEPRECATION = {"Deprecation": "true"}
RECALL_HEADERS = {"Deprecation": "Says that another route took the place of this one."}


class RecallBody(ContextBody):
    """What an agent wants to be reminded of. `mode` has no meaning here."""

    max_chars: Annotated[
        int | None,
        Field(
            ge=1,
            le=BYTES * MOST_TOKENS,
            description="`max_tokens` is a fourth of it, unless given.",
        ),
        NO_FLAG,
    ] = None
    min_score: Annotated[
        Annotated[float, Field(ge=0, le=1), NO_FLAG] | None,
        Field(description="Another name of `score_threshold`, which wins."),
    ] = None
    render: Annotated[
        Literal["compact"] | bool,
        Field(description="false: entries without the block; `compact`: abstracts only."),
    ] = True


def recall_question(
    body: RecallBody, identity: Identity, actor: str, now: datetime
) -> ContextQuestion:
    """Return the validated question; raises as `context_question` does."""
    asked = context_question(body, identity, actor, now)
    sent = body.model_fields_set
    tokens, threshold, detail = asked.max_tokens, asked.find.score_threshold, asked.detail
    if body.max_chars is not None and "max_tokens" not in sent:
        tokens = max(_LEAST_TOKENS, round(body.max_chars / BYTES))
    if threshold is None:
        threshold = THRESHOLD if body.min_score is None else body.min_score
    if body.render == "compact" and detail is None:
        detail = Tier.ABSTRACT
    turns = TURNS if body.session_id.strip() and "dedup_turns" not in sent else asked.dedup_turns
    return replace(
        asked,
        find=replace(asked.find, score_threshold=threshold),
        max_tokens=min(tokens, MOST_TOKENS),
        quotas={**QUOTAS, **(body.quotas or {})},
        purpose=body.purpose or "coding",
        detail=detail,
        dedup_turns=turns,
    )


def recall_answer(found: Assembled, asked: ContextQuestion, body: RecallBody) -> dict[str, object]:
    """Return the `result`, which says what to call instead."""
    render = body.render is not False
    result = context_answer(found, asked, body.without_effect(asked), render=render)
    older = {
        "endpoint": "/api/v1/search/recall",
        "successor": "/api/v1/search/search",
        "successor_body": {"mode": "context"},
        "aliases_used": [name for name in _ALIASES if name in body.model_fields_set],
    }
    return result | {"stats": {**result["stats"], "deprecated": older}}
