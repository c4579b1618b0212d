"""The session store in `contextfind.db`.

The messages that are not archived are the last `message_count` of `total_message_count`: archiving
writes one row and moves one number, however many messages there are.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from contextfind.adapters.sqlite.database import Database
from contextfind.adapters.sqlite.rows import storable
from contextfind.domain.conversation import Archive, Session, SessionMessage
from contextfind.domain.identity import Identity
from contextfind.domain.times import microseconds
from contextfind.ports.session_rows import (
    ARCHIVE_COLUMNS,
    MESSAGE_COLUMNS,
    SESSION_COLUMNS,
    SessionRow,
    SessionRows,
)

_ROWS = SessionRows(storable)
_ALL = -1  # as a LIMIT: there is none

_SESSION = f"SELECT {SESSION_COLUMNS} FROM sessions WHERE account = ? AND user = ? AND id = ?"  # noqa: S608 - fixed text
_NEW_SESSION = (
    "INSERT INTO sessions (account, user, id, created_at, updated_at, settings)"
    " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (account, user, id) DO NOTHING"
)
# An id that is there is left out, and the next message gets the ordinal it would have had.
_NEW_MESSAGE = (
    f"INSERT INTO messages ({MESSAGE_COLUMNS}, session)"  # noqa: S608 - fixed text
    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7,"
    " (SELECT coalesce(max(ordinal) + 1, 0) FROM messages WHERE session = ?8), ?8)"
    " ON CONFLICT (session, id) DO NOTHING"
)
_COUNT_NEW = (
    "UPDATE sessions SET updated_at = ?1, message_count = message_count + ?2,"
    " total_message_count = total_message_count + ?2, pending_tokens = pending_tokens + ?3,"
    " last_message_at = max(coalesce(last_message_at, ?4), ?4) WHERE key = ?5"
)
_COUNT_ARCHIVED = (
    "UPDATE sessions SET updated_at = ?1, message_count = message_count - ?2,"
    " pending_tokens = pending_tokens - ?3, commit_count = commit_count + 1, last_commit_at = ?1"
    " WHERE key = ?4"
)
_SUMMARISE = (
    "UPDATE archives SET state = ?, abstract = ?, overview = ?, error = ?"
    " WHERE session = ? AND number = ? AND first = ? AND last = ? AND created_at = ?"
)

AT_ONCE = 1_000  # messages deleted in one transaction: some 20 ms in which nobody else can write
_DELETE = "DELETE FROM sessions WHERE key = ?"
# A larger one is nobody's from now on (no account is called that), and `unbury` takes its messages
# away part by part.
_BURY = "UPDATE sessions SET account = '/', user = '/', id = key WHERE key = ?"
_BURIED = "SELECT key FROM sessions WHERE account = '/' LIMIT 1"
_PART = "DELETE FROM messages WHERE key IN (SELECT key FROM messages WHERE session = ? LIMIT ?)"

_Found = tuple[int, Session]  # the session and its key


class SqliteSessionStore:
    """`SessionStore` in a database file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def create(
        self, identity: Identity, session_id: str, settings: Mapping[str, object], now: datetime
    ) -> bool:
        """See `SessionStore.create`."""
        return await self._database.write(lambda c: _create(c, identity, session_id, settings, now))

    async def get(self, identity: Identity, session_id: str) -> Session | None:
        """See `SessionStore.get`."""
        found = await self._database.read(lambda c: _found(c, identity, session_id))
        return None if found is None else found[1]

    async def configure(
        self, identity: Identity, session_id: str, settings: Mapping[str, object]
    ) -> Session | None:
        """See `SessionStore.configure`."""

        def work(connection: sqlite3.Connection) -> Session | None:
            found = _found(connection, identity, session_id)
            if found is None:
                return None
            key, session = found
            changed = _ROWS.json_text({**session.settings, **settings})
            connection.execute("UPDATE sessions SET settings = ? WHERE key = ?", (changed, key))
            return replace(session, settings=_ROWS.settings_of(changed))

        return await self._database.write(work)

    async def list(self, identity: Identity, limit: int, offset: int = 0) -> Sequence[Session]:
        """See `SessionStore.list`."""
        query = (
            f"SELECT {SESSION_COLUMNS} FROM sessions WHERE account = ? AND user = ?"  # noqa: S608 - fixed text
            " ORDER BY updated_at DESC, id LIMIT ? OFFSET ?"
        )
        values = (identity.account, identity.user, limit, offset)
        return await self._database.read(
            lambda c: [_ROWS.session_of(row, identity) for row in c.execute(query, values)]
        )

    async def delete(self, identity: Identity, session_id: str) -> bool:
        """See `SessionStore.delete`."""

        def work(connection: sqlite3.Connection) -> bool:
            found = _found(connection, identity, session_id)
            if found is None:
                return False
            key, session = found
            small = session.total_message_count <= AT_ONCE
            connection.execute(_DELETE if small else _BURY, (key,))
            return True

        return await self._database.write(work)

    async def append(
        self, identity: Identity, session_id: str, messages: Sequence[SessionMessage], now: datetime
    ) -> tuple[Session, int]:
        """See `SessionStore.append`."""

        def work(connection: sqlite3.Connection) -> tuple[Session, int]:
            _create(connection, identity, session_id, {}, now)
            place = _place(identity, session_id)
            before = connection.execute(_SESSION, place).fetchone()
            added = _append(connection, before, messages, now)
            after = connection.execute(_SESSION, place).fetchone()
            return _ROWS.session_of(after, identity), added

        return await self._database.write(work)

    async def pending(
        self, identity: Identity, session_id: str, limit: int | None = None
    ) -> Sequence[SessionMessage]:
        """See `SessionStore.pending`."""

        def work(connection: sqlite3.Connection) -> Sequence[SessionMessage]:
            found = _found(connection, identity, session_id)
            if found is None:
                return []
            key, session = found
            count = session.message_count if limit is None else min(limit, session.message_count)
            total = session.total_message_count
            return _messages(connection, key, total - count, total - 1)

        return await self._database.read(work)

    async def archive(
        self, identity: Identity, session_id: str, keep: int, now: datetime
    ) -> Archive | None:
        """See `SessionStore.archive`."""

        def work(connection: sqlite3.Connection) -> Archive | None:
            found = _found(connection, identity, session_id)
            if found is None or found[1].message_count <= keep:
                return None
            return _archive(connection, found, keep, now)

        return await self._database.write(work)

    async def archives(
        self, identity: Identity, session_id: str, limit: int | None = None
    ) -> Sequence[Archive]:
        """See `SessionStore.archives`."""
        wanted = _ALL if limit is None else limit

        def work(connection: sqlite3.Connection) -> Sequence[Archive]:
            found = _found(connection, identity, session_id)
            return [] if found is None else _archives(connection, found[0], wanted)

        return await self._database.read(work)

    async def archived(
        self, identity: Identity, session_id: str, number: int, limit: int | None = None
    ) -> Sequence[SessionMessage]:
        """See `SessionStore.archived`."""

        def work(connection: sqlite3.Connection) -> Sequence[SessionMessage]:
            found = _found(connection, identity, session_id)
            if found is None:
                return []
            query = "SELECT first, last FROM archives WHERE session = ? AND number = ?"
            ends = connection.execute(query, (found[0], number)).fetchone()
            if ends is None:
                return []
            first, last = ends
            start = first if limit is None else max(first, last + 1 - limit)
            return _messages(connection, found[0], start, last)

        return await self._database.read(work)

    async def summarise(
        self, identity: Identity, session_id: str, archive: Archive, memories: int = 0
    ) -> None:
        """See `SessionStore.summarise`."""

        def work(connection: sqlite3.Connection) -> None:
            found = _found(connection, identity, session_id)
            if found is not None:
                _summarise(connection, found[0], archive, memories)

        await self._database.write(work)


