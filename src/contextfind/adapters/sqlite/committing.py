"""What the writer's thread does: a commit, new vectors, forgotten vectors."""

import sqlite3
from collections.abc import Sequence

import numpy as np

from contextfind.adapters.sqlite.conditions import at_or_below
from contextfind.adapters.sqlite.rearranging import Rearrangement
from contextfind.adapters.sqlite.rows import passage_rows, storable, tags_text
from contextfind.adapters.sqlite.tree_rows import (
    TreeRows,
    above,
    lacks_vectors,
    note,
)
from contextfind.domain.records import Level, Vector
from contextfind.domain.times import microseconds
from contextfind.domain.uri import Uri
from contextfind.ports.store import Commit, Committed, RecordDraft

_FIELDS = "id, context_type, abstract, tags, content, source, size, origin"
_Fields = tuple[str, str, str, str, str, int, str]  # in the order of _FIELDS, after the id


def run_commit(connection: sqlite3.Connection, commit: Commit) -> Committed:
    """Do what the commit says; the caller undoes all of it on an error.

    Raises:
        ConflictError, NotFoundError, AlreadyExistsError: see `RecordStore.commit`.

    """
    hand = _Hand(connection, commit)
    removed = sum(hand.remove(uri) for uri in commit.remove)
    moved, tagged = hand.rearrange()
    overtaken = hand.overtaken()
    for draft in commit.put:
        if draft.level is Level.DETAIL or draft.uri not in overtaken:
            hand.put(draft)
    for draft in commit.ensure:
        if hand.stored(draft) is None:
            hand.put(draft)
    hand.settle_stale()
    hand.drop_loose_vectors()
    return Committed(last_position(connection), removed, moved, tagged)


def store_vectors(connection: sqlite3.Connection, vectors: Sequence[tuple[str, Vector]]) -> int:
    """Store vectors that a passage asks for, log the records that have all now."""
    touched: dict[int, None] = {}
    for digest, vector in vectors:
        waiting = connection.execute(
            "SELECT record, pending FROM passages WHERE digest = ?", (digest,)
        ).fetchall()
        if not waiting:
            continue
        blob = np.asarray(vector, dtype="<f4").tobytes()
        connection.execute("INSERT OR REPLACE INTO vectors VALUES (?, ?)", (digest, blob))
        connection.execute("UPDATE passages SET pending = 0 WHERE digest = ?", (digest,))
        touched |= {record: None for record, pending in waiting if pending}
    for record in sorted(touched):
        if not lacks_vectors(connection, record):
            note(connection, record)
    return last_position(connection)


def forget_vectors(connection: sqlite3.Connection) -> int:
    """Drop every vector and log every record that has passages, oldest first."""
    connection.execute("DELETE FROM vectors")
    connection.execute("UPDATE passages SET pending = 1")
    connection.execute(
        "INSERT OR REPLACE INTO log (record) SELECT DISTINCT record FROM passages ORDER BY record"
    )
    return last_position(connection)


def embed_again(connection: sqlite3.Connection, records: Sequence[int]) -> int:
    """Drop the vectors of records and log these; whoever shares a text with them waits for it too."""
    for record in records:
        found = connection.execute("SELECT digest FROM passages WHERE record = ?", (record,))
        digests = found.fetchall()
        for digest in digests:
            connection.execute("DELETE FROM vectors WHERE digest = ?", digest)
            connection.execute("UPDATE passages SET pending = 1 WHERE digest = ?", digest)
        if digests:
            note(connection, record)
    return last_position(connection)


def last_position(connection: sqlite3.Connection) -> int:
    """Return the position of the last log entry, 0 when there is none."""
    (position,) = connection.execute("SELECT coalesce(max(position), 0) FROM log").fetchone()
    return int(position)


