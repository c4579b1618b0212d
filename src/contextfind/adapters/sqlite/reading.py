"""What the readers' threads do: each function is one question in one state of the data."""

import logging
import sqlite3
from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby
from operator import itemgetter

import numpy as np

from contextfind.adapters.sqlite.conditions import (
    Condition,
    at_or_below,
    below,
    compiled,
    conjunction,
    owned,
    reach,
    shared_or_of,
    unowned_by_others,
    within,
)
from contextfind.adapters.sqlite.database import is_damage
from contextfind.adapters.sqlite.rows import (
    PASSAGE_COLUMNS,
    RECORD_COLUMNS,
    RecordRow,
    passage_of,
    record_of,
)
from contextfind.domain.errors import DamagedError
from contextfind.domain.filters import Filter
from contextfind.domain.records import (
    ABSTRACT_NAME,
    OVERVIEW_NAME,
    Matrix,
    Passage,
    Record,
    RecordId,
)
from contextfind.domain.scope import Scope
from contextfind.domain.uri import Uri
from contextfind.ports.store import Backlog, Change, PendingText, SourceMark, StaleDirectory

_log = logging.getLogger(__name__)
_RECORDS = f"SELECT {RECORD_COLUMNS} FROM records"  # noqa: S608 - fixed text
_PASSAGE_AT = 1 + len(RECORD_COLUMNS.split(","))  # behind the ordinal and the record
_FLOAT_BYTES = 4
FOUND_AT_ONCE = 100  # as many as an answer has at most; SQLite takes 32,766 values
_HeldRow = tuple[int, str, str, str, str, int, bytes | None]  # a passage, its record, its vector
_Entry = tuple[int, int, *RecordRow]  # of the log: position, id, the record it is now
_PASSAGE = f"SELECT {PASSAGE_COLUMNS} FROM passages WHERE id = ?"  # noqa: S608 - fixed text
_SALVAGED_AT_ONCE = 100  # entries, one statement or two each, in one hop
_SHOWN = (  # `domain.records.shown_address`
    f"uri || CASE level WHEN 0 THEN '/{ABSTRACT_NAME}' WHEN 1 THEN '/{OVERVIEW_NAME}' ELSE '' END"
)
_LISTED = Condition("level <> 1")  # files, and directories by their L0


def read_records(connection: sqlite3.Connection, ids: Sequence[RecordId]) -> list[Record | None]:
    """Return records by id, None where there is none."""
    query = f"{_RECORDS} WHERE id = ?"
    rows = [connection.execute(query, (record,)).fetchone() for record in ids]
    return [None if row is None else record_of(row) for row in rows]


def read_at(connection: sqlite3.Connection, scope: Scope, uri: Uri) -> list[Record]:
    """Return the records at an address, lowest level first."""
    rows = connection.execute(
        f"{_RECORDS} WHERE account = ? AND uri = ? ORDER BY level", (scope.account, uri.text)
    )
    return [record for record in map(record_of, rows) if scope.allows(record)]


def read_children(
    connection: sqlite3.Connection,
    scope: Scope,
    directory: Uri,
    limit: int | None = None,
    offset: int = 0,
) -> list[Record]:
    """Return what a directory lists, by name."""
    where = conjunction([Condition("parent = ?", (directory.text,)), within(scope), _LISTED])
    rows = connection.execute(
        f"{_RECORDS} WHERE {where.sql} ORDER BY name LIMIT ? OFFSET ?",
        (*where.values, -1 if limit is None else limit, offset),
    )
    return list(map(record_of, rows))


