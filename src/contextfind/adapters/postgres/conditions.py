"""Filters and scopes as SQL conditions on `records`.

Every value is bound, none is written into the text. Paths are ranges of the address (`LIKE`
would read `_` and `%` in a name).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import assert_never

from contextfind.adapters.postgres.texts import storable
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
from contextfind.domain.uri import Uri

Value = str | int | list[str] | list[int]


@dataclass(frozen=True, slots=True)
class Condition:
    """A piece of SQL and the values of its placeholders, in order."""

    sql: str
    values: tuple[Value, ...] = ()


TRUE = Condition("TRUE")
FALSE = Condition("FALSE")
_LEVELS = ("0", "1", "2")


def within(scope: Scope) -> Condition:
    """Return the condition that `scope.allows` a record."""
    return conjunction(
        [
            of_account(scope.account),
            shared_or_of(scope.user),
            disjunction([at_or_below(target) for target in scope.targets]),
        ]
    )


def of_account(account: str) -> Condition:
    """Return the condition that something belongs to an account."""
    return Condition("account = %s", (account,))


def shared_or_of(user: str) -> Condition:
    """Return the condition that a record lies in a user's own tree or a shared one."""
    return Condition("owner IN ('', %s)", (user,))


def unowned_by_others(user: str) -> Condition:
    """Return the condition `shared_or_of` for a table that has addresses but no owners."""
    private = below(Uri("viking://user"))
    own = at_or_below(Uri(f"viking://user/{user}"))
    return Condition(f"(NOT {private.sql} OR {own.sql})", (*private.values, *own.values))


def reach(scope: Scope, directory: Uri) -> list[Uri]:
    """Return the addresses whose subtrees are what `scope` shows of `directory`'s subtree."""
    if any(directory.is_under(target) for target in scope.targets):
        return [directory]
    return [target for target in scope.targets if target.is_under(directory)]


def span(directory: Uri) -> tuple[str, str]:
    """Return the two texts between which all addresses below a directory lie, the second one outside.

    The character after the slash is 0. The root lies in its own span, nothing else does.
    """
    return directory.folder, directory.folder[:-1] + "0"


def at_or_below(directory: Uri) -> Condition:
    """Return the condition that the address is `directory` or lies below it."""
    if not directory.segments:
        return TRUE
    return Condition("(uri = %s OR (uri >= %s AND uri < %s))", (directory.text, *span(directory)))


def below(directory: Uri, after: Uri | None = None) -> Condition:
    """Return the condition that the address lies strictly below `directory`, and behind `after`."""
    last = max(directory, after or directory)
    low, high = span(directory)
    return Condition(
        "(uri >= %s AND uri < %s AND uri <> %s)", (max(low, last.text), high, last.text)
    )


def compiled(where: Filter, account: str, tags: str | None = "tags") -> Condition:
    """Return the condition that `domain.filters.matches` a record of an account.

    What has to hold in any case is found by the table `tags`; a tag further inside is looked for in the row, and all
    are where `tags` is None: for rows that are read anyhow.
    """
    if tags is None:
        return _compiled(where)
    return conjunction(
        [_tagged(part, account, tags) or _compiled(part) for part in parts_of(where)]
    )


def parts_of(where: Filter) -> Sequence[Filter]:
    """Return what all has to hold."""
    return where.parts if isinstance(where, And) else (where,)


def tags_of(where: Filter) -> list[str] | None:
    """Return the tags of which one is asked for; None for any other filter."""
    parts = where.parts if isinstance(where, Or) else (where,)
    tags = [part.tag for part in parts if isinstance(part, Tagged)]
    if not tags or len(tags) < len(parts):
        return None
    return [storable(tag) for tag in tags if is_encodable(tag)]


def tagged(lists: Sequence[list[str]], account: str, table: str) -> Condition:
    """Return the query for the records that have a tag of each list; those with several of one list more than once."""
    joined = "".join(
        f" JOIN {table} AS t{number} USING (account, record)" for number in range(1, len(lists))
    )
    asked = "".join(f" AND t{number}.tag = ANY(%s)" for number in range(len(lists)))
    sql = f"SELECT record FROM {table} AS t0{joined} WHERE account = %s{asked}"  # noqa: S608 - bound values
    return Condition(sql, (account, *lists))


