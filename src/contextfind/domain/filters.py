"""The filter language: a closed set of nodes, and the meaning of each.

`matches` is the definition. An engine may compile a filter any way it likes as long as it
keeps exactly the records for which `matches` is true; the contract tests hold every engine
to that. Tenancy is no filter: see `domain.scope`.

Two conditions ask for what only the store has, because it changes outside of the log or would be
too much to keep twice: `Used` and `Contains` on the abstract. `store_conditions` names them; an
index is asked with the ids that satisfy them (`Numbered`).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, assert_never

import numpy as np
from numpy.typing import NDArray

from contextfind.domain.records import Record, RecordId
from contextfind.domain.uri import Uri

TextField = Literal["context_type", "level", "name", "parent"]
TimeField = Literal["created_at", "updated_at"]
PartField = Literal["abstract", "name", "tags"]


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


@dataclass(frozen=True, slots=True)
class Contains:
    """`substring` stands in the field as it is written, case and all; of tags, within one of them."""

    field: PartField
    substring: str


@dataclass(frozen=True, slots=True)
class Used:
    """`least <= active_count <= most`, both bounds inclusive, either may be open; below 2**63."""

    least: int | None
    most: int | None


@dataclass(frozen=True, slots=True)
class Numbered:
    """The record's id is one of some, of which there may be very many.

    packed: the ids in ascending order as int64 of this machine: 8 bytes each, hashed once.
    """

    packed: bytes

    @classmethod
    def of(cls, ids: Iterable[RecordId]) -> "Numbered":
        """Return the condition that the id is one of `ids`, given in any order."""
        return cls(np.unique(np.fromiter(ids, np.int64)).tobytes())

    @property
    def ids(self) -> NDArray[np.int64]:
        """The ids, ascending."""
        return np.frombuffer(self.packed, np.int64)


Filter = (
    Everything
    | Nothing
    | And
    | Or
    | Not
    | OneOf
    | Tagged
    | Between
    | Under
    | Prefixed
    | Contains
    | Used
    | Numbered
)


def all_of(*parts: Filter) -> Filter:
    """Return the conjunction, without the parts that say nothing."""
    telling = tuple(part for part in parts if not isinstance(part, Everything))
    if not telling:
        return Everything()
    return telling[0] if len(telling) == 1 else And(telling)


def matches(where: Filter, record: Record) -> bool:  # noqa: C901, PLR0911, PLR0912 - one arm per node
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
        case Contains(part_field, substring):
            return any(substring in text for text in _parts_of(record, part_field))
        case Used(least, most):
            uses = record.active_count
            return (least is None or least <= uses) and (most is None or uses <= most)
        case Numbered():
            return bool(np.isin(record.id, where.ids))
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


def is_effective(where: Filter) -> bool:
    """Return whether the filter says anything: `{}`, an empty `and` and the like do not."""
    return _constant(where) is not True


def store_conditions(where: Filter) -> frozenset[Contains | Used]:
    """Return the conditions somewhere in the filter that only the store can answer."""
    return frozenset(
        leaf
        for leaf in _leaves(where)
        if isinstance(leaf, Used) or (isinstance(leaf, Contains) and leaf.field == "abstract")
    )


def _leaves(where: Filter) -> Iterator[Filter]:
    match where:
        case And(parts) | Or(parts):
            for part in parts:
                yield from _leaves(part)
        case Not(part):
            yield from _leaves(part)
        case _:
            yield where


def _constant(where: Filter) -> bool | None:
    """Return what the filter is for every record, None when that depends on the record."""
    match where:
        case Everything():
            return True
        case Nothing():
            return False
        case Not(part):
            inner = _constant(part)
            return None if inner is None else not inner
        case And(parts):
            known = {_constant(part) for part in parts}
            return False if False in known else None if None in known else True
        case Or(parts):
            known = {_constant(part) for part in parts}
            return True if True in known else None if None in known else False
        case _:
            return None


def _parts_of(record: Record, field: PartField) -> tuple[str, ...]:
    match field:
        case "abstract":
            return (record.abstract,)
        case "name":
            return (record.name,)
        case "tags":
            return record.tags
        case _:
            assert_never(field)
