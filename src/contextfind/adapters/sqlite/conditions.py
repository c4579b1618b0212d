"""Filters and scopes as SQL conditions on `records`.

Every value is bound, none is written into the text. Paths are ranges of the address (`LIKE`
would read `_` and `%` in a name, and ignores case).
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import assert_never

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
from contextfind.domain.plain_text import beyond, is_encodable
from contextfind.domain.scope import Scope
from contextfind.domain.times import microseconds
from contextfind.domain.uri import ROOT, Uri

Value = str | int


@dataclass(frozen=True, slots=True)
class Condition:
    """A piece of SQL and the values of its question marks, in order."""

    sql: str
    values: tuple[Value, ...] = ()


_TRUE = Condition("1")
_FALSE = Condition("0")


def within(scope: Scope) -> Condition:
    """Return the condition that `scope.allows` a record."""
    return conjunction(
        [
            Condition("account = ?", (scope.account,)),
            owned(scope),
            disjunction([at_or_below(target) for target in scope.targets]),
        ]
    )


def owned(scope: Scope) -> Condition:
    """Return the condition that a record lies in the user's own tree or a shared one."""
    return shared_or_of(scope.user)


def shared_or_of(user: str) -> Condition:
    """Return the condition that a record lies in a user's own tree or a shared one."""
    return Condition("owner IN ('', ?)", (user,))


def unowned_by_others(user: str) -> Condition:
    """Return the condition `owned` for a table that has addresses but no owners."""
    private = below(Uri("viking://user"))
    own = at_or_below(Uri(f"viking://user/{user}"))
    return Condition(f"(NOT {private.sql} OR {own.sql})", (*private.values, *own.values))


def reach(scope: Scope, directory: Uri) -> list[Uri]:
    """Return the addresses whose subtrees are what `scope` shows of `directory`'s subtree."""
    if any(directory.is_under(target) for target in scope.targets):
        return [directory]
    return [target for target in scope.targets if target.is_under(directory)]


def at_or_below(directory: Uri) -> Condition:
    """Return the condition that the address is `directory` or lies below it."""
    if directory == ROOT:
        return _TRUE
    inside = below(directory)
    return Condition(f"(uri = ? OR {inside.sql})", (directory.text, *inside.values))


def below(directory: Uri, after: Uri | None = None) -> Condition:
    """Return the condition that the address lies strictly below `directory`, and behind `after`.

    One range: with a second lower bound beside it, SQLite may begin at the wrong one.
    """
    last = max(directory, after or directory)
    # The character after the slash is 0: every address that starts with `folder` is less.
    return Condition(
        "(uri >= ? AND uri < ? AND uri <> ?)",
        (max(directory.folder, last.text), directory.folder[:-1] + "0", last.text),
    )


def compiled(where: Filter) -> Condition:  # noqa: C901, PLR0911, PLR0912 - one arm per node
    """Return the condition that `domain.filters.matches` a record."""
    match where:
        case Everything():
            return _TRUE
        case Nothing():
            return _FALSE
        case And(parts):
            return conjunction([compiled(part) for part in parts])
        case Or(parts):
            return disjunction([compiled(part) for part in parts])
        case Not(part):
            inner = compiled(part)
            return Condition(f"NOT ({inner.sql})", inner.values)
        case OneOf():
            return _one_of(where)
        case Tagged(tag):
            return (
                Condition("id IN (SELECT record FROM tags WHERE tag = ?)", (tag,))
                if is_encodable(tag)
                else _FALSE
            )
        case Between():
            return _between(where)
        case Under(directory):
            return at_or_below(directory)
        case Prefixed(prefix):
            return _prefixed(prefix)
        case Contains():
            return _containing(where)
        case Used():
            return _used(where)
        case Numbered():
            ids = json.dumps(where.ids.tolist())
            return Condition("id IN (SELECT value FROM json_each(?))", (ids,))
        case _:
            assert_never(where)


def conjunction(parts: Sequence[Condition]) -> Condition:
    """Return the condition that all parts hold; no parts always hold."""
    return _joined([part for part in parts if part != _TRUE], "AND", _TRUE)


def disjunction(parts: Sequence[Condition]) -> Condition:
    """Return the condition that some part holds; no parts never do."""
    return _joined(parts, "OR", _FALSE)


def _joined(parts: Sequence[Condition], word: str, empty: Condition) -> Condition:
    """Join by halves: SQLite allows expressions only 1,000 levels deep."""
    if not parts:
        return empty
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    left = _joined(parts[:middle], word, empty)
    right = _joined(parts[middle:], word, empty)
    return Condition(f"({left.sql} {word} {right.sql})", left.values + right.values)


def _one_of(where: OneOf) -> Condition:
    # A list as one JSON value: no limit on its length, and one text of SQL for all lengths.
    values = json.dumps(sorted(_without_unstorable(where.values)))
    column = "CAST(level AS TEXT)" if where.field == "level" else where.field
    return Condition(column + " IN (SELECT value FROM json_each(?))", (values,))  # noqa: S608 - fixed text, bound values


def _between(where: Between) -> Condition:
    bounds = []
    if where.since is not None:
        bounds.append(Condition(f"{where.field} >= ?", (microseconds(where.since),)))
    if where.until is not None:
        bounds.append(Condition(f"{where.field} <= ?", (microseconds(where.until),)))
    return conjunction(bounds)


def _containing(where: Contains) -> Condition:
    if not is_encodable(where.substring):
        return _FALSE
    match where.field:
        case "abstract":
            sql = "instr(abstract, ?) > 0"
        case "name":
            sql = "instr(name, ?) > 0"
        case "tags":
            sql = "id IN (SELECT record FROM tags WHERE instr(tag, ?) > 0)"
        case _:
            assert_never(where.field)
    return Condition(sql, (where.substring,))


def _used(where: Used) -> Condition:
    bounds = []
    if where.least is not None:
        bounds.append(Condition("active_count >= ?", (where.least,)))
        if where.least > 0:
            bounds.append(Condition("active_count > 0"))  # as the index of used records spells it
    if where.most is not None:
        bounds.append(Condition("active_count <= ?", (where.most,)))
    return conjunction(bounds)


def _prefixed(prefix: str) -> Condition:
    if not prefix:
        return _TRUE
    if not is_encodable(prefix):
        return _FALSE
    end = beyond(prefix)
    if end is None:
        return Condition("uri >= ?", (prefix,))
    return Condition("(uri >= ? AND uri < ?)", (prefix, end))


def _without_unstorable(values: Iterable[str]) -> list[str]:
    return [value for value in values if is_encodable(value) and "\0" not in value]