def read_below(
    connection: sqlite3.Connection,
    scope: Scope,
    directory: Uri,
    limit: int,
    depth: int | None = None,
    after: Uri | None = None,
) -> list[Record]:
    """Return files and directories, by address."""
    slashes = "length(uri) - length(replace(uri, '/', ''))"  # of viking://a: two, of a/b three
    deepest = len(directory.segments) + 1 + (depth or 0)
    near = [] if depth is None else [Condition(f"{slashes} <= ?", (deepest,))]
    behind = [] if after is None else [Condition("+uri > ?", (after.text,))]  # `below` has it
    account = Condition("account = ?", (scope.account,))
    found: list[Record] = []
    for top in reach(scope, directory):
        area = below(top, after) if top == directory else at_or_below(top)
        where = conjunction([account, area, _LISTED, owned(scope), *near, *behind])
        rows = connection.execute(
            f"{_RECORDS} WHERE {where.sql} ORDER BY uri LIMIT ?", (*where.values, limit)
        )
        found += map(record_of, rows)
    return sorted(found, key=lambda record: record.uri)[:limit]


def read_matching(
    connection: sqlite3.Connection, scope: Scope, where: Filter, limit: int
) -> list[Record]:
    """Return matching records, newest first, ties by address as it is shown."""
    condition = conjunction([within(scope), compiled(where)])
    rows = connection.execute(
        f"{_RECORDS} WHERE {condition.sql} ORDER BY updated_at DESC, {_SHOWN} LIMIT ?",
        (*condition.values, limit),
    )
    return list(map(record_of, rows))


def read_matching_ids(
    connection: sqlite3.Connection, scope: Scope, where: Filter
) -> list[RecordId]:
    """Return the ids of all matching records, ascending."""
    condition = conjunction([within(scope), compiled(where)])
    query = f"SELECT id FROM records WHERE {condition.sql} ORDER BY id"  # noqa: S608 - fixed text, bound values
    return [RecordId(record) for (record,) in connection.execute(query, condition.values)]


def read_known(connection: sqlite3.Connection, scope: Scope, uris: Sequence[Uri]) -> list[bool]:
    """Say for each address whether anything is stored at or below it."""
    return [
        any(_holds_anything(connection, scope, top) for top in reach(scope, uri)) for uri in uris
    ]


def _holds_anything(connection: sqlite3.Connection, scope: Scope, top: Uri) -> bool:
    account = Condition("account = ?", (scope.account,))
    where = conjunction([account, at_or_below(top), owned(scope)])
    query = f"SELECT 1 FROM records WHERE {where.sql} LIMIT 1"  # noqa: S608 - fixed text, bound values
    return connection.execute(query, where.values).fetchone() is not None


def read_sources(connection: sqlite3.Connection, account: str, under: Uri) -> dict[Uri, SourceMark]:
    """Return where every file at or below an address came from."""
    area = at_or_below(under)
    rows = connection.execute(
        f"SELECT uri, source, origin FROM records WHERE account = ? AND {area.sql} AND level = 2"  # noqa: S608 - fixed text, bound values
        " ORDER BY uri",
        (account, *area.values),
    )
    return {Uri(uri): SourceMark(source, origin) for uri, source, origin in rows}


def read_passages(
    connection: sqlite3.Connection, wanted: Sequence[tuple[RecordId, int]]
) -> list[Passage | None]:
    """Return passages by record and ordinal, None where there is none."""
    query = f"SELECT {PASSAGE_COLUMNS} FROM passages WHERE record = ? AND ordinal = ?"  # noqa: S608 - fixed text
    rows = [connection.execute(query, place).fetchone() for place in wanted]
    return [None if row is None else passage_of(row) for row in rows]


def read_found(
    connection: sqlite3.Connection, wanted: Sequence[tuple[RecordId, int]]
) -> list[tuple[Record, Passage | None] | None]:
    """Return records with one passage each, None where there is none."""
    known: dict[tuple[int, int], tuple[Record, Passage | None]] = {}
    for begin in range(0, len(wanted), FOUND_AT_ONCE):
        part = wanted[begin : begin + FOUND_AT_ONCE]
        places = [number for place in part for number in place]
        for row in connection.execute(_found_query(len(part)), places).fetchall():
            passage = None if row[-1] is None else passage_of(row[_PASSAGE_AT:])
            known[row[1], row[0]] = (record_of(row[1:_PASSAGE_AT]), passage)
    return [known.get(place) for place in wanted]


