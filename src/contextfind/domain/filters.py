"""The filter language: a closed set of nodes, and the meaning of each.

`matches` is the definition. An engine may compile a filter any way it likes as long as it
keeps exactly the records for which `matches` is true; the contract tests hold every engine
to that. Tenancy is no filter: see `domain.scope`.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, assert_never

from contextfind.domain.records import Record
from contextfind.domain.uri import Uri

TextField = Literal["context_type", "level", "name", "parent"]
TimeField = Literal["created_at", "updated_at"]


@dataclass(frozen=True, slots=True)
class Everything:
    """Matches every record; the neutral element of `And`."""


@dataclass(frozen=True, slots=True)
class Nothing:
    """Matches no record; the neutral element of `Or`."""


@dataclass(frozen=True, slots=True)
class And:
    """All parts hold; no parts is `Everything`."""

    parts: tuple["Filter", ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Some part holds; no parts is `Nothing`."""

    parts: tuple["Filter", ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The part does not hold."""

    part: "Filter"


@dataclass(frozen=True, slots=True)
class OneOf:
    """The field equals one of `values`; no values is `Nothing`.

    Levels are spelled "0", "1", "2"; a parent is spelled as its address.
    """

    field: TextField
    values: frozenset[str]


@dataclass(frozen=True, slots=True)
class Tagged:
    """The record itself carries the tag `key=value`; tags are not inherited."""

    tag: str


@dataclass(frozen=True, slots=True)
class Between:
    """`since <= field <= until`, both bounds inclusive, either may be open."""

    field: TimeField
    since: datetime | None
    until: datetime | None


@dataclass(frozen=True, slots=True)
class Under:
    """The record lies at or below `directory`."""

    directory: Uri


@dataclass(frozen=True, slots=True)
class Prefixed:
    """The address, as text, starts with `prefix`; no path meaning."""

    prefix: str


Filter = Everything | Nothing | And | Or | Not | OneOf | Tagged | Between | Under | Prefixed


def all_of(*parts: Filter) -> Filter:
    """Return the conjunction, without the parts that say nothing."""
    telling = tuple(part for part in parts if not isinstance(part, Everything))
    if not telling:
        return Everything()
    return telling[0] if len(telling) == 1 else And(telling)


def matches(where: Filter, record: Record) -> bool:  # noqa: C901, PLR0911 - one arm per node
    """Return whether `record` satisfies `where`. This is the reference meaning."""
    match where:
        case Everything():
            return True
        case Nothing():
            return False
        case And(parts):
            return all(matches(part, record) for part in parts)
        case Or(parts):
            return any(matches(part, record) for part in parts)
        case Not(part):
            return not matches(part, record)
        case OneOf(field, values):
            return text_of(record, field) in values
        case Tagged(tag):
            return tag in record.tags
        case Between(field, since, until):
            moment = record.created_at if field == "created_at" else record.updated_at
            return (since is None or since <= moment) and (until is None or moment <= until)
        case Under(directory):
            return record.uri.is_under(directory)
        case Prefixed(prefix):
            return record.uri.text.startswith(prefix)
        case _:
            assert_never(where)


def text_of(record: Record, field: TextField) -> str:
    """Return a field the way `OneOf` compares it."""
    match field:
        case "context_type":
            return record.context_type.value
        case "level":
            return str(record.level.value)
        case "name":
            return record.name
        case "parent":
            return "" if record.parent is None else record.parent.text
        case _:
            assert_never(field)