def unbury(connection: sqlite3.Connection) -> int:
    """Delete a part of the messages of a deleted session, the session itself with the last of them.

    Returns how many messages that were; 0 when nothing of deleted sessions is left.
    """
    while (found := connection.execute(_BURIED).fetchone()) is not None:
        gone = connection.execute(_PART, (found[0], AT_ONCE)).rowcount
        if gone > 0:
            return gone
        connection.execute(_DELETE, found)
    return 0


def _place(identity: Identity, session_id: str) -> tuple[str, str, str]:
    return identity.account, identity.user, storable(session_id)


def _found(connection: sqlite3.Connection, identity: Identity, session_id: str) -> _Found | None:
    row = connection.execute(_SESSION, _place(identity, session_id)).fetchone()
    return None if row is None else (row[0], _ROWS.session_of(row, identity))


def _create(
    connection: sqlite3.Connection,
    identity: Identity,
    session_id: str,
    settings: Mapping[str, object],
    now: datetime,
) -> bool:
    made = microseconds(now)
    values = (*_place(identity, session_id), made, made, _ROWS.json_text(dict(settings)))
    return connection.execute(_NEW_SESSION, values).rowcount > 0


def _append(
    connection: sqlite3.Connection,
    session: SessionRow,
    messages: Sequence[SessionMessage],
    now: datetime,
) -> int:
    """Insert what is new, count it in the session, and return how many there were."""
    key, total = session[0], session[6]
    added = connection.executemany(
        _NEW_MESSAGE, [(*_ROWS.message_values(message), key) for message in messages]
    ).rowcount
    if added <= 0:
        return 0
    query = "SELECT sum(tokens), max(created_at) FROM messages WHERE session = ? AND ordinal >= ?"
    tokens, latest = connection.execute(query, (key, total)).fetchone()
    connection.execute(_COUNT_NEW, (microseconds(now), added, tokens, latest, key))
    return added