def _tagged(where: Filter, account: str, table: str) -> Condition | None:
    """Return the condition of one tag of some, by the index; None for any other filter."""
    tags = tags_of(where)
    if tags is None:
        return None
    # The account stands beside the tag: what row-level security asks for is not asked of the index.
    sql = f"id IN (SELECT record FROM {table} WHERE account = %s AND tag = ANY(%s))"  # noqa: S608 - bound values
    return Condition(sql, (account, tags))


def _compiled(where: Filter) -> Condition:  # noqa: C901, PLR0911, PLR0912 - one arm per node
    match where:
        case Everything():
            return TRUE
        case Nothing():
            return FALSE
        case And(parts):
            return conjunction([_compiled(part) for part in parts])
        case Or(parts):
            return disjunction([_compiled(part) for part in parts])
        case Not(part):
            inner = _compiled(part)
            return Condition(f"NOT ({inner.sql})", inner.values)
        case OneOf():
            return _one_of(where)
        case Tagged(tag):
            return Condition("%s = ANY(tags)", (storable(tag),)) if is_encodable(tag) else FALSE
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
            return Condition("id = ANY(%s::bigint[])", (where.ids.tolist(),))
        case _:
            assert_never(where)


def conjunction(parts: Sequence[Condition]) -> Condition:
    """Return the condition that all parts hold; no parts always hold."""
    return _joined([part for part in parts if part != TRUE], " AND ", TRUE)


def disjunction(parts: Sequence[Condition]) -> Condition:
    """Return the condition that some part holds; no parts never do."""
    return _joined(parts, " OR ", FALSE)


def _joined(parts: Sequence[Condition], word: str, empty: Condition) -> Condition:
    if len(parts) < 2:  # noqa: PLR2004 - nothing to join
        return parts[0] if parts else empty
    sql = word.join(part.sql for part in parts)
    return Condition(f"({sql})", tuple(value for part in parts for value in part.values))


def _one_of(where: OneOf) -> Condition:
    if where.field == "level":
        levels = [int(level) for level in _LEVELS if level in where.values]
        return Condition("level = ANY(%s::smallint[])", (levels,))
    return Condition(f"{where.field} = ANY(%s)", (sorted(_plain(where.values)),))


def _between(where: Between) -> Condition:
    bounds = []
    if where.since is not None:
        bounds.append(Condition(f"{where.field} >= %s", (microseconds(where.since),)))
    if where.until is not None:
        bounds.append(Condition(f"{where.field} <= %s", (microseconds(where.until),)))
    return conjunction(bounds)


def _containing(where: Contains) -> Condition:
    if not is_encodable(where.substring):
        return FALSE
    match where.field:
        case "abstract":
            return Condition("strpos(abstract, %s) > 0", (storable(where.substring),))
        case "name":  # holds no control character and is stored as it is
            plain = Condition("strpos(name, %s) > 0", (where.substring,))
            return FALSE if "\0" in where.substring else plain
        case "tags":
            sql = "EXISTS (SELECT 1 FROM unnest(tags) AS one WHERE strpos(one, %s) > 0)"
            return Condition(sql, (storable(where.substring),))
        case _:
            assert_never(where.field)


def _used(where: Used) -> Condition:
    bounds = []
    if where.least is not None:
        bounds.append(Condition("active_count >= %s", (where.least,)))
        if where.least > 0:
            bounds.append(Condition("active_count > 0"))  # as the index of used records spells it
    if where.most is not None:
        bounds.append(Condition("active_count <= %s", (where.most,)))
    return conjunction(bounds)


def _prefixed(prefix: str) -> Condition:
    if not prefix:
        return TRUE
    if not is_encodable(prefix) or "\0" in prefix:
        return FALSE
    end = beyond(prefix)
    if end is None:
        return Condition("uri >= %s", (prefix,))
    return Condition("(uri >= %s AND uri < %s)", (prefix, end))


def _plain(values: Iterable[str]) -> list[str]:
    """Leave out what no name, parent or type can be."""
    return [value for value in values if is_encodable(value) and "\0" not in value]
