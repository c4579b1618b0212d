"""What keeps the tables small, in steps that nobody waits for.

Entries of the log that only say that a record is gone are needed by an index that knew it. One that begins at 0 needs
none of them. So they go when the index has followed them, and a week has passed, which is for the indexes that this
process does not know: another process may have one of its own, or build one. An index that was away for longer begins
at 0; `forgotten` tells where that is.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from datetime import timedelta
from functools import partial

from psycopg import AsyncConnection

from contextfind.adapters.postgres.database import EVERY_ACCOUNT, Database
from contextfind.adapters.postgres.faults import translated
from contextfind.adapters.postgres.ledger import LOST
from contextfind.ports.fault_points import FaultPoint, reached
from contextfind.ports.housekeeping import Chore, Swept
from contextfind.ports.reach import Reach

_FORGOTTEN = "log_forgotten"  # in `meta`
_AWAY = timedelta(days=7)  # so long an index may lag behind, or be built, and still goes on
_MARK_EVERY = timedelta(hours=1)  # the log's position is noted, to know how old its entries are
_AT_ONCE = 5_000  # entries looked at in one transaction: some 10 ms

_MARK = (
    "INSERT INTO log_marks (at, position) SELECT now(), position FROM head"
    " WHERE NOT EXISTS (SELECT 1 FROM log_marks WHERE at > now() - %s)"
)
_OLD = "SELECT coalesce(max(position), 0) FROM log_marks WHERE at < now() - %s"
_DROP_MARKS = (  # all but the newest of the old ones
    "DELETE FROM log_marks WHERE at < (SELECT max(at) FROM log_marks WHERE at < now() - %s)"
)
_PAGE_END = (
    "SELECT max(position), count(*) FROM (SELECT position FROM log"
    " WHERE position > %s AND position <= %s ORDER BY position LIMIT %s) AS page"
)
_FORGET = (
    "DELETE FROM log WHERE position > %s AND position <= %s"
    " AND NOT EXISTS (SELECT 1 FROM records WHERE id = record)"
)
_NOTE = (
    "INSERT INTO meta (key, value) VALUES (%s, %s) ON CONFLICT (key) DO UPDATE"
    " SET value = excluded.value WHERE meta.value::bigint < excluded.value::bigint"
)
_REACH = "SELECT (SELECT value FROM meta WHERE key = %s), position, (SELECT value FROM meta WHERE key = %s) FROM head"
_UNCLAIM = (  # what somebody claims just now is his: who waited for it might wait in a circle
    "DELETE FROM claims WHERE what IN"
    " (SELECT what FROM claims WHERE worker = ANY(%s) FOR UPDATE SKIP LOCKED)"
)
# A table with a graph is not written anew: to draw one of a million vectors takes most of an hour.
_TABLES = (
    "SELECT c.oid::regclass::text, EXISTS (SELECT 1 FROM pg_index i JOIN pg_class g ON g.oid = i.indexrelid"
    " JOIN pg_am a ON a.oid = g.relam WHERE i.indrelid = c.oid AND a.amname = 'hnsw') AS drawn"
    " FROM pg_class c WHERE c.relnamespace = %s::regnamespace AND c.relkind = 'r' ORDER BY 1"
)
_SIZE = (
    "SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class"
    " WHERE relnamespace = %s::regnamespace AND relkind = 'r'"
)
_PARTS = (
    "SELECT CASE WHEN relname ~ '^index_[0-9a-f]{10}_' THEN 'index' ELSE 'database' END,"
    " sum(pg_total_relation_size(oid))::bigint FROM pg_class"
    " WHERE relnamespace = %s::regnamespace AND relkind = 'r' AND relname <> 'blobs' GROUP BY 1"
)


class PostgresCompaction:
    """The chores of the tables themselves; what updates leave in them is the database's own (autovacuum)."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._followed = 0

    @property
    def writes(self) -> int:
        """A number that grows when this process has written, or any has changed a record; chores do not count."""
        return self._database.writes + self._database.bell.position

    @property
    def chores(self) -> Sequence[Chore]:
        """What there is to do."""
        return (
            Chore("log entries of what is gone", self._entries),
            Chore("claims of processes that are gone", self._claims),
        )

    async def forgotten(self) -> int:
        """Return the log position before which an index has to begin at 0: deletes may be missing there."""
        return await self._database.glance(_forgotten)

    async def reach(self) -> Reach:
        """Return from where an index can go on."""
        return await self._database.glance(_reach)

    def note_followed(self, position: int) -> None:
        """Learn that the index stands at least at a log position, or will begin at 0."""
        self._followed = position

    async def sizes(self) -> Mapping[str, float]:
        """Return the bytes on disk of the tables, those of the index apart; bodies do not count."""

        async def work(connection: AsyncConnection) -> Mapping[str, float]:
            cursor = await connection.execute(_PARTS, (self._database.place.schema,))
            return {str(part): float(size) for part, size in await cursor.fetchall()}

        return await self._database.glance(work)

    async def rewrite(self) -> Swept:
        """Write all tables anew, as dense as they can be, and have the planner look at them; everybody waits.

        Raises:
            UnavailableError: no room; or another process is at work for too long. What was not reached is as before.

        """
        place = self._database.place
        with translated():
            async with await AsyncConnection.connect(
                place.conninfo(EVERY_ACCOUNT), autocommit=True
            ) as connection:
                await connection.execute(
                    "SET statement_timeout = 0"
                )  # it takes as long as it takes
                before = await _number(connection, _SIZE, (place.schema,))
                tables = await (await connection.execute(_TABLES, (place.schema,))).fetchall()
                for table, drawn in tables:
                    how = "ANALYZE" if drawn else "FULL, ANALYZE"
                    await connection.execute(f"VACUUM ({how}) {table}")
                return Swept(0, max(before - await _number(connection, _SIZE, (place.schema,)), 0))

    async def _entries(self) -> AsyncGenerator[Swept, None]:
        old = await self._database.tidy(_mark)
        seen, upto = await self.forgotten(), min(self._followed, old)
        while seen < upto:
            seen, gone = await self._database.tidy(partial(_forget, seen=seen, upto=upto))
            yield Swept(gone)

    async def _claims(self) -> AsyncGenerator[Swept, None]:
        presence = self._database.presence

        async def work(connection: AsyncConnection) -> int:
            cursor = await connection.execute("SELECT DISTINCT worker FROM claims")
            workers = {int(row[0]) for row in await cursor.fetchall()}
            dead = workers - await presence.living(connection) - {presence.worker}
            return (await connection.execute(_UNCLAIM, (list(dead),))).rowcount if dead else 0

        yield Swept(await self._database.tidy(work))


