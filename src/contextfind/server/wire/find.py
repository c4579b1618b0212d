"""POST search/find: the body, the question it asks, the answer."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from difflib import get_close_matches
from typing import Annotated, ClassVar, Literal, Protocol

from pydantic import BeforeValidator, Field, WithJsonSchema

from contextfind.domain.errors import InvalidArgumentError
from contextfind.domain.filter_text import parse_filter
from contextfind.domain.filters import Filter, OneOf, Tagged, all_of, is_effective
from contextfind.domain.identity import Identity
from contextfind.domain.images import ImageSource, parse_image_url
from contextfind.domain.queries import DEFAULT_LIMIT, MAX_LIMIT, FindQuestion
from contextfind.domain.records import ContextType, Level, shown_address, split_level
from contextfind.domain.results import FindResult, MatchedContext
from contextfind.domain.tags import parse_tags
from contextfind.domain.times import parse_period
from contextfind.domain.uri import Uri
from contextfind.server.envelope import header_list
from contextfind.server.wire.body import (
    NO_FLAG,
    Body,
    Places,
    Tags,
    Telemetry,
    Text,
    address,
    shown,
    words_among,
    wrong,
)
from contextfind.server.wire.filter_shape import FilterShape
from contextfind.server.wire.provenance import provenance_of

# More make statements that the store cannot hold, and nobody asks that.
MAX_TARGETS = 1_000
MAX_TAGS = 200
_STRAYS_NAMED = 5

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


def _as_sent(value: object) -> object:
    """Leave a filter to `parse_filter`, whose messages name the path inside."""
    return value


FilterTree = Annotated[
    object,
    BeforeValidator(_as_sent, json_schema_input_type=FilterShape),
    Field(
        description="Conditions that must hold, see docs/filters.md; {} is none.",
        examples=[{"op": "must", "field": "context_type", "conds": ["resource"]}],
    ),
]
_IMAGE_URL = (
    "A picture to search by: `http(s)://…`, `viking://…` or `data:image/…;base64,…`, at most 10 MiB. "
    "Refused where the embedder takes text only. Files of resources are searched unless `level` or "
    "`context_type` say otherwise; with `query` the search goes to the middle of both vectors."
)
_MOMENT = (
    "ISO 8601, a date, or how long ago: a whole number and one of s m h d w. Inclusive; UTC unless a "
    "zone is given."
)
Limit = Annotated[int, Field(ge=1, le=MAX_LIMIT), NO_FLAG]  # 10 and "10", not 2.5, not true


def _one_or_several(one: dict[str, object], words: str) -> WithJsonSchema:
    """Describe a value, a comma separated text of such, or a list of either."""
    text = {"type": "string", "pattern": f"^( *({words}) *(, *({words}) *)*)?$"}
    return WithJsonSchema(
        {"anyOf": [one, text, {"type": "array", "items": {"anyOf": [one, text]}}]}
    )


_LEVELS = frozenset(str(level.value) for level in Level)
Levels = Annotated[
    list[str],
    words_among(_LEVELS, "0, 1 or 2, a list of these, or text such as '0,2'"),
    _one_or_several({"type": "integer", "minimum": 0, "maximum": 2}, "0|1|2"),
]
Kinds = Annotated[
    list[str],
    words_among(frozenset(ContextType), "memory, resource, skill, or several of these"),
    _one_or_several({"enum": [str(kind) for kind in ContextType]}, "|".join(map(str, ContextType))),
]


class FindBody(Body):
    """A question. A field that is null counts as absent; unknown fields are named in `X-Ignored-Fields`.

    Without `query` and `image_url` at least one of `filter`, `context_type`, `tags`, `since` and `until`
    must select something; every hit then has score 0, newest first.
    """

    known_modes: ClassVar[str] = (
        "'list': contexts are assembled by POST search/search, extra modes are not known here"
    )

    query: Annotated[Text, Field(description="What is looked for; blank counts as none.")] = ""
    image_url: Annotated[str, Field(description=_IMAGE_URL)] = ""
    target_uri: Annotated[
        Places,
        Field(
            description="Directories or files to search, together; none is everything the caller may see. "
            "Targets that do not exist are named in `X-Unknown-Targets`."
        ),
    ] = Field(default_factory=list)
    context_type: Annotated[
        Kinds, Field(description="Kinds of records, together; none is all.")
    ] = Field(default_factory=list)
    level: Annotated[
        Levels,
        Field(
            description="0 abstracts and 1 overviews of directories, 2 files; none is all three."
        ),
    ] = Field(default_factory=list)
    limit: Annotated[Limit, Field(description="The most hits, on all shelves together.")] = (
        DEFAULT_LIMIT
    )
    node_limit: Annotated[Limit | None, Field(description="Another name of `limit`; it wins.")] = (
        None
    )
    score_threshold: Annotated[
        Annotated[float, Field(ge=0, le=1), NO_FLAG] | None,
        Field(description="Hits with a lower score are left out; absent is no cut."),
    ] = None
    filter: FilterTree = None
    tags: Annotated[
        Tags,
        Field(description="`key=value` each, all must hold; of a key sent twice the last counts."),
    ] = Field(default_factory=list)
    since: Annotated[Text, Field(description=_MOMENT + " A date is its first moment.")] = ""
    until: Annotated[Text, Field(description=_MOMENT + " A date is its last moment.")] = ""
    time_field: Annotated[
        Literal["updated_at", "created_at"], Field(description="What `since` and `until` bound.")
    ] = "updated_at"
    read_content: Annotated[bool, Field(description="Add the body to each hit.")] = False
    include_provenance: Annotated[
        bool, Field(description="Add `provenance`: the walk through the tree, step by step.")
    ] = False
    telemetry: Annotated[Telemetry, Field(description="Add what was measured.")] = False
    mode: Annotated[
        object,
        WithJsonSchema({"const": "list", "description": "Other modes are refused."}),
    ] = "list"


def question_of(body: FindBody, identity: Identity, now: datetime) -> FindQuestion:
    """Return the validated question.

    Raises:
        InvalidArgumentError: a value out of its range, or nothing that selects anything.
        InvalidUriError: a target that is no address.

    """
    check_mode(body)
    return read_question(body, identity, now)


def read_question(body: FindBody, identity: Identity, now: datetime) -> FindQuestion:
    """Return the validated question of a body of any mode; raises as `question_of` does."""
    image = parse_image_url(body.image_url, identity.user) if body.image_url else None
    conditions = _conditions(body, identity, now)
    if not body.query.strip() and image is None and not conditions:
        raise wrong(
            "query",
            body.query,
            "a text, or at least one of filter, context_type, tags, since, until "
            "(target_uri or level alone select nothing)" + _strays(body),
        )
    return FindQuestion(
        query=body.query if body.query.strip() else "",
        targets=_targets(body.target_uri, identity),
        limit=body.limit if body.node_limit is None else body.node_limit,
        score_threshold=body.score_threshold,
        where=all_of(*conditions, *_levels(body.level), *_for_image(body, image)),
        selective=bool(conditions),
        read_content=body.read_content,
        include_provenance=body.include_provenance,
        image=image,
    )


def check_mode(body: FindBody) -> None:
    """Refuse what asks for an assembled context.

    Raises:
        InvalidArgumentError: its message holds `mode` and `extra`, on which clients fall back.

    """
    if body.mode != "list":
        raise wrong("mode", body.mode, body.known_modes)
    foreign = sorted(CONTEXT_FIELDS & {*body.model_fields_set, *(body.model_extra or {})})
    if foreign:
        expected = "it not to be sent: extra fields of mode 'context' are not permitted"
        raise wrong(foreign[0], getattr(body, foreign[0]), expected)


def _conditions(body: FindBody, identity: Identity, now: datetime) -> list[Filter]:
    """Return what selects by itself, without any text."""
    _check_number("tags", body.tags, MAX_TAGS)
    found: list[Filter] = [Tagged(tag) for tag in parse_tags(body.tags)]
    if body.context_type:
        found.append(OneOf("context_type", frozenset(body.context_type)))
    period = parse_period(body.since, body.until, body.time_field, now)
    if period is not None:
        found.append(period)
    where = parse_filter(body.filter, identity.user, now)
    return [*found, where] if is_effective(where) else found


def _levels(texts: Sequence[str]) -> list[Filter]:
    chosen = frozenset(texts)
    return [] if chosen in (frozenset(), _LEVELS) else [OneOf("level", chosen)]


def _for_image(body: FindBody, image: ImageSource | None) -> list[Filter]:
    """Return what a picture is looked for among, where the caller does not say: files of resources."""
    if image is None:
        return []
    files = [] if body.level else [OneOf("level", frozenset({str(Level.DETAIL.value)}))]
    kinds = [] if body.context_type else [OneOf("context_type", frozenset({ContextType.RESOURCE}))]
    return [*files, *kinds]


def _targets(texts: Sequence[str], identity: Identity) -> tuple[Uri, ...] | None:
    """Return the addresses; the summary of a directory, spelled as a file, is the directory."""
    if not any(text.strip() for text in texts):
        return None
    _check_number("target_uri", texts, MAX_TARGETS)
    uris = (split_level(address("target_uri", text, identity))[0] for text in texts)
    return tuple(dict.fromkeys(uris))


def _check_number(field: str, values: Sequence[str], most: int) -> None:
    if len(values) > most:
        raise InvalidArgumentError(
            f"{field} has {len(values)} entries; expected at most {most}", {"field": field}
        )


def _strays(body: FindBody) -> str:
    """Return what to say of the unknown fields of a body that asks nothing."""
    names = sorted(body.model_extra or {})[:_STRAYS_NAMED]
    told = [f"{shown(name)}{_nearest(name)}" for name in names]
    return f"; not known, and ignored: {', '.join(told)}" if told else ""


def _nearest(name: str) -> str:
    near = get_close_matches(name.lower(), FindBody.model_fields, 1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def answer_of(found: FindResult, *, provenance: bool) -> dict[str, object]:
    """Return the `result` of a find."""
    result: dict[str, object] = {
        "memories": _hits(found.memories),
        "resources": _hits(found.resources),
        "skills": _hits(found.skills),
        "total": found.total,
    }
    if provenance:
        result["provenance"] = provenance_of(found.query_results)
    return result


FIND_HEADERS = {
    "X-Unknown-Targets": "Targets at which nothing is stored, comma separated, percent-encoded.",
    "X-Notes": "What was done without, such as an embedder that is down; percent-encoded.",
}


class Told(Protocol):
    """An answer that says what was done without."""

    @property
    def unknown_targets(self) -> Sequence[Uri]: ...  # noqa: D102 - described above
    @property
    def notes(self) -> Sequence[str]: ...  # noqa: D102


def find_headers(found: Told) -> dict[str, str]:
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
        "words_only": found.words_only,
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
