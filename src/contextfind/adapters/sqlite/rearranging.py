"""Records that are taken elsewhere or get other tags, where they lie: nothing of them leaves the database."""

import sqlite3

from contextfind.adapters.sqlite.conditions import Condition, at_or_below
from contextfind.adapters.sqlite.rows import storable, tags_of, tags_text
from contextfind.adapters.sqlite.tree_rows import TreeRows, note
from contextfind.domain.documents import make_passage
from contextfind.domain.records import Level, context_type_of
from contextfind.domain.tags import retagged
from contextfind.domain.uri import Uri
from contextfind.ports.moves import MOST, Move, Retag, missing, taken, too_many

_SPOKEN_OF = "SELECT id, uri, level, abstract, origin, content, tags FROM records"
_Row = tuple[int, str, int, str, str, str, str]  # in the order of _SPOKEN_OF
_COPY = (  # of a record at another address; times, counts, tags and bodies as they are
    "INSERT INTO records (account, owner, uri, parent, name, level, context_type, abstract, tags,"
    " created_at, updated_at, content, source, size, active_count, origin)"
    " SELECT account, ?, ?, ?, ?, level, ?, ?, tags, created_at, updated_at, content, source, size,"
    " active_count, ? FROM records WHERE id = ?"
)


class Rearrangement:
    """What one commit rearranges in one account, in the writer's transaction."""

    def __init__(self, connection: sqlite3.Connection, account: str, rows: TreeRows) -> None:
        self._connection = connection
        self._account = account
        self._rows = rows

    def move(self, move: Move) -> list[Uri]:
        """Take everything to its new address; return those, in order.

        Raises:
            NotFoundError, AlreadyExistsError, ConflictError: see `RecordStore.commit`.

        """
        found = self._at(at_or_below(move.source), move.source)
        if self._any(move.target):
            raise taken(move.target)
        self._rows.check_kind(move.target, Level.DETAIL)
        stale = self._take_stale(move.source)
        for row in found:
            self._take(move, row)
            if row[2] == Level.OVERVIEW and row[1] == move.source.text and row[5]:
                stale.add(move.source)
        for uri in sorted(stale):
            self._rows.mark_stale(move.address(uri))
        return list(dict.fromkeys(move.address(Uri(row[1])) for row in found))

    def retag(self, retag: Retag, now: int) -> list[Uri]:
        """Give the tags; return the addresses they were given at, in order.

        Raises:
            NotFoundError: nothing lies there.

        """
        found = self._at(
            at_or_below(retag.uri) if retag.recursive else Condition("uri = ?", (retag.uri.text,)),
            retag.uri,
        )
        spoken_of = [row for row in found if row[2] == Level.DETAIL or not retag.recursive]
        for record, _, _, _, _, _, known in spoken_of:
            tags = retagged(tags_of(known), retag.tags, retag.mode)
            if tags_text(tags) == known:
                continue
            self._connection.execute(
                "UPDATE records SET tags = ?, updated_at = ? WHERE id = ?",
                (tags_text(tags), now, record),
            )
            self._rows.replace_tags(record, tags)
            note(self._connection, record)
        return list(dict.fromkeys(Uri(row[1]) for row in spoken_of))

    def _at(self, area: Condition, uri: Uri) -> list[_Row]:
        found: list[_Row] = self._connection.execute(
            f"{_SPOKEN_OF} WHERE account = ? AND {area.sql} ORDER BY uri, level LIMIT ?",
            (self._account, *area.values, MOST + 1),
        ).fetchall()
        if not found:
            raise missing(uri)
        if len(found) > MOST:
            raise too_many(uri)
        return found

    def _any(self, uri: Uri) -> bool:
        area = at_or_below(uri)
        found = self._connection.execute(
            f"SELECT 1 FROM records WHERE account = ? AND {area.sql} LIMIT 1",  # noqa: S608 - fixed text, bound values
            (self._account, *area.values),
        )
        return found.fetchone() is not None

    def _take(self, move: Move, row: _Row) -> None:
        old, text, _, abstract, origin, _, _ = row
        uri = Uri(text)
        there = move.address(uri)
        parent = there.parent
        made = self._connection.execute(
            _COPY,
            (
                there.owner,
                there.text,
                "" if parent is None else parent.text,
                there.name,
                context_type_of(there).value,
                move.abstract(uri, abstract),
                move.origin(origin),
                old,
            ),
        )
        new = int(made.lastrowid or 0)
        self._take_passages(move, uri, there, (old, new))
        self._connection.execute("UPDATE tags SET record = ? WHERE record = ?", (new, old))
        self._connection.execute("DELETE FROM records WHERE id = ?", (old,))
        note(self._connection, old)
        note(self._connection, new)

    def _take_passages(self, move: Move, uri: Uri, there: Uri, ids: tuple[int, int]) -> None:
        """Give the passages of record `ids[0]` to `ids[1]`, with the context lines they have there."""
        old, new = ids
        held = self._connection.execute(
            "SELECT id, heading, text, context FROM passages WHERE record = ?", (old,)
        ).fetchall()
        self._rows.loosen(old)
        changed: list[tuple[int, str, str, int]] = []
        for passage, heading, text, context in held:
            line = storable(move.relabel(uri, there, context))
            changed.append((new, line, make_passage(0, heading, text, line).digest, passage))
        self._connection.executemany(
            "UPDATE passages SET record = ?1, context = ?2, digest = ?3,"
            " pending = NOT EXISTS (SELECT 1 FROM vectors WHERE digest = ?3) WHERE id = ?4",
            changed,
        )

    def _take_stale(self, source: Uri) -> set[Uri]:
        """Return the directories at and below that are to be summarised, and forget them there."""
        area = at_or_below(source)
        values = (self._account, *area.values)
        found = self._connection.execute(
            f"SELECT uri FROM stale WHERE account = ? AND {area.sql}",  # noqa: S608 - fixed text, bound values
            values,
        ).fetchall()
        self._connection.execute(
            f"DELETE FROM stale WHERE account = ? AND {area.sql}",  # noqa: S608 - fixed text, bound values
            values,
        )
        return {Uri(uri) for (uri,) in found}
