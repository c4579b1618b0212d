"""What those who follow the store read: the log, texts without a vector, directories to summarise."""

import logging
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter

import numpy as np
from psycopg import AsyncConnection

from contextfind.adapters.postgres.rows import (
    PASSAGE_COLUMNS,
    RECORD_COLUMNS,
    Row,
    columns,
    passage_of,
    record_of,
)
from contextfind.domain.errors import DamagedError
from contextfind.domain.records import Matrix, RecordId
from contextfind.domain.uri import Uri
from contextfind.ports.store import Change, PendingText, StaleDirectory

_log = logging.getLogger(__name__)
_FLOAT_BYTES = 4
_LEAST_PAGE = 100  # rows read at once, of which several may have the same text
_ENTRIES = (
    "SELECT (SELECT count(*) FROM passages p WHERE p.record = l.record), l.position, l.record,"  # noqa: S608 - fixed text
    f" {columns(RECORD_COLUMNS, 'r')} FROM log l LEFT JOIN records r ON r.id = l.record"
    " WHERE l.position > %s ORDER BY l.position LIMIT %s"
)
_HELD = (  # the record, the vector, the passage
    f"SELECT p.record, v.vector, {columns(PASSAGE_COLUMNS, 'p')} FROM passages p"  # noqa: S608 - fixed text
    " LEFT JOIN vectors v ON v.digest = p.digest WHERE p.record = ANY(%s) ORDER BY p.record, p.ordinal"
)
_PENDING = (
    f"SELECT later, id, {PASSAGE_COLUMNS} FROM passages WHERE pending AND (later, id) > (%s, %s)"  # noqa: S608 - fixed text
    " AND digest <> ALL(%s)"
    " AND NOT EXISTS (SELECT 1 FROM claims WHERE what = digest AND worker = ANY(%s::integer[]))"
    " ORDER BY later, id LIMIT %s"
)
# Neither claimed itself (`claims.directory_claim`) nor something below it, whose text it is going to quote.
_STALE = (
    "SELECT account, uri, mark FROM stale"
    " WHERE NOT EXISTS (SELECT 1 FROM claims WHERE worker = ANY(%(others)s::integer[])"
    " AND what = account || ' ' || uri)"
    " AND NOT EXISTS (SELECT 1 FROM claims WHERE worker = ANY(%(others)s::integer[])"
    " AND what >= account || ' ' || uri || '/' AND what < account || ' ' || uri || '0')"
    " ORDER BY depth DESC, account, uri LIMIT %(limit)s"
)


async def read_changes(
    connection: AsyncConnection, after: int, limit: int, most: int
) -> list[Change]:
    """Return log entries after a position, with at most `most` passages and their vectors.

    The first entry comes however many passages it has.
    """
    cursor = await connection.execute(_ENTRIES, (after, limit))
    entries: list[Row] = []
    total = 0
    for row in await cursor.fetchall():
        total += row[0]
        if entries and total > most:
            break
        entries.append(row[1:])
    if not entries:
        return []
    cursor = await connection.execute(_HELD, ([entry[1] for entry in entries],), binary=True)
    rows = await cursor.fetchall()
    held = {record: list(group) for record, group in groupby(rows, key=itemgetter(0))}
    return [_salvaged(entry, held.get(entry[1], ())) for entry in entries]


async def read_pending(
    connection: AsyncConnection, limit: int, others: Sequence[int] = ()
) -> list[PendingText]:
    """Return texts without a vector that no other worker has claimed, those of files first, then as they came."""
    texts: dict[str, str] = {}
    last: tuple[object, object] = (False, -1)
    page = max(limit, _LEAST_PAGE)
    while len(texts) < limit:
        values = (*last, list(texts), list(others), page)
        rows = await (await connection.execute(_PENDING, values)).fetchall()
        for row in rows:
            passage = passage_of(row[2:])
            texts.setdefault(passage.digest, passage.embedded_text)
        if len(rows) < page:
            break
        last = rows[-1][0], rows[-1][1]
    return [PendingText(digest, text) for digest, text in list(texts.items())[:limit]]


async def read_stale(
    connection: AsyncConnection, limit: int, others: Sequence[int] = ()
) -> list[StaleDirectory]:
    """Return directories to summarise that no other worker has claimed, deepest first."""
    cursor = await connection.execute(_STALE, {"others": list(others), "limit": limit})
    rows = await cursor.fetchall()
    return [StaleDirectory(account, Uri(uri), mark) for account, uri, mark in rows]


def _change(entry: Row, held: Sequence[Row]) -> Change:
    there = entry[2] is not None  # LEFT JOIN: all columns of a record that is gone are NULL
    return Change(
        position=entry[0],
        id=RecordId(entry[1]),
        record=record_of(entry[2:]) if there else None,
        passages=[passage_of(row[2:]) for row in held],
        vectors=_stacked([row[1] for row in held]),
    )


def _salvaged(entry: Row, held: Sequence[Row]) -> Change:
    """Return what `_change` does; a record that was never written like this counts as gone."""
    try:
        return _change(entry, held)
    except DamagedError as fault:
        _log.error("it is not found any more: %s", fault)
        return Change(entry[0], RecordId(entry[1]), None)


def _stacked(blobs: Sequence[bytes | None]) -> Matrix | None:
    """Return the vectors of a record, None where some are missing, and no columns where they are damaged."""
    present = [blob for blob in blobs if blob is not None]
    if not present or len(present) < len(blobs):
        return None
    sizes = {len(blob) for blob in present}
    if len(sizes) > 1 or sizes.pop() % _FLOAT_BYTES:
        return np.zeros((len(present), 0), np.float32)
    return np.frombuffer(b"".join(present), dtype="<f4").reshape(len(present), -1)