def _archive(connection: sqlite3.Connection, found: _Found, keep: int, now: datetime) -> Archive:
    key, session = found
    last = session.total_message_count - keep - 1
    query = "SELECT coalesce(sum(tokens), 0) FROM messages WHERE session = ? AND ordinal > ?"
    (kept,) = connection.execute(query, (key, last)).fetchone()
    made = Archive(
        number=session.commit_count + 1,
        first=session.total_message_count - session.message_count,
        last=last,
        message_count=session.message_count - keep,
        tokens=session.pending_tokens - kept,
        created_at=now,
    )
    marks = ", ".join("?" * 11)
    connection.execute(
        f"INSERT INTO archives ({ARCHIVE_COLUMNS}, session) VALUES ({marks})",  # noqa: S608 - fixed text, bound values
        (*_ROWS.archive_values(made), key),
    )
    connection.execute(_COUNT_ARCHIVED, (microseconds(now), made.message_count, made.tokens, key))
    return made


def _summarise(connection: sqlite3.Connection, key: int, archive: Archive, memories: int) -> None:
    told = (
        archive.state.value,
        *map(storable, (archive.abstract, archive.overview, archive.error)),
    )
    which = (key, archive.number, archive.first, archive.last, microseconds(archive.created_at))
    if connection.execute(_SUMMARISE, (*told, *which)).rowcount > 0:
        statement = "UPDATE sessions SET memories_extracted = memories_extracted + ? WHERE key = ?"
        connection.execute(statement, (memories, key))


def _messages(
    connection: sqlite3.Connection, key: int, first: int, last: int
) -> Sequence[SessionMessage]:
    query = (
        f"SELECT {MESSAGE_COLUMNS} FROM messages"  # noqa: S608 - fixed text
        " WHERE session = ? AND ordinal BETWEEN ? AND ? ORDER BY ordinal"
    )
    return [_ROWS.message_of(row) for row in connection.execute(query, (key, first, last))]


def _archives(connection: sqlite3.Connection, key: int, limit: int) -> Sequence[Archive]:
    query = (
        f"SELECT {ARCHIVE_COLUMNS} FROM archives WHERE session = ?"  # noqa: S608 - fixed text
        " ORDER BY number DESC LIMIT ?"
    )
    return [_ROWS.archive_of(row) for row in connection.execute(query, (key, limit))]
