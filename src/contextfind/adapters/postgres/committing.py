"""What happens in a transaction of the only writer: a commit, new vectors, forgotten vectors, counted uses."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

import numpy as np
from psycopg import AsyncConnection

from contextfind.adapters.postgres.claims import disclaim, disclaim_all, disclaim_directories
from contextfind.adapters.postgres.kinds import IS_DIRECTORY, WANTED, above, areas
from contextfind.adapters.postgres.ledger import Ledger
from contextfind.adapters.postgres.rearranging import Rearrangement
from contextfind.adapters.postgres.rows import clean_passages, clean_tags, slices
from contextfind.adapters.postgres.texts import clean
from contextfind.adapters.postgres.tree_rows import TreeRows
from contextfind.domain.records import Level, Record, RecordId, Vector
from contextfind.domain.uri import Uri
from contextfind.ports.store import Commit, Committed, RecordDraft

_REMOVED = (  # in the order of the addresses named; none twice
    f"SELECT inside.id FROM {WANTED} WITH ORDINALITY AS wanted (place, low, high, n)"  # noqa: S608 - fixed text
    " CROSS JOIN LATERAL ("
    "SELECT id, uri, level FROM records WHERE account = %(account)s AND uri = wanted.place"
    " UNION ALL SELECT id, uri, level FROM records WHERE account = %(account)s"
    " AND uri >= wanted.low AND uri < wanted.high AND uri <> wanted.place) AS inside"
    " GROUP BY inside.id, inside.uri, inside.level ORDER BY min(wanted.n), inside.uri, inside.level"
)
_UNMARK_REMOVED = (
    f"DELETE FROM stale USING {WANTED} AS wanted (place, low, high) WHERE account = %(account)s"  # noqa: S608 - fixed text
    " AND (uri = wanted.place OR (uri >= wanted.low AND uri < wanted.high)) RETURNING uri"
)
_UNMARK_GONE = (
    f"DELETE FROM stale USING {WANTED} AS wanted (place, low, high)"  # noqa: S608 - fixed text
    f" WHERE stale.account = %(account)s AND stale.uri = wanted.place AND NOT {IS_DIRECTORY}"
    " RETURNING uri"
)
_UNMARK_FRESH = (
    "DELETE FROM stale USING unnest(%s::text[], %s::bigint[]) AS fresh (place, seen)"
    " WHERE account = %s AND uri = fresh.place AND mark = fresh.seen"
)


async def run_commit(connection: AsyncConnection, commit: Commit) -> Committed:
    """Do what the commit says; the caller undoes all of it on an error.

    Raises:
        ConflictError, NotFoundError, AlreadyExistsError, ResourceExhaustedError: see `RecordStore.commit`.

    """
    ledger = await Ledger.open(connection)
    hand = _Hand(connection, commit, ledger)
    removed = await hand.remove()
    moved, tagged = await hand.rearrange()
    await hand.put()
    await hand.settle_stale()
    await hand.drop_loose_vectors()
    return Committed(await ledger.settle(), removed, moved, tagged)


async def store_vectors(connection: AsyncConnection, vectors: Sequence[tuple[str, Vector]]) -> int:
    """Store vectors that a passage asks for, log the records that have all now."""
    given = {digest: np.asarray(vector, "<f4").tobytes() for digest, vector in vectors}
    ledger = await Ledger.open(connection)
    await connection.execute(
        "INSERT INTO vectors (digest, vector) SELECT * FROM unnest(%s::text[], %b::bytea[]) AS given (digest, vector)"
        " WHERE EXISTS (SELECT 1 FROM passages WHERE passages.digest = given.digest)"
        " ON CONFLICT (digest) DO UPDATE SET vector = excluded.vector",
        (list(given), list(given.values())),
    )
    await note_arrivals(connection, ledger, list(given))
    await disclaim(connection, list(given))
    return await ledger.settle()


async def note_arrivals(
    connection: AsyncConnection, ledger: Ledger, digests: Sequence[str]
) -> None:
    """Log the records that waited for these vectors and wait for no other."""
    cursor = await connection.execute(
        "UPDATE passages SET pending = false WHERE digest = ANY(%s) AND pending"
        " AND EXISTS (SELECT 1 FROM vectors WHERE vectors.digest = passages.digest) RETURNING record",
        (list(digests),),
    )
    touched = {int(row[0]) for row in await cursor.fetchall()}
    if not touched:
        return
    cursor = await connection.execute(
        "SELECT record FROM unnest(%s::bigint[]) AS touched (record) WHERE NOT EXISTS"
        " (SELECT 1 FROM passages WHERE passages.record = touched.record AND pending) ORDER BY record",
        (list(touched),),
    )
    for row in await cursor.fetchall():
        ledger.note(int(row[0]))


async def forget_vectors(connection: AsyncConnection) -> int:
    """Drop every vector and log every record that has passages, oldest first."""
    await connection.execute("SET LOCAL statement_timeout = 0")  # it grows with the data
    ledger = await Ledger.open(connection)
    await connection.execute("DELETE FROM vectors")
    await connection.execute("UPDATE passages SET pending = true WHERE NOT pending")
    await disclaim_all(connection)  # also those of processes that were started for another embedder
    cursor = await connection.execute("SELECT DISTINCT record FROM passages ORDER BY record")
    for row in await cursor.fetchall():
        ledger.note(int(row[0]))
    return await ledger.settle()


async def embed_again(connection: AsyncConnection, records: Sequence[RecordId]) -> int:
    """Drop the vectors of records and log these; whoever shares a text with them waits for it too."""
    ledger = await Ledger.open(connection)
    cursor = await connection.execute(
        "SELECT DISTINCT record, digest FROM passages WHERE record = ANY(%s)", (list(records),)
    )
    rows = await cursor.fetchall()
    digests = sorted({row[1] for row in rows})
    await connection.execute("DELETE FROM vectors WHERE digest = ANY(%s)", (digests,))
    await connection.execute(
        "UPDATE passages SET pending = true WHERE digest = ANY(%s) AND NOT pending", (digests,)
    )
    held = {row[0] for row in rows}
    for record in records:
        if record in held:
            ledger.note(record)
    return await ledger.settle()


async def count_uses(connection: AsyncConnection, records: Sequence[RecordId]) -> None:
    """Count one use for each time a record is named."""
    uses = Counter(records)
    await connection.execute(
        "UPDATE records SET active_count = active_count + used.times"
        " FROM unnest(%s::bigint[], %s::bigint[]) AS used (record, times) WHERE id = used.record",
        (list(uses), list(uses.values())),
    )


class _Hand:
    """Writes one commit, step by step.

    bereft: directories that may have lost the last thing below them.
    """

    def __init__(self, connection: AsyncConnection, commit: Commit, ledger: Ledger) -> None:
        self._connection = connection
        self._commit = commit
        self._account = commit.account
        self._ledger = ledger
        self._rows = TreeRows(connection, commit.account, ledger)
        self._bereft: set[Uri] = set()

    async def remove(self) -> int:
        """Take out addresses and all below them, and return how many records that were."""
        if not self._commit.remove:
            return 0
        places = areas(self._account, self._commit.remove)
        cursor = await self._connection.execute(_REMOVED, places)
        found = [int(row[0]) for row in await cursor.fetchall()]
        await self._rows.loosen(found)
        for some in slices(found):
            await self._connection.execute("DELETE FROM records WHERE id = ANY(%s)", (some,))
        for record in found:
            self._ledger.note(record)
        await self._unmark(_UNMARK_REMOVED, self._commit.remove)
        self._bereft.update(up for uri in self._commit.remove for up in above(uri))
        return len(found)

    async def rearrange(self) -> tuple[list[Uri], list[Uri]]:
        """Move and tag what is to be; return the addresses of both."""
        hand = Rearrangement(self._connection, self._account, self._rows, self._ledger)
        move, tags = self._commit.move, self._commit.retag
        moved = [] if move is None else await hand.move(move)
        self._bereft.update(() if move is None else above(move.source))
        return moved, [] if tags is None else await hand.retag(tags, self._commit.now)

    async def put(self) -> None:
        """Write what is put, but for summaries that came too late, and make what is absent."""
        late = await self._overtaken()
        put = [d for d in self._commit.put if d.level is Level.DETAIL or d.uri not in late]
        rows = self._rows
        await rows.look((one.uri, one.level) for one in (*put, *self._commit.ensure))
        for draft in put:
            self._put(draft)
        for draft in self._commit.ensure:
            if rows.at(draft.uri, draft.level) is None:
                self._put(draft)
        await rows.write()

    async def settle_stale(self) -> None:
        """Apply `fresh`, then `stale`, and forget directories that are none any more."""
        if fresh := self._commit.fresh:
            addresses = [done.uri.text for done in fresh]
            marks = [done.mark for done in fresh]
            await self._connection.execute(_UNMARK_FRESH, (addresses, marks, self._account))
            await disclaim_directories(self._connection, self._account, addresses)
        for uri in self._commit.stale:
            self._rows.mark_stale(uri)
        await self._rows.write_stale()
        if doubtful := self._bereft.union(self._commit.stale):
            await self._unmark(_UNMARK_GONE, sorted(doubtful))

    async def drop_loose_vectors(self) -> None:
        """Delete the vectors that no passage uses any more."""
        await self._rows.drop_loose_vectors()

    async def _unmark(self, statement: str, uris: Sequence[Uri]) -> None:
        cursor = await self._connection.execute(statement, areas(self._account, uris))
        gone = [row[0] for row in await cursor.fetchall()]
        await disclaim_directories(self._connection, self._account, gone)

    async def _overtaken(self) -> set[Uri]:
        """Return the directories of `fresh` whose mark does not stand any more."""
        if not self._commit.fresh:
            return set()
        cursor = await self._connection.execute(
            "SELECT uri, mark FROM stale WHERE account = %s AND uri = ANY(%s)",
            (self._account, [done.uri.text for done in self._commit.fresh]),
        )
        standing = {(row[0], row[1]) for row in await cursor.fetchall()}
        return {
            done.uri for done in self._commit.fresh if (done.uri.text, done.mark) not in standing
        }

    def _put(self, draft: RecordDraft) -> None:
        """Replace the record at the draft's (uri, level), or make it."""
        known = self._rows.at(draft.uri, draft.level)
        record = _wanted(draft, self._account, self._commit.now, known.record if known else None)
        passages = clean_passages(draft.passages)
        if known is None or (known.record, known.passages) != (record, passages):
            self._rows.keep(replace(record, updated_at=self._commit.now), passages)


def _wanted(draft: RecordDraft, account: str, now: datetime, known: Record | None) -> Record:
    """Return the record that a draft makes of the one that stands at its place; new ones have no id yet."""
    held = () if known is None else known.tags
    return Record(
        id=RecordId(0) if known is None else known.id,
        account=account,
        owner=draft.uri.owner,
        uri=draft.uri,
        level=draft.level,
        context_type=draft.context_type,
        abstract=clean(draft.abstract),
        tags=held if draft.tags is None else clean_tags(draft.tags),
        created_at=now if known is None else known.created_at,
        updated_at=now if known is None else known.updated_at,
        content=draft.content,
        source=draft.source,
        size=draft.size,
        active_count=0 if known is None else known.active_count,
        origin=clean(draft.origin),
    )
