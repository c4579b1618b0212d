"""Records out of the database with all that belongs to them, and into it as they were."""

import sqlite3
from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter

import numpy as np

from contextfind.adapters.sqlite.committing import last_position
from contextfind.adapters.sqlite.rows import (
    PASSAGE_COLUMNS,
    RECORD_COLUMNS,
    PassageRow,
    RecordRow,
    passage_rows,
    record_of,
    storable,
    tags_text,
)
from contextfind.adapters.sqlite.tree_rows import TreeRows, lacks_vectors, note
from contextfind.domain.records import Level, Passage, Record, Vector
from contextfind.domain.times import microseconds
from contextfind.domain.uri import Uri
from contextfind.ports.store import RecordCopy, Restored

_COLUMNS = [name.strip() for name in RECORD_COLUMNS.split(",")]
_SELECT = f"SELECT {RECORD_COLUMNS} FROM records"  # noqa: S608 - fixed text
_AT = f"{_SELECT} WHERE account = ? AND uri = ? AND level = ?"
_WRITTEN = ["parent", "name", *_COLUMNS[1:]]  # the id is the store's own affair
_INSERT = f"INSERT INTO records ({', '.join(_WRITTEN)}) VALUES ({', '.join('?' * len(_WRITTEN))})"  # noqa: S608 - fixed text
_UPDATE = f"UPDATE records SET {', '.join(f'{name} = ?' for name in _WRITTEN)} WHERE id = ?"  # noqa: S608 - fixed text
_HeldRow = tuple[int, str, str, str, str, bytes | None, int]  # a passage, its vector, its record


def read_copies(
    connection: sqlite3.Connection,
    account: str | None,
    after: Record | None,
    limit: int,
    most: int,
) -> list[RecordCopy]:
    """Return records by account, address and level, with at most `most` passages together.

    The first one comes however many passages it has.
    """
    rows = _next_rows(connection, account, after, limit, most)
    ids = [row[0] for row in rows]
    held = _held(connection, ids)
    stale = _stale(connection, rows)
    return [_copy(row, held.get(row[0], []), stale) for row in rows]


def run_restore(
    connection: sqlite3.Connection, copies: Sequence[RecordCopy], ensure: Sequence[RecordCopy]
) -> Restored:
    """Write records as they are given; the caller undoes all of it on an error.

    Raises:
        ConflictError: a file where a directory is, or a directory where a file is.

    """
    hand = _Hand(connection)
    hand.bring_vectors(copies)
    for copy in copies:
        hand.put(copy)
    for copy in ensure:
        hand.ensure(copy)
    hand.finish()
    return Restored(last_position(connection), hand.written)


def _next_rows(
    connection: sqlite3.Connection,
    account: str | None,
    after: Record | None,
    limit: int,
    most: int,
) -> list[RecordRow]:
    conditions: list[str] = []
    values: list[object] = []
    if account is not None:
        conditions.append("account = ?")
        values.append(account)
    if after is not None:
        conditions.append("(account, uri, level) > (?, ?, ?)")
        values += [after.account, after.uri.text, after.level.value]
    found = connection.execute(
        f"SELECT (SELECT count(*) FROM passages WHERE record = records.id), {RECORD_COLUMNS}"  # noqa: S608 - fixed text, bound values
        f" FROM records WHERE {' AND '.join(conditions) or 'TRUE'}"
        " ORDER BY account, uri, level LIMIT ?",
        (*values, limit),
    )
    rows: list[RecordRow] = []
    total = 0
    for count, *row in found:  # read row by row: what is not taken is not counted either
        total += count
        if rows and total > most:
            break
        rows.append(tuple(row))
    return rows


def _held(connection: sqlite3.Connection, ids: Sequence[int]) -> Mapping[int, list[_HeldRow]]:
    """Return the passages of records in order of `ordinal`."""
    query = (
        f"SELECT {', '.join(f'p.{name.strip()}' for name in PASSAGE_COLUMNS.split(','))},"  # noqa: S608 - fixed text
        " v.vector, p.record FROM passages p LEFT JOIN vectors v ON v.digest = p.digest"
        " WHERE p.record = ? ORDER BY p.ordinal"
    )
    rows = [row for record in ids for row in connection.execute(query, (record,))]
    return {record: list(group) for record, group in groupby(rows, key=itemgetter(6))}


def _stale(connection: sqlite3.Connection, rows: Sequence[RecordRow]) -> set[tuple[str, str]]:
    """Return which of the directories among these are stale."""
    query = "SELECT 1 FROM stale WHERE account = ? AND uri = ?"
    folders = [(row[1], row[3]) for row in rows if row[4] == Level.ABSTRACT]
    return {place for place in folders if connection.execute(query, place).fetchone() is not None}


