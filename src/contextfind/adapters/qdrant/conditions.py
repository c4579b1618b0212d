"""Filters and scopes as conditions of Qdrant; each keeps exactly what `domain.filters.matches` keeps.

What no text of a stored record can equal (a lone surrogate, which JSON does not carry) is left out before it is sent.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import assert_never

from qdrant_client import models

from contextfind.adapters.qdrant import fields
from contextfind.domain.filters import (
    And,
    Between,
    Contains,
    Everything,
    Filter,
    Not,
    Nothing,
    Numbered,
    OneOf,
    Or,
    Prefixed,
    Tagged,
    Under,
    Used,
)
from contextfind.domain.plain_text import is_encodable
from contextfind.domain.scope import Scope
from contextfind.domain.uri import ROOT, SCHEME

Condition = models.Condition

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_EVERYTHING = models.Filter()
_NOTHING = models.HasIdCondition(has_id=[])


def candidates(scope: Scope, where: Filter) -> models.Filter:
    """Return the condition of what a probe may return: in `scope`, and matching `where`."""
    return models.Filter(must=[*within(scope), compiled(where)])


def within(scope: Scope) -> list[Condition]:
    """Return the conditions that `scope.allows` a record: the one place where they are made."""
    if ROOT in scope.targets:
        return owned(scope)
    return [*owned(scope), _any(fields.AT, sorted(target.text for target in scope.targets))]


def owned(scope: Scope) -> list[Condition]:
    """Return the conditions of all that an identity may see, wherever it looks."""
    return [is_(fields.ACCOUNT, scope.account), _any(fields.OWNER, sorted({"", scope.user}))]


def owned_by(account: str, owner: str) -> list[Condition]:
    """Return the conditions of all that one owner has, or that an account shares (empty)."""
    return [is_(fields.ACCOUNT, account), is_(fields.OWNER, owner)]


def is_(field: str, value: str | int) -> Condition:
    """Return the condition that a field, or one of its values, is a value."""
    if isinstance(value, str) and not is_encodable(value):
        return _NOTHING
    return models.FieldCondition(key=field, match=models.MatchValue(value=value))


def numbered(ids: Iterable[int]) -> Condition:
    """Return the condition that a record's id is one of some."""
    wanted = list(ids)
    if not wanted:
        return _NOTHING
    return models.FieldCondition(key=fields.RECORD, match=models.MatchAny(any=wanted))


def before(position: int) -> Condition:
    """Return the condition that a point was written for an earlier change of the log."""
    return models.FieldCondition(key=fields.CHANGE, range=models.Range(lt=position))


def pinned(where: Filter) -> bool:
    """Whether the filter names few records or directories, so that looking at all that match is the fastest."""
    match where:
        case And(parts):
            return any(pinned(part) for part in parts)
        case OneOf("parent") | Numbered() | Nothing():
            return True
        case _:
            return False


def compiled(where: Filter) -> Condition:  # noqa: C901, PLR0911, PLR0912 - one arm per node
    """Return the condition that `domain.filters.matches` a record."""
    match where:
        case Everything():
            return _EVERYTHING
        case Nothing():
            return _NOTHING
        case And(parts):
            return models.Filter(must=[compiled(part) for part in parts]) if parts else _EVERYTHING
        case Or(parts):
            return models.Filter(should=[compiled(part) for part in parts]) if parts else _NOTHING
        case Not(part):
            return models.Filter(must_not=[compiled(part)])
        case OneOf(field, values):
            return _any(_FIELDS[field], sorted(values))
        case Tagged(tag):
            return is_(fields.TAGS, tag)
        case Between():
            return _between(where)
        case Under(directory):
            return _EVERYTHING if directory == ROOT else is_(fields.AT, directory.text)
        case Prefixed(prefix):
            return _prefixed(prefix)
        case Contains():
            return _containing(where)
        case Used():
            return _NOTHING  # only the store knows; refused before anything is asked
        case Numbered():
            return numbered(where.ids.tolist())
        case _:
            assert_never(where)


def microseconds(moment: datetime) -> int:
    """Return a time as it is stored: since 1970, exact as a float until 2255."""
    return (moment - _EPOCH) // _MICROSECOND


_FIELDS = {
    "context_type": fields.CONTEXT_TYPE,
    "level": fields.LEVEL,
    "name": fields.NAME,
    "parent": fields.PARENT,
}


def _any(field: str, values: Sequence[str]) -> Condition:
    known = [value for value in values if is_encodable(value)]
    if not known:
        return _NOTHING
    return models.FieldCondition(key=field, match=models.MatchAny(any=known))


def _between(where: Between) -> Condition:
    since, until = (None if b is None else microseconds(b) for b in (where.since, where.until))
    if since is None and until is None:
        return _EVERYTHING
    return models.FieldCondition(key=where.field, range=models.Range(gte=since, lte=until))


def _prefixed(prefix: str) -> Condition:
    if SCHEME.startswith(prefix):
        return _EVERYTHING
    if not is_encodable(prefix):
        return _NOTHING
    return models.FieldCondition(key=fields.URI, match=models.MatchPrefix(prefix=prefix))


def _containing(where: Contains) -> Condition:
    match where.field:
        case "name":
            if not where.substring:
                return _EVERYTHING
            return _substring(fields.NAME, where.substring)
        case "tags":
            if not where.substring:
                return models.Filter(
                    must_not=[
                        models.IsEmptyCondition(is_empty=models.PayloadField(key=fields.TAGS))
                    ]
                )
            return _substring(fields.TAGS, where.substring)
        case "abstract":
            return _NOTHING  # only the store knows; refused before anything is asked
        case _:
            assert_never(where.field)


def _substring(field: str, text: str) -> Condition:
    if not is_encodable(text):
        return _NOTHING
    return models.FieldCondition(key=field, match=models.MatchSubstring(substring=text))
