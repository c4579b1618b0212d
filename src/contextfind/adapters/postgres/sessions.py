"""The session store in PostgreSQL.

The messages that are not archived are the last `message_count` of `total_message_count`: archiving
writes one row and moves one number, however many messages there are. Whoever changes a session holds its row:
so ordinals and counts are whole, whichever processes write to it.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from psycopg import AsyncConnection

from contextfind.adapters.postgres.database import Database
from contextfind.adapters.postgres.texts import restored, storable
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

_ROWS = SessionRows(storable, restored)
_SESSION = (
    f"SELECT {SESSION_COLUMNS} FROM sessions"  # noqa: S608 - fixed text
    ' WHERE account = %s AND "user" = %s AND id = %s'
)
_NEW_SESSION = (
    'INSERT INTO sessions (account, "user", id, created_at, updated_at, settings)'
    ' VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT (account, "user", id) DO NOTHING'
)
_NEW_MESSAGE = (
    f"INSERT INTO messages ({MESSAGE_COLUMNS}, session, account)"  # noqa: S608 - fixed text, bound values
    " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
)
_COUNT_NEW = (
    "UPDATE sessions SET updated_at = %s, message_count = message_count + %s,"  # noqa: S608 - fixed text, bound values
    " total_message_count = total_message_count + %s, pending_tokens = pending_tokens + %s,"
    " last_message_at = greatest(last_message_at, %s) WHERE key = %s"
    f" RETURNING {SESSION_COLUMNS}"
)
_NEW_ARCHIVE = (
    f"INSERT INTO archives ({ARCHIVE_COLUMNS}, session, account)"  # noqa: S608 - fixed text, bound values
    f" VALUES ({', '.join(['%s'] * 12)})"
)
_COUNT_ARCHIVED = (
    "UPDATE sessions SET updated_at = %s, message_count = message_count - %s,"
    " pending_tokens = pending_tokens - %s, commit_count = commit_count + 1, last_commit_at = %s"
    " WHERE key = %s"
)
_SUMMARISE = (
    "UPDATE archives SET state = %s, abstract = %s, overview = %s, error = %s"
    " WHERE session = %s AND number = %s AND first = %s AND last = %s AND created_at = %s"
)


class PostgresSessionStore:
    """`SessionStore` in a schema that several processes share."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def create(
        self, identity: Identity, session_id: str, settings: Mapping[str, object], now: datetime
    ) -> bool:
        """See `SessionStore.create`."""
        return await self._database.write(lambda c: _create(c, identity, session_id, settings, now))

    async def get(self, identity: Identity, session_id: str) -> Session | None:
        """See `SessionStore.get`."""

        async def work(connection: AsyncConnection) -> Session | None:
            row = await _found(connection, identity, session_id)
            return None if row is None else _ROWS.session_of(row, identity)

        return await self._database.read(identity.account, work)

    async def configure(
        self, identity: Identity, session_id: str, settings: Mapping[str, object]
    ) -> Session | None:
        """See `SessionStore.configure`."""

        async def work(connection: AsyncConnection) -> Session | None:
            row = await _held(connection, identity, session_id)
            if row is None:
                return None
            changed = _ROWS.json_text({**_ROWS.settings_of(row[4]), **settings})
            statement = (
                f"UPDATE sessions SET settings = %s WHERE key = %s RETURNING {SESSION_COLUMNS}"  # noqa: S608 - fixed text, bound values
            )
            cursor = await connection.execute(statement, (changed, row[0]))
            after: SessionRow | None = await cursor.fetchone()
            return None if after is None else _ROWS.session_of(after, identity)

        return await self._database.write(work)

    async def list(self, identity: Identity, limit: int, offset: int = 0) -> Sequence[Session]:
        """See `SessionStore.list`."""
        query = (
            f'SELECT {SESSION_COLUMNS} FROM sessions WHERE account = %s AND "user" = %s'  # noqa: S608 - fixed text, bound values
            " ORDER BY updated_at DESC, id LIMIT %s OFFSET %s"
        )

        async def work(connection: AsyncConnection) -> Sequence[Session]:
            values = (identity.account, identity.user, limit, offset)
            cursor = await connection.execute(query, values)
            return [_ROWS.session_of(row, identity) for row in await cursor.fetchall()]

        return await self._database.read(identity.account, work)

    async def delete(self, identity: Identity, session_id: str) -> bool:
        """See `SessionStore.delete`."""

        async def work(connection: AsyncConnection) -> bool:
            cursor = await connection.execute(
                'DELETE FROM sessions WHERE account = %s AND "user" = %s AND id = %s',
                _place(identity, session_id),
            )
            return cursor.rowcount > 0

        return await self._database.write(work)

    async def append(
        self, identity: Identity, session_id: str, messages: Sequence[SessionMessage], now: datetime
    ) -> tuple[Session, int]:
        """See `SessionStore.append`."""

        async def work(connection: AsyncConnection) -> tuple[Session, int]:
            row = None
            while row is None:  # again, when somebody deletes it just then
                await _create(connection, identity, session_id, {}, now)
                row = await _held(connection, identity, session_id)
            fresh = await _unknown(connection, row[0], messages)
            if fresh:
                row = await _append(connection, row, identity.account, fresh, now)
            return _ROWS.session_of(row, identity), len(fresh)

        return await self._database.write(work)

    async def pending(
        self, identity: Identity, session_id: str, limit: int | None = None
    ) -> Sequence[SessionMessage]:
        """See `SessionStore.pending`."""

        async def work(connection: AsyncConnection) -> Sequence[SessionMessage]:
            row = await _found(connection, identity, session_id)
            if row is None:
                return []
            session = _ROWS.session_of(row, identity)
            count = session.message_count if limit is None else min(limit, session.message_count)
            total = session.total_message_count
            return await _messages(connection, row[0], total - count, total - 1)

        return await self._database.read(identity.account, work)

    async def archive(
        self, identity: Identity, session_id: str, keep: int, now: datetime
    ) -> Archive | None:
        """See `SessionStore.archive`."""

        async def work(connection: AsyncConnection) -> Archive | None:
            row = await _held(connection, identity, session_id)
            if row is None or _ROWS.session_of(row, identity).message_count <= keep:
                return None
            return await _archive(connection, row[0], _ROWS.session_of(row, identity), keep, now)

        return await self._database.write(work)

    async def archives(
        self, identity: Identity, session_id: str, limit: int | None = None
    ) -> Sequence[Archive]:
        """See `SessionStore.archives`."""
        query = (
            f"SELECT {ARCHIVE_COLUMNS} FROM archives WHERE session = %s"  # noqa: S608 - fixed text, bound values
            " ORDER BY number DESC LIMIT %s"  # no limit where it is null
        )

        async def work(connection: AsyncConnection) -> Sequence[Archive]:
            row = await _found(connection, identity, session_id)
            if row is None:
                return []
            cursor = await connection.execute(query, (row[0], limit))
            return [_ROWS.archive_of(one) for one in await cursor.fetchall()]

        return await self._database.read(identity.account, work)

    async def archived(
        self, identity: Identity, session_id: str, number: int, limit: int | None = None
    ) -> Sequence[SessionMessage]:
        """See `SessionStore.archived`."""

        async def work(connection: AsyncConnection) -> Sequence[SessionMessage]:
            row = await _found(connection, identity, session_id)
            if row is None:
                return []
            query = "SELECT first, last FROM archives WHERE session = %s AND number = %s"
            ends = await (await connection.execute(query, (row[0], number))).fetchone()
            if ends is None:
                return []
            first, last = ends
            start = first if limit is None else max(first, last + 1 - limit)
            return await _messages(connection, row[0], start, last)

        return await self._database.read(identity.account, work)

    async def summarise(
        self, identity: Identity, session_id: str, archive: Archive, memories: int = 0
    ) -> None:
        """See `SessionStore.summarise`."""

        async def work(connection: AsyncConnection) -> None:
            row = await _held(connection, identity, session_id)
            if row is not None:
                await _summarise(connection, row[0], archive, memories)

        await self._database.write(work)


