"""The filter language as JSON Schema, for /openapi.json; `domain/filter_text` reads it.

What a schema cannot say stays with the reader: sizes of the whole tree, two lower bounds at once,
bounds that nothing lies between.
"""

from typing import Annotated, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypeAliasType, TypedDict  # before 3.12 pydantic takes no other

from contextfind.domain.filter_values import LARGEST
from contextfind.server.wire.answers import Kind, exact
from contextfind.server.wire.body import Place, Tag

Equality = Literal["must", "must_not"]
Spread = Literal["range", "range_out"]
TimeName = Literal["created_at", "updated_at"]
Moment = Annotated[
    str, Field(description="ISO 8601, a date, or an age such as `2h` or `7d`.", min_length=1)
]
Number = Annotated[float, Field(ge=-LARGEST, le=LARGEST)]
LevelNumber = Annotated[int, Field(ge=0, le=2)]
Uses = Annotated[int, Field(ge=0, le=LARGEST)]
Name = Annotated[str, Field(pattern=r"^[^/]+$")]


@exact
class NoCondition(TypedDict):
    """An empty object: everything."""


@exact
class OfKind(TypedDict):
    """Memories, resources, skills."""

    op: Equality
    field: Literal["context_type"]
    conds: Kind | list[Kind]


@exact
class OfLevel(TypedDict):
    """0 abstracts, 1 overviews, 2 files."""

    op: Equality
    field: Literal["level"]
    conds: LevelNumber | list[LevelNumber]


@exact
class AtPlace(TypedDict):
    """`uri`: the address and everything below it; `parent_uri`: what lies directly in it."""

    op: Equality
    field: Literal["uri", "parent_uri"]
    conds: Place | list[Place]


@exact
class Called(TypedDict):
    """The last part of the address, whole."""

    op: Equality
    field: Literal["name"]
    conds: Name | list[Name]


@exact
class HasTag(TypedDict):
    """Tags of the record itself."""

    op: Equality
    field: Literal["tags", "search_tags"]
    conds: Tag | list[Tag]


@exact
class AtTime(TypedDict):
    """A moment, or any of a day."""

    op: Equality
    field: TimeName
    conds: Moment | list[Moment]


@exact
class UsedTimes(TypedDict):
    """How often it was used."""

    op: Equality
    field: Literal["active_count"]
    conds: Uses | list[Uses]


@exact
class NumberRange(TypedDict):
    """At least one bound."""

    op: Spread
    field: Literal["level", "active_count"]
    gt: NotRequired[Number]
    gte: NotRequired[Number]
    lt: NotRequired[Number]
    lte: NotRequired[Number]


@exact
class TimeRange(TypedDict):
    """At least one bound."""

    op: Literal["range", "range_out", "time_range"]
    field: TimeName
    gt: NotRequired[Moment]
    gte: NotRequired[Moment]
    lt: NotRequired[Moment]
    lte: NotRequired[Moment]


@exact
class StartsWith(TypedDict):
    """The plain text that addresses begin with."""

    op: Literal["prefix"]
    field: Literal["uri"]
    prefix: Annotated[str, Field(pattern="^viking://")]


@exact
class HoldsText(TypedDict):
    """A text that stands in the field."""

    op: Literal["contains"]
    field: Literal["abstract", "name", "tags", "search_tags"]
    substring: Annotated[str, Field(min_length=1)]


@exact
class AllOrAny(TypedDict):
    """All of the filters, or at least one; none at all is everything, or nothing."""

    op: Literal["and", "or"]
    conds: "list[FilterShape]"


@exact
class NotThat(TypedDict):
    """The opposite."""

    op: Literal["not"]
    cond: "FilterShape"


@exact
class NotTheOne(TypedDict):
    """The opposite, in a list."""

    op: Literal["not"]
    conds: "Annotated[list[FilterShape], Field(min_length=1, max_length=1)]"


FilterShape = TypeAliasType(
    "FilterShape",
    OfKind
    | OfLevel
    | AtPlace
    | Called
    | HasTag
    | AtTime
    | UsedTimes
    | NumberRange
    | TimeRange
    | StartsWith
    | HoldsText
    | AllOrAny
    | NotThat
    | NotTheOne
    | NoCondition,
)
