"""POST search/find: the body, the question it asks, the answer."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, WithJsonSchema

from contextfind.domain.filter_text import parse_filter
from contextfind.domain.filters import Filter, OneOf, Tagged, all_of, is_effective
from contextfind.domain.identity import Identity
from contextfind.domain.images import ImageSource, parse_image_url
from contextfind.domain.queries import DEFAULT_LIMIT, MAX_LIMIT, FindQuestion
from contextfind.domain.records import ContextType, Level, shown_address
from contextfind.domain.results import FindResult, MatchedContext
from contextfind.domain.tags import parse_tags
from contextfind.domain.times import parse_period
from contextfind.domain.uri import Uri
from contextfind.server.envelope import header_list
from contextfind.server.wire.body import (
    Body,
    Count,
    Number,
    Telemetry,
    Text,
    Texts,
    Words,
    address,
    wrong,
)

# These make sense only when a context is assembled; a client that gets this refusal falls back.
CONTEXT_FIELDS = frozenset(
    {
        "dedup_turns",
        "detail",
        "exclude_uris",
        "max_tokens",
        "other_peer_penalty",
        "peer_scope",
        "purpose",
        "query_expansion",
        "quotas",
        "rewrite",
        "rewrite_max_bullets",
    }
)

# read by `parse_filter`, whose messages name the path inside
FilterTree = Annotated[
    object,
    WithJsonSchema(
        {
            "type": "object",
            "description": "conditions in JSON, see docs/filters.md; {} is none",
            "examples": [{"op": "must", "field": "context_type", "conds": ["resource"]}],
        }
    ),
]
Limit = Annotated[Count, Field(ge=1, le=MAX_LIMIT)]


class FindBody(Body):
    """The fields of a find; see `question_of` for what they mean together."""

    query: Text = ""
    target_uri: Texts = Field(default_factory=list)
    limit: Limit = DEFAULT_LIMIT
    node_limit: Limit | None = None
    level: Words = Field(default_factory=list)
    context_type: Words = Field(default_factory=list)
    score_threshold: Annotated[Number, Field(ge=0, le=1)] | None = None
    read_content: bool = False
    telemetry: Telemetry = False
    tags: list[Text] = Field(default_factory=list)
    since: Text = ""
    until: Text = ""
    time_field: Literal["updated_at", "created_at"] = "updated_at"
    filter: FilterTree = None
    image_url: str = ""
    mode: object = "list"


def question_of(body: FindBody, identity: Identity, now: datetime) -> FindQuestion:
    """Return the validated question.

    Raises:
        InvalidArgumentError: a value out of its range, or nothing that selects anything.
        InvalidUriError: a target that is no address.

    """
    check_mode(body)
    image = parse_image_url(body.image_url, identity.user) if body.image_url else None
    conditions = _conditions(body, identity, now)
    if not body.query.strip() and image is None and not conditions:
        raise wrong(
            "query",
            body.query,
            "a text, or at least one of filter, context_type, tags, since, until "
            "(target_uri or level alone select nothing)",
        )
    return FindQuestion(
        query=body.query if body.query.strip() else "",
        targets=_targets(body.target_uri, identity),
        limit=body.limit if body.node_limit is None else body.node_limit,
        score_threshold=body.score_threshold,
        where=all_of(*conditions, *_levels(body.level), *_for_image(body, image)),
        selective=bool(conditions),
        read_content=body.read_content,
        image=image,
    )


def check_mode(body: FindBody) -> None:
    """Refuse what asks for an assembled context.

    Raises:
        InvalidArgumentError: its message holds `mode` and `extra`, on which clients fall back.

    """
    if body.mode != "list":
        raise wrong("mode", body.mode, "'list': contexts are not assembled, extra fields refused")
    foreign = sorted(CONTEXT_FIELDS.intersection(body.model_extra or {}))
    if foreign:
        field = foreign[0]
        expected = "it not to be sent: extra fields of mode 'context' are not permitted"
        raise wrong(field, (body.model_extra or {})[field], expected)


def _conditions(body: FindBody, identity: Identity, now: datetime) -> list[Filter]:
    """Return what selects by itself, without any text."""
    found: list[Filter] = [Tagged(tag) for tag in parse_tags(body.tags)]
    for one in body.context_type:
        if one not in set(ContextType):
            raise wrong("context_type", one, "memory, resource or skill")
    if body.context_type:
        found.append(OneOf("context_type", frozenset(body.context_type)))
    period = parse_period(body.since, body.until, body.time_field, now)
    if period is not None:
        found.append(period)
    where = parse_filter(body.filter, identity.user, now)
    return [*found, where] if is_effective(where) else found


def _levels(texts: Sequence[str]) -> list[Filter]:
    known = {str(level.value) for level in Level}
    for text in texts:
        if text not in known:
            raise wrong("level", text, "0, 1, 2, a list of these, or text such as '0,2'")
    return [OneOf("level", frozenset(texts))] if set(texts) not in (set(), known) else []


def _for_image(body: FindBody, image: ImageSource | None) -> list[Filter]:
    """Return what a picture is looked for among, where the caller does not say: files of resources."""
    if image is None:
        return []
    files = [] if body.level else [OneOf("level", frozenset({str(Level.DETAIL.value)}))]
    kinds = [] if body.context_type else [OneOf("context_type", frozenset({ContextType.RESOURCE}))]
    return [*files, *kinds]


def _targets(texts: Sequence[str], identity: Identity) -> tuple[Uri, ...] | None:
    if not any(text.strip() for text in texts):
        return None
    uris = (address("target_uri", text, identity) for text in texts)
    return tuple(dict.fromkeys(uris))


def answer_of(found: FindResult) -> dict[str, object]:
    """Return the `result` of a find."""
    return {
        "memories": _hits(found.memories),
        "resources": _hits(found.resources),
        "skills": _hits(found.skills),
        "total": found.total,
    }


def find_headers(found: FindResult) -> dict[str, str]:
    """Return the headers that name what was done without."""
    told = {
        "X-Unknown-Targets": header_list(uri.text for uri in found.unknown_targets),
        "X-Notes": header_list(found.notes),
    }
    return {name: line for name, line in told.items() if line}


def find_telemetry(found: FindResult) -> dict[str, object]:
    """Return what telemetry tells about a find."""
    return {
        "returned": found.total,
        "unknown_targets": [uri.text for uri in found.unknown_targets],
        "notes": list(found.notes),
        "timings": {stage: round(spent, 3) for stage, spent in found.timings.items()},
    }


def _hits(hits: Iterable[MatchedContext]) -> list[dict[str, object]]:
    return [_hit(hit) for hit in hits]


def _hit(hit: MatchedContext) -> dict[str, object]:
    shown: dict[str, object] = {
        "uri": shown_address(hit.uri, hit.level),
        "context_type": hit.context_type.value,
        "level": hit.level.value,
        "score": float(hit.score),
        "abstract": hit.abstract,
        "tags": list(hit.tags),
        "overview": None,
        "category": "",
        "match_reason": hit.match_reason,
    }
    if hit.content is not None:
        shown["content"] = hit.content
    return shown