def _place(identity: Identity, session_id: str) -> tuple[str, str, str]:
    return identity.account, identity.user, storable(session_id)


async def _found(
    connection: AsyncConnection, identity: Identity, session_id: str
) -> SessionRow | None:
    cursor = await connection.execute(_SESSION, _place(identity, session_id))
    row: SessionRow | None = await cursor.fetchone()
    return row


async def _held(
    connection: AsyncConnection, identity: Identity, session_id: str
) -> SessionRow | None:
    """Return the row of a session, which nobody else changes before the end of the transaction."""
    cursor = await connection.execute(f"{_SESSION} FOR UPDATE", _place(identity, session_id))
    row: SessionRow | None = await cursor.fetchone()
    return row


async def _create(
    connection: AsyncConnection,
    identity: Identity,
    session_id: str,
    settings: Mapping[str, object],
    now: datetime,
) -> bool:
    made = microseconds(now)
    values = (*_place(identity, session_id), made, made, _ROWS.json_text(dict(settings)))
    return (await connection.execute(_NEW_SESSION, values)).rowcount > 0


async def _unknown(
    connection: AsyncConnection, key: int, messages: Sequence[SessionMessage]
) -> Sequence[SessionMessage]:
    """Return the messages whose id the session does not have, of several with one id the first."""
    by_id: dict[str, SessionMessage] = {}
    for message in messages:
        by_id.setdefault(storable(message.id), message)
    cursor = await connection.execute(
        "SELECT id FROM messages WHERE session = %s AND id = ANY(%s)", (key, list(by_id))
    )
    for (known,) in await cursor.fetchall():
        del by_id[known]
    return list(by_id.values())


