"""The shape of what a find answers."""

from typing import Annotated, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict  # before 3.12 pydantic takes no other

from contextfind.server.wire.answers import Address, Amount, Kind, exact


@exact
class Hit(TypedDict):
    """A record that was found."""

    uri: Address
    context_type: Kind
    level: Annotated[int, Field(ge=0, le=2, description="0 abstract, 1 overview, 2 file.")]
    score: Annotated[float, Field(ge=0, le=1, description="0 when there was no query.")]
    abstract: str
    tags: list[str]
    overview: None
    category: str
    match_reason: Annotated[str, Field(description="Why it is here, in words.")]
    content: NotRequired[Annotated[str, Field(description="The body, with `read_content`.")]]


@exact
class Match(TypedDict):
    """A hit as provenance names it."""

    uri: Address
    tier: Literal["L0", "L1", "L2"]
    context_type: Kind
    score: Annotated[float, Field(ge=0, le=1)]
    match_reason: str


@exact
class Parts(TypedDict):
    """What a score was made of; null for what did not count."""

    own: Annotated[float, Field(ge=0, le=1, description="By its own text: both channels.")]
    meaning: Annotated[float, Field(ge=0, le=1)] | None
    words: Annotated[float, Field(ge=0, le=1)] | None
    evidence: (
        Annotated[float, Field(ge=0, le=1, description="The best file of its directory.")] | None
    )
    witness: Annotated[Address, Field(description="Which file that is.")] | None
    reranked: Annotated[float, Field(ge=0, le=1)] | None
    hotness: Annotated[float, Field(ge=0, le=1)] | None


@exact
class Event(TypedDict):
    """A step of the walk: a directory opened, a hit kept or cut, the end."""

    event: Literal["open", "keep", "cut", "end"]
    uri: Address | None
    score: Annotated[float, Field(ge=0, le=1)] | None
    reason: str
    round: Annotated[int, Field(ge=1, description="In which a directory was opened.")] | None
    rule: Annotated[str, Field(description="What cut a hit.")] | None
    parts: Parts | None


@exact
class Statistics(TypedDict):
    """A walk in numbers."""

    total_events: Amount
    directories_searched: Amount
    candidates_collected: Amount
    candidates_excluded: Amount
    convergence_rounds: Amount


@exact
class Walked(TypedDict):
    """The walk through the tree, step by step."""

    index_plans: Annotated[
        list[str], Field(description="How the index looked: scanned, through a graph, by words.")
    ]
    formulas: Annotated[list[str], Field(description="How scores are made of their parts.")]
    events: list[Event]
    statistics: Statistics


@exact
class Provenance(TypedDict):
    """How one query was answered."""

    query: str
    searched_directories: list[Address]
    matched_contexts: list[Match]
    thinking_trace: Walked


@exact
class Found(TypedDict):
    """Hits on three shelves, best first, ties by address; at most `limit` of them together."""

    memories: list[Hit]
    resources: list[Hit]
    skills: list[Hit]
    total: Annotated[Amount, Field(description="How many hits are shown.")]
    provenance: NotRequired[
        Annotated[list[Provenance], Field(description="With `include_provenance`.")]
    ]
