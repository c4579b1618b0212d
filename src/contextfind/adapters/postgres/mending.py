"""Rows that lost what they belong to, found and put right in steps that a write hardly waits for.

What references forbid is not looked for: a passage without its record cannot be.
"""

from collections.abc import AsyncGenerator, Sequence
from functools import partial

from psycopg import AsyncConnection

from contextfind.adapters.postgres.database import Database
from contextfind.adapters.postgres.ledger import Ledger
from contextfind.adapters.postgres.tree_rows import TreeRows
from contextfind.domain.records import Level, RecordId
from contextfind.domain.uri import Uri
from contextfind.ports.housekeeping import Chore, NamedText, Swept

_DIGESTS = 2_000  # looked at in one step, in two indices side by side: a few milliseconds
_RECORDS = 2_000  # ids looked at in one step
_LAST = "\U0010ffff"  # after every digest

# Row-level security makes the planner expect one row in two hundred, for which it would rather read and sort the whole
# table at every step: of a million passages that takes .4 s with three processors.
_BY_INDEX = "SELECT set_config('max_parallel_workers_per_gather', '0', true), " + ", ".join(
    f"set_config('{name}', 'off', true)"
    for name in ("enable_seqscan", "enable_bitmapscan", "enable_sort")
)
_UPTO = "SELECT digest FROM passages WHERE digest > %s ORDER BY digest LIMIT 1 OFFSET %s"
_SETTLED = (  # passages that wait for no vector and have none
    "FROM passages WHERE digest > %s AND digest <= %s AND NOT pending"
    " AND NOT EXISTS (SELECT 1 FROM vectors WHERE vectors.digest = passages.digest)"
)
_UNLOGGED = (
    "SELECT id FROM records WHERE id > %s AND id <= %s"
    " AND NOT EXISTS (SELECT 1 FROM log WHERE record = id) ORDER BY id"
)
_TEXTS = (
    "SELECT id, account, uri, level, content, source FROM records"
    " WHERE id > %s AND content <> '' ORDER BY id LIMIT %s"
)
_LOST = "FROM unnest(%s::bigint[], %s::text[]) AS lost (record, text) WHERE id = lost.record AND content = lost.text"
_GIVE_UP_FILES = (
    "UPDATE records SET source = CASE WHEN source = ANY(%s) THEN '' ELSE source END"  # noqa: S608 - fixed text
    f" {_LOST} AND level = 2 RETURNING id"
)
_GIVE_UP_SUMMARIES = (
    f"UPDATE records SET source = '', content = '' {_LOST} AND level < 2 RETURNING account, uri"  # noqa: S608 - fixed text
)


class PostgresMending:
    """`TextNames`, and the chores of putting rows right; two processes that do them at once do no harm."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def chores(self) -> Sequence[Chore]:
        """What is looked for, in this order."""
        return (
            Chore("passages without a vector", self._vectorless),
            Chore("records missing in the log", self._unlogged),
        )

    async def texts(self, after: RecordId, limit: int) -> Sequence[NamedText]:
        """See `TextNames.texts`."""
        return await self._database.glance(partial(_texts, after=after, limit=limit))

    async def give_up(self, lost: Sequence[NamedText], sources: Sequence[str]) -> int:
        """See `TextNames.give_up`."""
        return await self._database.alone(partial(_give_up, lost=lost, sources=sources))

    async def _vectorless(self) -> AsyncGenerator[Swept, None]:
        after = ""
        while after != _LAST:
            upto, found = await self._database.house(partial(_unvectored, after=after))
            queued = 0
            if found:
                queued = await self._database.alone(partial(_queue, after=after, upto=upto))
            yield Swept(queued)
            after = upto

    async def _unlogged(self) -> AsyncGenerator[Swept, None]:
        last = await self._database.glance(_last_record)
        for after in range(0, last, _RECORDS):
            logged = 0
            if await self._database.glance(partial(_missing, after=after)):
                logged = await self._database.alone(partial(_log, after=after))
            yield Swept(logged)


async def _unvectored(connection: AsyncConnection, after: str) -> tuple[str, bool]:
    """Return the digest that was looked at last, and whether a passage has no vector and waits for none."""
    await connection.execute(_BY_INDEX)
    row = await (await connection.execute(_UPTO, (after, _DIGESTS - 1))).fetchone()
    upto = _LAST if row is None else str(row[0])
    found = await connection.execute(f"SELECT 1 {_SETTLED} LIMIT 1", (after, upto))
    return upto, await found.fetchone() is not None


async def _queue(connection: AsyncConnection, after: str, upto: str) -> int:
    """Have texts embedded again; return how many passages have them."""
    ledger = await Ledger.open(connection)
    where = _SETTLED.removeprefix("FROM passages ")
    cursor = await connection.execute(
        f"UPDATE passages SET pending = true {where} RETURNING record",  # noqa: S608 - fixed text
        (after, upto),
    )
    records = [int(row[0]) for row in await cursor.fetchall()]
    for record in sorted(set(records)):
        ledger.note(record)
    await ledger.settle()
    return len(records)


async def _last_record(connection: AsyncConnection) -> int:
    cursor = await connection.execute("SELECT coalesce(max(id), 0) FROM records")
    row = await cursor.fetchone()
    return 0 if row is None else int(row[0])


async def _missing(connection: AsyncConnection, after: int) -> list[int]:
    cursor = await connection.execute(_UNLOGGED, (after, after + _RECORDS))
    return [int(row[0]) for row in await cursor.fetchall()]


async def _log(connection: AsyncConnection, after: int) -> int:
    ledger = await Ledger.open(connection)
    missing = await _missing(connection, after)
    for record in missing:
        ledger.note(record)
    await ledger.settle()
    return len(missing)


async def _texts(connection: AsyncConnection, after: RecordId, limit: int) -> list[NamedText]:
    cursor = await connection.execute(_TEXTS, (after, limit))
    return [
        NamedText(RecordId(record), account, uri, Level(level), content, source)
        for record, account, uri, level, content, source in await cursor.fetchall()
    ]


async def _give_up(
    connection: AsyncConnection, lost: Sequence[NamedText], sources: Sequence[str]
) -> int:
    ledger = await Ledger.open(connection)
    named = ([text.id for text in lost], [text.content for text in lost])
    files = await connection.execute(_GIVE_UP_FILES, (list(sources), *named))
    summaries = await connection.execute(_GIVE_UP_SUMMARIES, named)
    directories: dict[str, TreeRows] = {}
    told = await summaries.fetchall()
    for account, uri in told:
        rows = directories.setdefault(account, TreeRows(connection, account, ledger))
        rows.mark_stale(Uri(uri))
    for rows in directories.values():
        await rows.write_stale()
    await ledger.settle()
    return len(await files.fetchall()) + len(told)