async def _append(
    connection: AsyncConnection,
    session: SessionRow,
    account: str,
    messages: Sequence[SessionMessage],
    now: datetime,
) -> SessionRow:
    """Insert messages that are new, count them, and return the session after it."""
    key, total = session[0], session[6]
    rows = [
        (*_ROWS.message_values(one), total + at, key, account) for at, one in enumerate(messages)
    ]
    await connection.cursor().executemany(_NEW_MESSAGE, rows)
    tokens = sum(message.tokens for message in messages)
    latest = microseconds(max(message.created_at for message in messages))
    cursor = await connection.execute(
        _COUNT_NEW, (microseconds(now), len(rows), len(rows), tokens, latest, key)
    )
    after: SessionRow | None = await cursor.fetchone()
    return session if after is None else after


async def _archive(
    connection: AsyncConnection, key: int, session: Session, keep: int, now: datetime
) -> Archive:
    last = session.total_message_count - keep - 1
    query = (
        "SELECT coalesce(sum(tokens), 0)::bigint FROM messages WHERE session = %s AND ordinal > %s"
    )
    kept = await (await connection.execute(query, (key, last))).fetchone()
    made = Archive(
        number=session.commit_count + 1,
        first=session.total_message_count - session.message_count,
        last=last,
        message_count=session.message_count - keep,
        tokens=session.pending_tokens - (kept[0] if kept else 0),
        created_at=now,
    )
    account = session.identity.account
    await connection.execute(_NEW_ARCHIVE, (*_ROWS.archive_values(made), key, account))
    moment = microseconds(now)
    await connection.execute(
        _COUNT_ARCHIVED, (moment, made.message_count, made.tokens, moment, key)
    )
    return made


async def _summarise(
    connection: AsyncConnection, key: int, archive: Archive, memories: int
) -> None:
    told = (
        archive.state.value,
        *map(storable, (archive.abstract, archive.overview, archive.error)),
    )
    which = (key, archive.number, archive.first, archive.last, microseconds(archive.created_at))
    if (await connection.execute(_SUMMARISE, (*told, *which))).rowcount > 0:
        statement = (
            "UPDATE sessions SET memories_extracted = memories_extracted + %s WHERE key = %s"
        )
        await connection.execute(statement, (memories, key))


async def _messages(
    connection: AsyncConnection, key: int, first: int, last: int
) -> Sequence[SessionMessage]:
    query = (
        f"SELECT {MESSAGE_COLUMNS} FROM messages"  # noqa: S608 - fixed text, bound values
        " WHERE session = %s AND ordinal BETWEEN %s AND %s ORDER BY ordinal"
    )
    cursor = await connection.execute(query, (key, first, last))
    return [_ROWS.message_of(row) for row in await cursor.fetchall()]