def _copy(row: RecordRow, held: list[_HeldRow], stale: set[tuple[str, str]]) -> RecordCopy:
    return RecordCopy(
        record=record_of(row),
        passages=[Passage(*one[:5]) for one in held],
        vectors=[None if one[5] is None else np.frombuffer(one[5], dtype="<f4") for one in held],
        stale=row[4] == Level.ABSTRACT and (row[1], row[3]) in stale,
    )


class _Hand:
    """Writes the records of one batch.

    arrived: records that have a vector now which they lacked.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.written = 0
        self._connection = connection
        self._rows: dict[str, TreeRows] = {}
        self._arrived: set[int] = set()
        self._folders: set[tuple[str, Uri]] = set()  # directories that hold no file of their name

    def bring_vectors(self, copies: Sequence[RecordCopy]) -> None:
        """Store the vectors that are not there yet; passages that wait for one have it then."""
        for copy in copies:
            for passage, vector in zip(copy.passages, copy.vectors, strict=True):
                if vector is not None:
                    self._bring_vector(passage.digest, vector)

    def put(self, copy: RecordCopy) -> None:
        """Replace the record at the copy's place, or make it."""
        record = copy.record
        known = self._stored(record)
        wanted = _fields(record)
        passages = passage_rows(copy.passages)
        if known is None:
            self._make(record, wanted, passages)
        elif known[1:] != wanted[2:] or self._of(record.account).passages(known[0]) != passages:
            self._change(known, record, wanted, passages)
        if copy.stale:
            self._of(record.account).mark_stale(record.uri)

    def ensure(self, copy: RecordCopy) -> None:
        """Make the record where nothing is at its place, and mark its directory."""
        record = copy.record
        if self._stored(record) is None:
            self._make(record, _fields(record), passage_rows(copy.passages))
            self._of(record.account).mark_stale(record.uri)

    def finish(self) -> None:
        """Log what can be found by meaning now, and drop vectors that no passage uses any more."""
        for record in sorted(self._arrived):
            if not lacks_vectors(self._connection, record):
                note(self._connection, record)
        for rows in self._rows.values():
            rows.drop_loose_vectors()

    def _of(self, account: str) -> TreeRows:
        if account not in self._rows:
            self._rows[account] = TreeRows(self._connection, account)
        return self._rows[account]

    def _stored(self, record: Record) -> RecordRow | None:
        place = (record.account, record.uri.text, record.level.value)
        row: RecordRow | None = self._connection.execute(_AT, place).fetchone()
        return row

    def _bring_vector(self, digest: str, vector: Vector) -> None:
        blob = np.asarray(vector, dtype="<f4").tobytes()
        cursor = self._connection.execute(
            "INSERT OR IGNORE INTO vectors VALUES (?, ?)", (digest, blob)
        )
        if cursor.rowcount == 0:  # an equal text has it already
            return
        waiting = self._connection.execute(
            "UPDATE passages SET pending = 0 WHERE digest = ? AND pending = 1 RETURNING record",
            (digest,),
        )
        self._arrived.update(record for (record,) in waiting.fetchall())

    def _make(self, record: Record, wanted: tuple[object, ...], passages: list[PassageRow]) -> None:
        rows = self._of(record.account)
        self._check_kind(record)
        made = int(self._connection.execute(_INSERT, wanted).lastrowid or 0)
        rows.write_tags(made, record.tags)
        rows.write_passages(made, record.level, passages)
        note(self._connection, made)
        self.written += 1

    def _change(
        self,
        known: RecordRow,
        record: Record,
        wanted: tuple[object, ...],
        passages: list[PassageRow],
    ) -> None:
        rows, number = self._of(record.account), known[0]
        self._connection.execute(_UPDATE, (*wanted, number))
        rows.replace_tags(number, record.tags)
        if rows.passages(number) != passages:
            rows.replace_passages(number, record.level, passages)
        if record.level is Level.ABSTRACT and known[6] != storable(record.abstract):
            rows.mark_stale(record.uri)
        note(self._connection, number)
        self.written += 1

    def _check_kind(self, record: Record) -> None:
        """Refuse what cannot be new at its place; neighbours share their answers about what is above."""
        parent = record.uri.parent
        if parent is None:
            return
        if record.level is not Level.DETAIL or (record.account, parent) not in self._folders:
            self._of(record.account).check_kind(record.uri, record.level)
            self._folders.add((record.account, parent))
        elif self._of(record.account).is_directory(record.uri):
            self._of(record.account).check_kind(record.uri, record.level)


def _fields(record: Record) -> tuple[object, ...]:
    """Return the values of a row in the order of _WRITTEN."""
    parent = record.uri.parent
    return (
        "" if parent is None else parent.text,
        record.uri.name,
        record.account,
        record.owner,
        record.uri.text,
        record.level.value,
        record.context_type.value,
        storable(record.abstract),
        tags_text(record.tags),
        microseconds(record.created_at),
        microseconds(record.updated_at),
        record.content,
        record.source,
        record.size,
        record.active_count,
        storable(record.origin),
    )
