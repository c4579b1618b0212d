"""Fields of a filter and the values they are compared with, as callers write them."""

import unicodedata
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeGuard, assert_never

from contextfind.domain.errors import InvalidArgumentError, InvalidUriError
from contextfind.domain.filter_faults import fault
from contextfind.domain.filters import Between, Filter, OneOf, Tagged, Under, Used, all_of
from contextfind.domain.records import ContextType, Level, split_level
from contextfind.domain.tags import parse_tags
from contextfind.domain.times import EXPECTED as A_TIME
from contextfind.domain.times import Bound, parse_moment
from contextfind.domain.uri import Uri

Field = Literal[
    "context_type",
    "level",
    "uri",
    "parent_uri",
    "name",
    "tags",
    "created_at",
    "updated_at",
    "active_count",
]
LARGEST = 2**53 - 1  # beyond it JSON readers do not agree on what a number is
_EDGES: tuple[Bound, Bound] = ("since", "until")


@dataclass(frozen=True, slots=True)
class Asker:
    """What values mean depends on this: `~` is the user's own tree, `7d` counts from now."""

    user: str
    now: datetime


def equal_to(field: Field, value: object, path: str, asker: Asker) -> Filter:  # noqa: C901, PLR0911 - one arm per field
    """Return the condition that `field` is `value`.

    For `uri` that is the address and everything below it, for a time written as a bare date the
    whole day.

    Raises:
        InvalidArgumentError: the value is none of this field.

    """
    match field:
        case "context_type":
            return OneOf("context_type", frozenset({_context_type(value, path)}))
        case "level":
            return OneOf("level", frozenset({_level(value, path)}))
        case "uri":
            return _at(_address(value, path, asker))
        case "parent_uri":
            return OneOf("parent", frozenset({_address(value, path, asker).text}))
        case "name":
            return OneOf("name", frozenset({_name(value, path)}))
        case "tags":
            return Tagged(_tag(value, path))
        case "created_at" | "updated_at":
            since, until = (moment(value, bound, path, asker) for bound in _EDGES)
            return Between(field, since, until)
        case "active_count":
            count = _count(value, path)
            return Used(count, count)
        case _:
            assert_never(field)


def prefix_of(value: object, path: str, asker: Asker) -> str:
    """Return the text an address is to start with; `viking://~` is spelled out.

    Raises:
        InvalidArgumentError: no address could start so.

    """
    text = unicodedata.normalize("NFC", plain_text(value, path))
    if not text.startswith("viking://"):
        raise fault(path, value, "a text that starts with viking://")
    tail = text.removeprefix("viking://~")
    own = tail != text and tail[:1] in ("", "/")
    return f"viking://user/{asker.user}{tail}" if own else text


def plain_text(value: object, path: str, expected: str = "a text that is not empty") -> str:
    """Return a text that is not empty.

    expected: what a message says where there is none.

    Raises:
        InvalidArgumentError: it is none, or holds half a character, which nothing can store.

    """
    if not isinstance(value, str) or not value:
        raise fault(path, value, expected)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise fault(path, value, "whole characters, no lone surrogate") from None
    return value


def is_number(value: object) -> TypeGuard[float]:
    """Return whether it is an integer or a finite float of a size that JSON carries exactly."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return abs(value) <= LARGEST  # false for nan and the infinities


def moment(value: object, bound: Bound, path: str, asker: Asker) -> datetime:
    """Return a time in UTC; of a bare date its first or last microsecond.

    Raises:
        InvalidArgumentError: it is none.

    """
    if isinstance(value, str):
        try:
            return parse_moment(value, bound, asker.now)
        except InvalidArgumentError:
            pass
    raise fault(path, value, A_TIME)


def _context_type(value: object, path: str) -> str:
    if not isinstance(value, str) or value not in set(ContextType):
        raise fault(path, value, "'memory', 'resource' or 'skill'")
    return value


def _level(value: object, path: str) -> str:
    if is_number(value) and value in set(Level):
        return str(int(value))
    raise fault(path, value, "the number 0 (abstract), 1 (overview) or 2 (detail)")


def _count(value: object, path: str) -> int:
    if is_number(value) and value >= 0 and value == int(value):
        return int(value)
    raise fault(path, value, f"a whole number from 0 to {LARGEST}")


def _address(value: object, path: str, asker: Asker) -> Uri:
    expected = "an address such as viking://resources/docs"
    try:
        return Uri.parse(plain_text(value, path, expected), asker.user)
    except InvalidUriError as error:
        reason = error.details.get("reason")
        raise fault(path, value, f"{expected} (this one {reason})") from None


def _at(uri: Uri) -> Filter:
    """Return the subtree; or, where the address is shown for a directory's L0 or L1, that record."""
    directory, level = split_level(uri)
    if level is None:
        return Under(uri)
    parent = "" if directory.parent is None else directory.parent.text
    return all_of(
        OneOf("parent", frozenset({parent})),
        OneOf("name", frozenset({directory.name})),
        OneOf("level", frozenset({str(level.value)})),
    )


def _name(value: object, path: str) -> str:
    name = unicodedata.normalize("NFC", plain_text(value, path, "a name such as 'a.md'"))
    if "/" in name:
        raise fault(path, value, "a name without '/' (for addresses use the field uri)")
    return name


def _tag(value: object, path: str) -> str:
    expected = "key=value with exactly one '='"
    text = plain_text(value, path, expected)
    try:
        (tag,) = parse_tags([text])
    except InvalidArgumentError:
        raise fault(path, value, expected) from None
    return tag
