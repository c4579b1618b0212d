"""Records of a part of the tree handed to the index again."""

import sqlite3
from dataclasses import dataclass

from contextfind.adapters.sqlite.conditions import (
    Condition,
    at_or_below,
    conjunction,
    shared_or_of,
)
from contextfind.adapters.sqlite.tree_rows import TreeRows
from contextfind.domain.uri import Uri
from contextfind.ports.reindexing import Extent, Part


def log_again(
    connection: sqlite3.Connection, part: Part, before: Uri | None, limit: int
) -> Uri | None:
    """See `ReindexedStore.log_again`."""
    stretch = _next_stretch(connection, part, before, limit)
    if stretch is None:
        return None
    connection.execute(
        f"INSERT OR REPLACE INTO log (record) SELECT id FROM records WHERE {stretch.area.sql}"  # noqa: S608 - fixed text, bound values
        " ORDER BY uri, level",
        stretch.area.values,
    )
    return stretch.first


def mark_stale(
    connection: sqlite3.Connection, part: Part, before: Uri | None, limit: int
) -> Uri | None:
    """See `ReindexedStore.mark_stale`."""
    stretch = _next_stretch(connection, part, before, limit)
    if stretch is None:
        return None
    found = connection.execute(
        f"SELECT uri FROM records WHERE level = 0 AND {stretch.area.sql} ORDER BY uri DESC",  # noqa: S608 - fixed text, bound values
        stretch.area.values,
    ).fetchall()
    rows = TreeRows(connection, part.account)
    for (uri,) in found:
        rows.mark_stale(Uri(uri))
    return stretch.first


def read_extent(connection: sqlite3.Connection, part: Part, most: int) -> Extent:
    """Count the records with passages of a part of the tree, and name those without a vector."""
    where = _seen(part)
    held = "EXISTS (SELECT 1 FROM passages WHERE record = records.id{})"
    lacking = held.format(" AND pending = 1")
    records, without = connection.execute(
        f"SELECT count(*), coalesce(sum({lacking}), 0) FROM records"  # noqa: S608 - fixed text, bound values
        f" WHERE {where.sql} AND {held.format('')}",
        where.values,
    ).fetchone()
    first = connection.execute(
        f"SELECT DISTINCT uri FROM records WHERE {where.sql} AND {lacking} ORDER BY uri LIMIT ?",  # noqa: S608 - fixed text, bound values
        (*where.values, most),
    )
    return Extent(records, without, [Uri(uri) for (uri,) in first])


@dataclass(frozen=True, slots=True)
class _Stretch:
    """What a step looks at: the first of its addresses, and the condition of its records."""

    first: Uri
    area: Condition


def _next_stretch(
    connection: sqlite3.Connection, part: Part, before: Uri | None, limit: int
) -> _Stretch | None:
    """Return the last addresses before one, counted by the index alone, whoever owns what lies there.

    So the step is short also where nearly everything lies in the trees of other users, or beside the part.
    """
    end = part.under.folder[:-1] + "0" if before is None else before.text  # see `below`
    (first,) = connection.execute(
        "SELECT min(uri) FROM (SELECT DISTINCT uri FROM records"
        " WHERE account = ? AND uri >= ? AND uri < ? ORDER BY uri DESC LIMIT ?)",
        (part.account, part.under.text, end, limit),
    ).fetchone()
    if first is None:
        return None
    between = Condition("(uri >= ? AND uri < ?)", (first, end))
    return _Stretch(Uri(first), conjunction([between, _seen(part)]))


def _seen(part: Part) -> Condition:
    own = shared_or_of(part.user)
    return conjunction([Condition("account = ?", (part.account,)), at_or_below(part.under), own])