async def _forgotten(connection: AsyncConnection) -> int:
    cursor = await connection.execute("SELECT value FROM meta WHERE key = %s", (_FORGOTTEN,))
    row = await cursor.fetchone()
    return 0 if row is None else int(row[0])


async def _reach(connection: AsyncConnection) -> Reach:
    cursor = await connection.execute(_REACH, (_FORGOTTEN, LOST))
    row = await cursor.fetchone()
    first, last, lost = row or (None, 0, None)
    least, most = map(int, (lost or "0 -1").split())
    return Reach(int(first or 0), int(last), range(least, most + 1))


async def _mark(connection: AsyncConnection) -> int:
    """Note where the log stands now, and return where it stood a week ago."""
    await connection.execute(_MARK, (_MARK_EVERY,))
    await connection.execute(_DROP_MARKS, (_AWAY,))
    return await _number(connection, _OLD, (_AWAY,))


async def _forget(connection: AsyncConnection, seen: int, upto: int) -> tuple[int, int]:
    """Delete the next entries of records that are gone; return up to where was looked, and how many they were.

    What is gone does not come back.
    """
    cursor = await connection.execute(_PAGE_END, (seen, upto, _AT_ONCE))
    row = await cursor.fetchone()
    end = row[0] if row is not None and row[1] == _AT_ONCE else upto
    gone = (await connection.execute(_FORGET, (seen, end))).rowcount
    reached(FaultPoint.MID_FORGETTING)
    await connection.execute(_NOTE, (_FORGOTTEN, str(end)))
    return end, gone


async def _number(connection: AsyncConnection, query: str, values: tuple[object, ...]) -> int:
    row = await (await connection.execute(query, values)).fetchone()
    return 0 if row is None else int(row[0])
