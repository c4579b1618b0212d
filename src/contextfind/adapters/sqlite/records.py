"""The record store in `contextfind.db`."""

import sqlite3
from collections.abc import Sequence
from functools import partial

from contextfind.adapters.sqlite import committing, reading, reindexing, restoring
from contextfind.adapters.sqlite.database import Database
from contextfind.domain.errors import DamagedError
from contextfind.domain.filters import Filter
from contextfind.domain.records import Passage, Record, RecordId, Vector
from contextfind.domain.scope import Scope
from contextfind.domain.uri import Uri
from contextfind.ports.reindexing import Extent, Part
from contextfind.ports.store import (
    CHANGE_PASSAGES,
    Backlog,
    Change,
    Commit,
    Committed,
    PendingText,
    RecordCopy,
    Restored,
    SourceMark,
    StaleDirectory,
)

FINGERPRINT = "embedder_fingerprint"  # in `meta`


class SqliteRecordStore:
    """`RecordStore` and `ReindexedStore` in a database file; closing it closes the file, so close it last.

    change_passages: how many passages one answer of `changes` may have.
    """

    def __init__(self, database: Database, change_passages: int = CHANGE_PASSAGES) -> None:
        self._database = database
        self._change_passages = change_passages

    async def commit(self, commit: Commit) -> Committed:
        """See `RecordStore.commit`."""
        return await self._database.write(lambda c: committing.run_commit(c, commit))

    async def add_vectors(self, vectors: Sequence[tuple[str, Vector]]) -> int:
        """See `RecordStore.add_vectors`."""
        return await self._database.write(lambda c: committing.store_vectors(c, vectors))

    async def embed_again(self, ids: Sequence[RecordId]) -> int:
        """See `RecordStore.embed_again`."""
        return await self._database.write(lambda c: committing.embed_again(c, ids))

    async def log_again(self, part: Part, before: Uri | None, limit: int) -> Uri | None:
        """See `ReindexedStore.log_again`."""
        return await self._database.write(lambda c: reindexing.log_again(c, part, before, limit))

    async def mark_stale(self, part: Part, before: Uri | None, limit: int) -> Uri | None:
        """See `ReindexedStore.mark_stale`."""
        return await self._database.write(lambda c: reindexing.mark_stale(c, part, before, limit))

    async def extent(self, part: Part, most: int) -> Extent:
        """See `ReindexedStore.extent`."""
        return await self._database.read(lambda c: reindexing.read_extent(c, part, most))

    async def pending(self, limit: int) -> Sequence[PendingText]:
        """See `RecordStore.pending`."""
        try:
            return await self._database.read(lambda c: reading.read_pending(c, limit))
        except DamagedError:
            return await self._database.read(lambda c: reading.salvage_pending(c, limit))

    async def stale(self, limit: int) -> Sequence[StaleDirectory]:
        """See `RecordStore.stale`."""
        return await self._database.read(lambda c: reading.read_stale(c, limit))

    async def backlog(
        self, account: str | None = None, under: Uri | None = None, user: str | None = None
    ) -> Backlog:
        """See `RecordStore.backlog`."""
        return await self._database.read(lambda c: reading.read_backlog(c, account, under, user))

    async def get(self, ids: Sequence[RecordId]) -> Sequence[Record | None]:
        """See `RecordStore.get`."""
        return await self._database.read(lambda c: reading.read_records(c, ids))

    async def at(self, scope: Scope, uri: Uri) -> Sequence[Record]:
        """See `RecordStore.at`."""
        return await self._database.read(lambda c: reading.read_at(c, scope, uri))

    async def children(
        self, scope: Scope, directory: Uri, limit: int | None = None, offset: int = 0
    ) -> Sequence[Record]:
        """See `RecordStore.children`."""
        return await self._database.read(
            lambda c: reading.read_children(c, scope, directory, limit, offset)
        )

    async def below(
        self,
        scope: Scope,
        directory: Uri,
        limit: int,
        depth: int | None = None,
        after: Uri | None = None,
    ) -> Sequence[Record]:
        """See `RecordStore.below`."""
        return await self._database.read(
            lambda c: reading.read_below(c, scope, directory, limit, depth, after)
        )

    async def select(self, scope: Scope, where: Filter, limit: int) -> Sequence[Record]:
        """See `RecordStore.select`."""
        return await self._database.read(lambda c: reading.read_matching(c, scope, where, limit))

    async def matching(
        self, scope: Scope, wheres: Sequence[Filter]
    ) -> Sequence[Sequence[RecordId]]:
        """See `RecordStore.matching`."""
        return await self._database.read(
            lambda c: [reading.read_matching_ids(c, scope, where) for where in wheres]
        )

    async def known(self, scope: Scope, uris: Sequence[Uri]) -> Sequence[bool]:
        """See `RecordStore.known`."""
        return await self._database.read(lambda c: reading.read_known(c, scope, uris))

    async def sources(self, account: str, under: Uri) -> dict[Uri, SourceMark]:
        """See `RecordStore.sources`."""
        return await self._database.read(lambda c: reading.read_sources(c, account, under))

    async def passages(self, wanted: Sequence[tuple[RecordId, int]]) -> Sequence[Passage | None]:
        """See `RecordStore.passages`."""
        return await self._database.read(lambda c: reading.read_passages(c, wanted))

    async def found(
        self, wanted: Sequence[tuple[RecordId, int]]
    ) -> Sequence[tuple[Record, Passage | None] | None]:
        """See `RecordStore.found`."""
        alone = len(wanted) <= reading.FOUND_AT_ONCE  # then it is one statement
        read = self._database.glance if alone else self._database.read
        return await read(lambda c: reading.read_found(c, wanted))

    async def touch(self, ids: Sequence[RecordId]) -> None:
        """See `RecordStore.touch`."""
        used = [(record,) for record in ids]

        def work(connection: sqlite3.Connection) -> None:
            connection.executemany(
                "UPDATE records SET active_count = active_count + 1 WHERE id = ?", used
            )

        await self._database.tidy(work)  # uncounted: somebody reads at any time

    async def position(self) -> int:
        """See `RecordStore.position`."""
        return self._database.bell.position

    async def changes(self, after: int, limit: int) -> Sequence[Change]:
        """See `RecordStore.changes`."""
        most = self._change_passages
        try:
            return await self._database.read(lambda c: reading.read_changes(c, after, limit, most))
        except DamagedError:
            return await self._database.read(lambda c: reading.salvage_changes(c, after, limit))

    async def wait_beyond(self, position: int) -> None:
        """See `RecordStore.wait_beyond`."""
        await self._database.bell.beyond(position)

    async def counts(self, account: str | None = None, user: str | None = None) -> dict[str, int]:
        """See `RecordStore.counts`."""
        return await self._database.read(lambda c: reading.read_counts(c, account, user))

    async def copies(
        self, account: str | None, after: Record | None, limit: int
    ) -> Sequence[RecordCopy]:
        """See `RecordStore.copies`."""
        most = self._change_passages
        return await self._database.read(
            lambda c: restoring.read_copies(c, account, after, limit, most)
        )

    async def restore(
        self, copies: Sequence[RecordCopy], ensure: Sequence[RecordCopy] = ()
    ) -> Restored:
        """See `RecordStore.restore`."""
        return await self._database.write(lambda c: restoring.run_restore(c, copies, ensure))

    async def fingerprint(self) -> str | None:
        """Return which embedder made the vectors, None when nobody has said yet."""

        def work(connection: sqlite3.Connection) -> str | None:
            query = "SELECT value FROM meta WHERE key = ?"
            row = connection.execute(query, (FINGERPRINT,)).fetchone()
            return None if row is None else str(row[0])

        return await self._database.read(work)

    async def set_fingerprint(self, fingerprint: str) -> None:
        """Note which embedder makes the vectors from now on."""
        await self._database.write(partial(_note_fingerprint, fingerprint=fingerprint))

    async def forget_vectors(self, fingerprint: str | None = None) -> int:
        """See `HouseStore.forget_vectors`."""

        def work(connection: sqlite3.Connection) -> int:
            if fingerprint is not None:
                _note_fingerprint(connection, fingerprint)
            return committing.forget_vectors(connection)

        return await self._database.write(work)

    async def aclose(self) -> None:
        """See `RecordStore.aclose`."""
        await self._database.aclose()


def _note_fingerprint(connection: sqlite3.Connection, fingerprint: str) -> None:
    statement = "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)"
    connection.execute(statement, (FINGERPRINT, fingerprint))
