"""Records of a part of the tree handed to the index again."""

import sqlite3

from contextfind.adapters.sqlite.committing import last_position
from contextfind.adapters.sqlite.conditions import (
    Condition,
    at_or_below,
    conjunction,
    shared_or_of,
)
from contextfind.adapters.sqlite.tree_rows import TreeRows
from contextfind.domain.uri import Uri
from contextfind.ports.reindexing import Extent


def log_again(connection: sqlite3.Connection, account: str, under: Uri, user: str) -> int:
    """Log the records of a part of the tree, in the order they came."""
    area = _seen(account, under, user)
    connection.execute(
        f"INSERT OR REPLACE INTO log (record) SELECT id FROM records WHERE {area.sql} ORDER BY id",  # noqa: S608 - fixed text, bound values
        area.values,
    )
    return last_position(connection)


def mark_stale(connection: sqlite3.Connection, account: str, under: Uri, user: str) -> int:
    """Mark every directory of a part of the tree as stale."""
    area = _seen(account, under, user)
    found = connection.execute(
        f"SELECT uri FROM records WHERE level = 0 AND {area.sql}",  # noqa: S608 - fixed text, bound values
        area.values,
    ).fetchall()
    rows = TreeRows(connection, account)
    for (uri,) in found:
        rows.mark_stale(Uri(uri))
    return len(found)


def read_extent(
    connection: sqlite3.Connection, account: str, under: Uri, user: str, most: int
) -> Extent:
    """Count the records with passages of a part of the tree, and name those without a vector."""
    where = _seen(account, under, user)
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


def _seen(account: str, under: Uri, user: str) -> Condition:
    return conjunction(
        [Condition("account = ?", (account,)), at_or_below(under), shared_or_of(user)]
    )