class _Hand:
    """Writes one commit, step by step.

    bereft: directories that may have lost the last thing below them.
    """

    def __init__(self, connection: sqlite3.Connection, commit: Commit) -> None:
        self._connection = connection
        self._commit = commit
        self._account = commit.account
        self._now = microseconds(commit.now)
        self._rows = TreeRows(connection, commit.account)
        self._bereft: set[Uri] = set()

    def remove(self, uri: Uri) -> int:
        """Take out an address and all below it, and return how many records that were."""
        area = at_or_below(uri)
        values = (self._account, *area.values)
        found = self._connection.execute(
            f"SELECT id FROM records WHERE account = ? AND {area.sql} ORDER BY uri, level",  # noqa: S608 - fixed text, bound values
            values,
        ).fetchall()
        for (record,) in found:
            self._rows.loosen(record)
            self._connection.execute("DELETE FROM records WHERE id = ?", (record,))
            note(self._connection, record)
        self._connection.execute(
            f"DELETE FROM stale WHERE account = ? AND {area.sql}",  # noqa: S608 - fixed text, bound values
            values,
        )
        self._bereft.update(above(uri))
        return len(found)

    def rearrange(self) -> tuple[list[Uri], list[Uri]]:
        """Move and tag what is to be; return the addresses of both."""
        hand = Rearrangement(self._connection, self._account, self._rows)
        move, tags = self._commit.move, self._commit.retag
        moved = [] if move is None else hand.move(move)
        self._bereft.update(() if move is None else above(move.source))
        return moved, [] if tags is None else hand.retag(tags, self._now)

    def overtaken(self) -> set[Uri]:
        """Return the directories of `fresh` whose mark does not stand any more."""
        query = "SELECT 1 FROM stale WHERE account = ? AND uri = ? AND mark = ?"
        return {
            done.uri
            for done in self._commit.fresh
            if self._connection.execute(query, (self._account, done.uri.text, done.mark)).fetchone()
            is None
        }

    def stored(self, draft: RecordDraft) -> tuple[int, *_Fields] | None:
        """Return the fields of what is stored at the draft's (uri, level)."""
        row: tuple[int, *_Fields] | None = self._connection.execute(
            f"SELECT {_FIELDS} FROM records WHERE account = ? AND uri = ? AND level = ?",  # noqa: S608 - fixed text, bound values
            (self._account, draft.uri.text, draft.level.value),
        ).fetchone()
        return row

    def put(self, draft: RecordDraft) -> None:
        """Replace the record at the draft's (uri, level), or make it."""
        known = self.stored(draft)
        passages = passage_rows(draft.passages)
        if known is None:
            self._rows.check_kind(draft.uri, draft.level)
            record = self._insert(draft)
            self._rows.write_passages(record, draft.level, passages)
            note(self._connection, record)
            return
        record = known[0]
        same_passages = self._rows.passages(record) == passages
        wanted = _fields(draft)
        if draft.tags is None:
            wanted = (wanted[0], wanted[1], known[3], *wanted[3:])
        if same_passages and wanted == known[1:]:
            return
        self._update(record, wanted, draft.tags)
        if not same_passages:
            self._rows.replace_passages(record, draft.level, passages)
        note(self._connection, record)

    def settle_stale(self) -> None:
        """Apply `fresh`, then `stale`, and forget directories that are none any more."""
        self._connection.executemany(
            "DELETE FROM stale WHERE account = ? AND uri = ? AND mark = ?",
            [(self._account, done.uri.text, done.mark) for done in self._commit.fresh],
        )
        for uri in self._commit.stale:
            self._rows.mark_stale(uri)
        for uri in self._bereft.union(self._commit.stale):
            if not self._rows.is_directory(uri):
                self._unmark(uri)

    def drop_loose_vectors(self) -> None:
        """Delete the vectors that no passage uses any more."""
        self._rows.drop_loose_vectors()

    def _unmark(self, uri: Uri) -> None:
        self._connection.execute(
            "DELETE FROM stale WHERE account = ? AND uri = ?", (self._account, uri.text)
        )

    def _insert(self, draft: RecordDraft) -> int:
        parent = draft.uri.parent
        cursor = self._connection.execute(
            "INSERT INTO records (account, owner, uri, parent, name, level, context_type, abstract,"
            " tags, content, source, size, origin, created_at, updated_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                self._account,
                draft.uri.owner,
                draft.uri.text,
                "" if parent is None else parent.text,
                draft.uri.name,
                draft.level.value,
                *_fields(draft),
                self._now,
                self._now,
            ),
        )
        record = int(cursor.lastrowid or 0)
        self._rows.write_tags(record, draft.tags or ())
        return record

    def _update(self, record: int, fields: _Fields, tags: tuple[str, ...] | None) -> None:
        self._connection.execute(
            "UPDATE records SET context_type = ?, abstract = ?, tags = ?, content = ?, source = ?,"
            " size = ?, origin = ?, updated_at = ? WHERE id = ?",
            (*fields, self._now, record),
        )
        if tags is not None:
            self._rows.replace_tags(record, tags)


def _fields(draft: RecordDraft) -> _Fields:
    """Return what a put may change."""
    return (
        draft.context_type.value,
        storable(draft.abstract),
        tags_text(draft.tags or ()),
        draft.content,
        draft.source,
        draft.size,
        storable(draft.origin),
    )