@lru_cache(FOUND_AT_ONCE)
def _found_query(count: int) -> str:
    """Return one statement for so many places: half the time of a statement for each."""
    columns = [f"r.{name.strip()}" for name in RECORD_COLUMNS.split(",")]
    columns += [f"p.{name.strip()}" for name in PASSAGE_COLUMNS.split(",")]
    places = ", ".join(["(?, ?)"] * count)
    return (
        f"WITH wanted (record, ordinal) AS (VALUES {places})"  # noqa: S608 - fixed text
        f" SELECT wanted.ordinal, {', '.join(columns)} FROM wanted JOIN records r ON r.id = wanted.record"
        " LEFT JOIN passages p ON p.record = r.id AND p.ordinal = wanted.ordinal"
    )


def read_pending(connection: sqlite3.Connection, limit: int) -> list[PendingText]:
    """Return texts without a vector, those of files first, then as they came."""
    rows = connection.execute(
        f"SELECT {PASSAGE_COLUMNS} FROM passages WHERE pending = 1 ORDER BY later, id"  # noqa: S608 - fixed text
    )
    texts: dict[str, str] = {}
    for row in rows:
        if len(texts) >= limit:
            break
        passage = passage_of(row)
        texts.setdefault(passage.digest, passage.embedded_text)
    return [PendingText(digest, text) for digest, text in texts.items()]


def read_stale(connection: sqlite3.Connection, limit: int) -> list[StaleDirectory]:
    """Return directories to summarise, deepest first."""
    rows = connection.execute(
        "SELECT account, uri, mark FROM stale ORDER BY depth DESC, account, uri LIMIT ?", (limit,)
    )
    return [StaleDirectory(account, Uri(uri), mark) for account, uri, mark in rows]


def read_backlog(
    connection: sqlite3.Connection, account: str | None, under: Uri | None, user: str | None
) -> Backlog:
    """Count texts to embed and directories to summarise."""
    parts = [] if account is None else [Condition("account = ?", (account,))]
    parts += [] if under is None else [at_or_below(under)]
    held = conjunction(parts if user is None else [*parts, shared_or_of(user)])
    whole = held == conjunction([])
    joined = "" if whole else f" JOIN records ON records.id = record AND {held.sql}"
    (texts,) = connection.execute(
        f"SELECT count(DISTINCT digest) FROM passages{joined} WHERE pending = 1",  # noqa: S608 - fixed text, bound values
        held.values,
    ).fetchone()
    stale = conjunction(parts if user is None else [*parts, unowned_by_others(user)])
    (directories,) = connection.execute(
        f"SELECT count(*) FROM stale WHERE {stale.sql}",  # noqa: S608 - fixed text, bound values
        stale.values,
    ).fetchone()
    (position,) = connection.execute("SELECT coalesce(max(position), 0) FROM log").fetchone()
    return Backlog(texts, directories, position)


def read_changes(connection: sqlite3.Connection, after: int, limit: int, most: int) -> list[Change]:
    """Return log entries after a position, with at most `most` passages and their vectors.

    The first entry comes however many passages it has.
    """
    entries = _entries(connection, after, limit, most)
    if not entries:
        return []
    rows = connection.execute(
        "SELECT p.ordinal, p.heading, p.text, p.context, p.digest, l.record, v.vector FROM log l"
        " CROSS JOIN passages p ON p.record = l.record LEFT JOIN vectors v ON v.digest = p.digest"
        " WHERE l.position > ? AND l.position <= ? ORDER BY l.position, p.ordinal",
        (after, entries[-1][0]),
    )
    held = {record: list(group) for record, group in groupby(rows, key=itemgetter(5))}
    return [_change(entry, held.get(entry[1], [])) for entry in entries]


