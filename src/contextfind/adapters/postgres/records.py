"""The record store in a PostgreSQL database."""

from collections.abc import Sequence

from psycopg import AsyncConnection

from contextfind.adapters.postgres import (
    committing,
    following,
    reading,
    reindexing,
    restoring,
)
from contextfind.adapters.postgres.claims import claim, directory_claim, others_at_work
from contextfind.adapters.postgres.database import Database, last_position
from contextfind.adapters.postgres.maker import check_maker, note_maker, read_maker
from contextfind.adapters.postgres.schema import lock_number
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


class PostgresRecordStore:
    """`RecordStore` and `ReindexedStore` of all processes that share a schema; closing it closes the database.

    `pending` and `stale` give each process a share of its own: what another one that lives has been given is left out.
    change_passages: how many passages one answer of `changes` may have.
    """

    def __init__(self, database: Database, change_passages: int = CHANGE_PASSAGES) -> None:
        self._database = database
        self._change_passages = change_passages
        self._claiming = lock_number(database.place.schema, "claims")
        self._maker: str | None = None  # of the vectors, as this process was told

    async def commit(self, commit: Commit) -> Committed:
        """See `RecordStore.commit`."""
        return await self._database.commit(lambda c: committing.run_commit(c, commit))

    async def add_vectors(self, vectors: Sequence[tuple[str, Vector]]) -> int:
        """See `RecordStore.add_vectors`."""

        async def work(connection: AsyncConnection) -> int:
            await check_maker(connection, self._maker)
            return await committing.store_vectors(connection, vectors)

        return await self._database.commit(work)

    async def embed_again(self, ids: Sequence[RecordId]) -> int:
        """See `RecordStore.embed_again`."""
        return await self._database.commit(lambda c: committing.embed_again(c, ids))

    async def log_again(self, part: Part, before: Uri | None, limit: int) -> Uri | None:
        """See `ReindexedStore.log_again`."""
        return await self._database.commit(lambda c: reindexing.log_again(c, part, before, limit))

    async def mark_stale(self, part: Part, before: Uri | None, limit: int) -> Uri | None:
        """See `ReindexedStore.mark_stale`."""
        return await self._database.commit(lambda c: reindexing.mark_stale(c, part, before, limit))

    async def extent(self, part: Part, most: int) -> Extent:
        """See `ReindexedStore.extent`."""
        return await self._database.read(
            part.account, lambda c: reindexing.read_extent(c, part, most)
        )

    async def pending(self, limit: int) -> Sequence[PendingText]:
        """See `RecordStore.pending`."""
        presence = self._database.presence

        async def work(connection: AsyncConnection) -> Sequence[PendingText]:
            await check_maker(connection, self._maker)
            others = await others_at_work(connection, presence, self._claiming)
            found = await following.read_pending(connection, limit, others)
            await claim(connection, presence.worker, [text.digest for text in found])
            return found

        return await self._database.tidy(work)

    async def stale(self, limit: int) -> Sequence[StaleDirectory]:
        """See `RecordStore.stale`."""
        presence = self._database.presence

        async def work(connection: AsyncConnection) -> Sequence[StaleDirectory]:
            others = await others_at_work(connection, presence, self._claiming)
            found = await following.read_stale(connection, limit, others)
            wanted = [directory_claim(one.account, one.uri.text) for one in found]
            await claim(connection, presence.worker, wanted)
            return found

        return await self._database.tidy(work)

    async def backlog(
        self, account: str | None = None, under: Uri | None = None, user: str | None = None
    ) -> Backlog:
        """See `RecordStore.backlog`."""
        return await self._database.glance(lambda c: reading.read_backlog(c, account, under, user))

    async def get(self, ids: Sequence[RecordId]) -> Sequence[Record | None]:
        """See `RecordStore.get`."""
        return await self._database.glance(lambda c: reading.read_records(c, ids))

    async def at(self, scope: Scope, uri: Uri) -> Sequence[Record]:
        """See `RecordStore.at`."""
        return await self._database.read(scope.account, lambda c: reading.read_at(c, scope, uri))

    async def children(
        self, scope: Scope, directory: Uri, limit: int | None = None, offset: int = 0
    ) -> Sequence[Record]:
        """See `RecordStore.children`."""
        return await self._database.read(
            scope.account, lambda c: reading.read_children(c, scope, directory, limit, offset)
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
            scope.account, lambda c: reading.read_below(c, scope, directory, limit, depth, after)
        )

    async def select(self, scope: Scope, where: Filter, limit: int) -> Sequence[Record]:
        """See `RecordStore.select`."""
        return await self._database.read(
            scope.account, lambda c: reading.read_matching(c, scope, where, limit)
        )

    async def matching(
        self, scope: Scope, wheres: Sequence[Filter]
    ) -> Sequence[Sequence[RecordId]]:
        """See `RecordStore.matching`."""

        async def work(connection: AsyncConnection) -> Sequence[Sequence[RecordId]]:
            return [await reading.read_matching_ids(connection, scope, where) for where in wheres]

        return await self._database.read(scope.account, work)

    async def known(self, scope: Scope, uris: Sequence[Uri]) -> Sequence[bool]:
        """See `RecordStore.known`."""
        return await self._database.read(
            scope.account, lambda c: reading.read_known(c, scope, uris)
        )

    async def sources(self, account: str, under: Uri) -> dict[Uri, SourceMark]:
        """See `RecordStore.sources`."""
        return await self._database.read(account, lambda c: reading.read_sources(c, account, under))

    async def passages(self, wanted: Sequence[tuple[RecordId, int]]) -> Sequence[Passage | None]:
        """See `RecordStore.passages`."""
        return await self._database.glance(lambda c: reading.read_passages(c, wanted))

    async def found(
        self, wanted: Sequence[tuple[RecordId, int]]
    ) -> Sequence[tuple[Record, Passage | None] | None]:
        """See `RecordStore.found`."""
        return await self._database.glance(lambda c: reading.read_found(c, wanted))

    async def touch(self, ids: Sequence[RecordId]) -> None:
        """See `RecordStore.touch`."""
        # As the only writer, though it enters no log: rows that are locked in another order might wait in a circle.
        # Uncounted: somebody reads at any time.
        await self._database.alone(lambda c: committing.count_uses(c, ids))

    async def position(self) -> int:
        """See `RecordStore.position`; another process may have written it."""
        return await self._database.glance(last_position)

    async def changes(self, after: int, limit: int) -> Sequence[Change]:
        """See `RecordStore.changes`."""

        async def work(connection: AsyncConnection) -> Sequence[Change]:
            await check_maker(connection, self._maker)
            return await following.read_changes(connection, after, limit, self._change_passages)

        return await self._database.house(work)

    async def wait_beyond(self, position: int) -> None:
        """See `RecordStore.wait_beyond`."""
        await self._database.bell.beyond(position)

    async def counts(self, account: str | None = None, user: str | None = None) -> dict[str, int]:
        """See `RecordStore.counts`."""
        return await self._database.glance(lambda c: reading.read_counts(c, account, user))

    async def copies(
        self, account: str | None, after: Record | None, limit: int
    ) -> Sequence[RecordCopy]:
        """See `RecordStore.copies`."""
        most = self._change_passages
        return await self._database.house(
            lambda c: restoring.read_copies(c, account, after, limit, most)
        )

    async def restore(
        self, copies: Sequence[RecordCopy], ensure: Sequence[RecordCopy] = ()
    ) -> Restored:
        """See `RecordStore.restore`."""

        async def work(connection: AsyncConnection) -> Restored:
            await check_maker(connection, self._maker)
            return await restoring.run_restore(connection, copies, ensure)

        return await self._database.commit(work)

    async def fingerprint(self) -> str | None:
        """Return which embedder made the vectors, None when nobody has said yet."""
        self._maker = await self._database.glance(read_maker)
        return self._maker

    async def set_fingerprint(self, fingerprint: str) -> None:
        """Note which embedder makes the vectors from now on; processes that were told of another give and get none."""
        await self._database.write(lambda c: note_maker(c, fingerprint))
        self._maker = fingerprint

    async def forget_vectors(self, fingerprint: str | None = None) -> int:
        """See `HouseStore.forget_vectors`."""

        async def work(connection: AsyncConnection) -> int:
            if fingerprint is not None:
                await note_maker(connection, fingerprint)
            return await committing.forget_vectors(connection)

        position = await self._database.commit(work)
        self._maker = fingerprint or self._maker
        return position

    async def aclose(self) -> None:
        """See `RecordStore.aclose`."""
        await self._database.aclose()
