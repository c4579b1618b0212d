"""Records of a part of the tree handed to the index again."""

from dataclasses import dataclass

from psycopg import AsyncConnection

from contextfind.adapters.postgres.conditions import (
    Condition,
    at_or_below,
    conjunction,
    of_account,
    shared_or_of,
    span,
)
from contextfind.adapters.postgres.ledger import Ledger
from contextfind.adapters.postgres.tree_rows import TreeRows
from contextfind.domain.uri import Uri
from contextfind.ports.reindexing import Extent, Part


async def log_again(
    connection: AsyncConnection, part: Part, before: Uri | None, limit: int
) -> Uri | None:
    """See `ReindexedStore.log_again`."""
    stretch = await _next_stretch(connection, part, before, limit)
    if stretch is None:
        return None
    ledger = await Ledger.open(connection)
    cursor = await connection.execute(
        f"SELECT id FROM records WHERE {stretch.area.sql} ORDER BY uri, level",  # noqa: S608 - fixed text, bound values
        stretch.area.values,
    )
    for row in await cursor.fetchall():
        ledger.note(int(row[0]))
    await ledger.settle()
    return stretch.first


async def mark_stale(
    connection: AsyncConnection, part: Part, before: Uri | None, limit: int
) -> Uri | None:
    """See `ReindexedStore.mark_stale`."""
    stretch = await _next_stretch(connection, part, before, limit)
    if stretch is None:
        return None
    ledger = await Ledger.open(connection)
    cursor = await connection.execute(
        f"SELECT uri FROM records WHERE level = 0 AND {stretch.area.sql} ORDER BY uri DESC",  # noqa: S608 - fixed text, bound values
        stretch.area.values,
    )
    rows = TreeRows(connection, part.account, ledger)
    for row in await cursor.fetchall():
        rows.mark_stale(Uri(row[0]))
    await rows.write_stale()
    await ledger.settle()
    return stretch.first


async def read_extent(connection: AsyncConnection, part: Part, most: int) -> Extent:
    """Count the records with passages of a part of the tree, and name those without a vector."""
    where = _seen(part)
    held = "EXISTS (SELECT 1 FROM passages WHERE record = records.id{})"
    lacking = held.format(" AND pending")
    cursor = await connection.execute(
        f"SELECT count(*), count(*) FILTER (WHERE {lacking}) FROM records"  # noqa: S608 - fixed text, bound values
        f" WHERE {where.sql} AND {held.format('')}",
        where.values,
    )
    records, without = await cursor.fetchone() or (0, 0)
    cursor = await connection.execute(
        f"SELECT DISTINCT uri FROM records WHERE {where.sql} AND {lacking} ORDER BY uri LIMIT %s",  # noqa: S608 - fixed text, bound values
        (*where.values, most),
    )
    return Extent(records, without, [Uri(row[0]) for row in await cursor.fetchall()])


@dataclass(frozen=True, slots=True)
class _Stretch:
    """What a step looks at: the first of its addresses, and the condition of its records."""

    first: Uri
    area: Condition


async def _next_stretch(
    connection: AsyncConnection, part: Part, before: Uri | None, limit: int
) -> _Stretch | None:
    """Return the last addresses before one, counted by the index alone, whoever owns what lies there.

    So the step is short also where nearly everything lies in the trees of other users, or beside the part.
    """
    _, end = span(part.under) if before is None else ("", before.text)
    cursor = await connection.execute(
        "SELECT min(uri) FROM (SELECT DISTINCT uri FROM records"
        " WHERE account = %s AND uri >= %s AND uri < %s ORDER BY uri DESC LIMIT %s) AS last",
        (part.account, part.under.text, end, limit),
    )
    row = await cursor.fetchone()
    if row is None or row[0] is None:
        return None
    between = Condition("(uri >= %s AND uri < %s)", (row[0], end))
    return _Stretch(Uri(row[0]), conjunction([between, _seen(part)]))


def _seen(part: Part) -> Condition:
    return conjunction([of_account(part.account), at_or_below(part.under), shared_or_of(part.user)])