def salvage_changes(connection: sqlite3.Connection, after: int, limit: int) -> list[Change]:
    """Return what `read_changes` would, one entry after the other: a record that cannot be read counts as gone."""
    log = connection.execute(
        "SELECT position, record FROM log WHERE position > ? ORDER BY position LIMIT ?",
        (after, min(limit, _SALVAGED_AT_ONCE)),
    ).fetchall()
    changes: list[Change] = []
    lost: list[int] = []
    for position, record in log:
        try:
            changes += read_changes(connection, position - 1, 1, 1)
        except (sqlite3.DatabaseError, DamagedError) as error:
            if isinstance(error, sqlite3.DatabaseError) and not is_damage(error):
                raise  # a disk that is busy or refuses says nothing of the record
            changes.append(Change(position, RecordId(record), None))
            lost.append(record)
    if lost:
        _log.error("%d records cannot be read and are not found any more: %s", len(lost), lost)
    return changes


def salvage_pending(connection: sqlite3.Connection, limit: int) -> list[PendingText]:
    """Return what `read_pending` would, without the texts that cannot be read."""
    ids = connection.execute("SELECT id FROM passages WHERE pending = 1 ORDER BY later, id")
    texts: dict[str, str] = {}
    for place in ids.fetchall():
        if len(texts) >= limit:
            break
        try:
            row = connection.execute(_PASSAGE, place).fetchone()
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            continue
        texts.setdefault(row[-1], passage_of(row).embedded_text)
    return [PendingText(digest, text) for digest, text in texts.items()]


def _entries(connection: sqlite3.Connection, after: int, limit: int, most: int) -> list[_Entry]:
    columns = ", ".join(f"r.{name.strip()}" for name in RECORD_COLUMNS.split(","))
    rows = connection.execute(
        "SELECT (SELECT count(*) FROM passages p WHERE p.record = l.record),"  # noqa: S608 - fixed text
        f" l.position, l.record, {columns} FROM log l LEFT JOIN records r ON r.id = l.record"
        " WHERE l.position > ? ORDER BY l.position LIMIT ?",
        (after, limit),
    )
    entries: list[_Entry] = []
    total = 0
    for count, *entry in rows:  # read row by row: what is not taken is not counted either
        total += count
        if entries and total > most:
            break
        entries.append(tuple(entry))
    return entries


def _change(entry: _Entry, held: list[_HeldRow]) -> Change:
    there = entry[2] is not None  # LEFT JOIN: all columns of a record that is gone are NULL
    return Change(
        position=entry[0],
        id=RecordId(entry[1]),
        record=record_of(entry[2:]) if there else None,
        passages=[Passage(*row[:5]) for row in held],
        vectors=_stacked([row[6] for row in held]),
    )


def _stacked(blobs: Sequence[bytes | None]) -> Matrix | None:
    """Return the vectors of a record, None where some are missing, and no columns where they are damaged."""
    present = [blob for blob in blobs if blob is not None]
    if not present or len(present) < len(blobs):
        return None
    sizes = {len(blob) for blob in present}
    if len(sizes) > 1 or sizes.pop() % _FLOAT_BYTES:
        return np.zeros((len(present), 0), np.float32)
    return np.frombuffer(b"".join(present), dtype="<f4").reshape(len(present), -1)


def read_counts(
    connection: sqlite3.Connection, account: str | None, user: str | None
) -> dict[str, int]:
    """Return how many there are of each kind."""
    parts = [] if account is None else [Condition("account = ?", (account,))]
    parts += [] if user is None else [shared_or_of(user)]
    where = conjunction(parts)
    accounts, records, files, directories = connection.execute(
        "SELECT count(DISTINCT account), count(*), coalesce(sum(level = 2), 0),"  # noqa: S608 - fixed text, bound values
        f" coalesce(sum(level = 0), 0) FROM records WHERE {where.sql}",
        where.values,
    ).fetchone()
    counted = (
        "SELECT (SELECT count(*) FROM passages), (SELECT count(*) FROM vectors)"
        if not parts
        else "SELECT count(*), count(DISTINCT CASE WHEN pending = 0 THEN digest END)"  # noqa: S608 - fixed text, bound values
        f" FROM records JOIN passages ON record = records.id WHERE {where.sql}"
    )
    passages, vectors = connection.execute(counted, where.values).fetchone()
    return {
        "accounts": accounts,
        "records": records,
        "files": files,
        "directories": directories,
        "passages": passages,
        "vectors": vectors,
    }
