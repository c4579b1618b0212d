"""Rows that lost what they belong to, found and put right in steps that a write hardly waits for."""

import sqlite3
from collections.abc import AsyncGenerator, Sequence
from functools import partial

from contextfind.adapters.sqlite.database import Database
from contextfind.adapters.sqlite.tree_rows import TreeRows, note
from contextfind.domain.records import Level, RecordId
from contextfind.domain.uri import Uri
from contextfind.ports.housekeeping import Chore, NamedText, Swept

_DIGESTS = 2_000  # looked at in one step, in two indices side by side: a few milliseconds
_RECORDS = 2_000  # ids looked at in one step
_LAST = "\U0010ffff"  # after every digest


class SqliteMending:
    """`TextNames`, and the chores of putting rows right."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def chores(self) -> Sequence[Chore]:
        """What is looked for, in this order."""
        return (
            Chore("passages without a record", self._dangling),
            Chore("passages without a vector", self._vectorless),
            Chore("records missing in the log", self._unlogged),
        )

    async def texts(self, after: RecordId, limit: int) -> Sequence[NamedText]:
        """See `TextNames.texts`."""
        return await self._database.read(partial(_texts, after=after, limit=limit))

    async def give_up(self, lost: Sequence[NamedText], sources: Sequence[str]) -> int:
        """See `TextNames.give_up`."""
        return await self._database.tidy(partial(_give_up, lost=lost, sources=set(sources)))

    async def _dangling(self) -> AsyncGenerator[Swept, None]:
        last = await self._database.read(_last_owner)
        for after in range(0, last, _RECORDS):
            gone = await self._database.read(partial(_ownerless, after=after))
            if gone:
                await self._database.tidy(partial(_drop_passages, records=gone))
            yield Swept(len(gone))

    async def _vectorless(self) -> AsyncGenerator[Swept, None]:
        after = ""
        while after != _LAST:
            after, found = await self._database.read(partial(_unvectored, after=after))
            queued = await self._database.tidy(partial(_queue, digests=found)) if found else 0
            yield Swept(queued)

    async def _unlogged(self) -> AsyncGenerator[Swept, None]:
        last = await self._database.read(_last_record)
        for after in range(0, last, _RECORDS):
            missing = await self._database.read(partial(_missing, after=after))
            if missing:
                await self._database.tidy(partial(_log, records=missing))
            yield Swept(len(missing))


def _last_record(connection: sqlite3.Connection) -> int:
    (last,) = connection.execute("SELECT coalesce(max(id), 0) FROM records").fetchone()
    return int(last)


def _missing(connection: sqlite3.Connection, after: int) -> list[int]:
    rows = connection.execute(
        "SELECT id FROM records WHERE id > ? AND id <= ?"
        " AND NOT EXISTS (SELECT 1 FROM log WHERE record = id)",
        (after, after + _RECORDS),
    )
    return [record for (record,) in rows]


def _log(connection: sqlite3.Connection, records: Sequence[int]) -> None:
    for record in records:
        note(connection, record)


def _last_owner(connection: sqlite3.Connection) -> int:
    (last,) = connection.execute("SELECT coalesce(max(record), 0) FROM passages").fetchone()
    return int(last)


def _ownerless(connection: sqlite3.Connection, after: int) -> list[int]:
    rows = connection.execute(
        "SELECT DISTINCT record FROM passages WHERE record > ? AND record <= ?"
        " AND NOT EXISTS (SELECT 1 FROM records WHERE id = record)",
        (after, after + _RECORDS),
    )
    return [record for (record,) in rows]


def _drop_passages(connection: sqlite3.Connection, records: Sequence[int]) -> None:
    rows = TreeRows(connection, "")
    for record in records:
        rows.loosen(record)
        connection.execute("DELETE FROM passages WHERE record = ?", (record,))
        connection.execute("DELETE FROM tags WHERE record = ?", (record,))
        note(connection, record)  # an index may have followed it before
    rows.drop_loose_vectors()


def _unvectored(connection: sqlite3.Connection, after: str) -> tuple[str, list[str]]:
    """Return the digest that was looked at last, and those that have no vector and wait for none."""
    row = connection.execute(
        "SELECT digest FROM passages WHERE digest > ? ORDER BY digest LIMIT 1 OFFSET ?",
        (after, _DIGESTS - 1),
    ).fetchone()
    upto = _LAST if row is None else str(row[0])
    missing = connection.execute(
        "SELECT DISTINCT digest FROM passages p WHERE digest > ? AND digest <= ?"
        " AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.digest = p.digest)",
        (after, upto),
    ).fetchall()
    settled = "SELECT 1 FROM passages WHERE digest = ? AND pending = 0 LIMIT 1"
    return upto, [one[0] for one in missing if connection.execute(settled, one).fetchone()]


def _queue(connection: sqlite3.Connection, digests: Sequence[str]) -> int:
    """Have texts embedded again, unless that was done meanwhile; return how many passages have them."""
    queued = 0
    for digest in digests:
        rows = connection.execute(
            "UPDATE passages SET pending = 1 WHERE digest = ?1 AND pending = 0"
            " AND NOT EXISTS (SELECT 1 FROM vectors WHERE digest = ?1) RETURNING record",
            (digest,),
        ).fetchall()
        queued += len(rows)
        for (record,) in rows:
            note(connection, record)
    return queued


def _texts(connection: sqlite3.Connection, after: RecordId, limit: int) -> list[NamedText]:
    rows = connection.execute(
        "SELECT id, account, uri, level, content, source FROM records"
        " WHERE id > ? AND content <> '' ORDER BY id LIMIT ?",
        (after, limit),
    )
    return [
        NamedText(RecordId(record), account, uri, Level(level), content, source)
        for record, account, uri, level, content, source in rows
    ]


def _give_up(connection: sqlite3.Connection, lost: Sequence[NamedText], sources: set[str]) -> int:
    given_up = 0
    for text in lost:
        if text.level is Level.DETAIL:
            change = "source = ''" if text.source in sources else "source = source"
        else:
            change = "source = '', content = ''"
        done = connection.execute(
            f"UPDATE records SET {change} WHERE id = ? AND content = ?",  # noqa: S608 - fixed text, bound values
            (text.id, text.content),
        )
        if done.rowcount and text.level is not Level.DETAIL:
            TreeRows(connection, text.account).mark_stale(Uri(text.uri))
        given_up += done.rowcount
    return given_up
