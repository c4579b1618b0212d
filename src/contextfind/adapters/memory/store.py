"""Record store in dicts: the contract at its simplest, for tests and for trying things out."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

import numpy as np

from contextfind.adapters.memory.copying import copies_of, restore
from contextfind.adapters.memory.tree import Tree
from contextfind.domain.filters import Filter, matches
from contextfind.domain.records import Level, Passage, Record, RecordId, Vector, shown_address
from contextfind.domain.scope import Scope
from contextfind.domain.uri import ROOT, Uri
from contextfind.ports.housekeeping import NameKeys, key_of
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


class MemoryRecordStore:
    """`RecordStore`, `ReindexedStore` and `BlobNames` without a file; everything is gone with the process.

    change_passages: how many passages one answer of `changes` may have.
    """

    def __init__(self, change_passages: int = CHANGE_PASSAGES) -> None:
        self._tree = Tree()
        self._change_passages = change_passages
        self._moved = asyncio.Condition()
        self._fingerprint: str | None = None

    async def commit(self, commit: Commit) -> Committed:
        """See `RecordStore.commit`."""
        tree = self._tree.copy()
        done = tree.apply(commit)
        self._tree = tree
        await self._ring()
        return done

    async def add_vectors(self, vectors: Sequence[tuple[str, Vector]]) -> int:
        """See `RecordStore.add_vectors`."""
        tree = self._tree
        waiting = [record for record in tree.records if tree.lacking(record)]
        used = {passage.digest for held in tree.passages.values() for passage in held}
        tree.vectors |= {digest: row for digest, row in vectors if digest in used}
        for record in waiting:
            if not tree.lacking(record):
                tree.note(record)
        await self._ring()
        return tree.position

    async def embed_again(self, ids: Sequence[RecordId]) -> int:
        """See `RecordStore.embed_again`."""
        tree = self._tree
        for record in ids:
            held = tree.passages.get(record, ())
            for passage in held:
                tree.vectors.pop(passage.digest, None)
            if held:
                tree.note(record)
        await self._ring()
        return tree.position

    async def log_again(self, part: Part, before: Uri | None, limit: int) -> Uri | None:
        """See `ReindexedStore.log_again`."""
        stretch = self._stretch(part, before, limit)
        for record in stretch:
            self._tree.note(record.id)
        await self._ring()
        return stretch[0].uri if stretch else None

    async def mark_stale(self, part: Part, before: Uri | None, limit: int) -> Uri | None:
        """See `ReindexedStore.mark_stale`."""
        stretch = self._stretch(part, before, limit)
        for record in reversed(stretch):
            if record.level is Level.ABSTRACT:
                self._tree.mark_stale(part.account, record.uri)
        return stretch[0].uri if stretch else None

    async def extent(self, part: Part, most: int) -> Extent:
        """See `ReindexedStore.extent`."""
        tree = self._tree
        held = [one for one in self._seen(part) if tree.passages.get(one.id)]
        lacking = [record.uri for record in held if tree.lacking(record.id)]
        return Extent(len(held), len(lacking), sorted(set(lacking))[:most])

    def _stretch(self, part: Part, before: Uri | None, limit: int) -> Sequence[Record]:
        """Return the records at the last `limit` addresses of a part before one, by address, then level."""
        seen = [one for one in self._seen(part) if before is None or one.uri < before]
        last = sorted({record.uri for record in seen})[-limit:]
        return [record for record in seen if record.uri in last]

    def _seen(self, part: Part) -> Sequence[Record]:
        """Return the records of a part of the tree, by address, then level."""
        return [
            record
            for record in self._tree.under(part.account, part.under)
            if _counts(record.account, record.uri, None, part.user)
        ]

    async def pending(self, limit: int) -> Sequence[PendingText]:
        """See `RecordStore.pending`."""
        tree = self._tree
        order = sorted(
            tree.records.values(), key=lambda r: (r.level is not Level.DETAIL, tree.arrived[r.id])
        )
        texts: dict[str, str] = {}
        for record in order:
            for passage in tree.lacking(record.id):
                texts.setdefault(passage.digest, passage.embedded_text)
        return [PendingText(digest, text) for digest, text in list(texts.items())[:limit]]

    async def stale(self, limit: int) -> Sequence[StaleDirectory]:
        """See `RecordStore.stale`."""
        deepest = sorted(
            self._tree.stale, key=lambda place: (-len(place[1].segments), place[0], place[1])
        )
        marks = self._tree.stale
        return [StaleDirectory(*place, marks[place]) for place in deepest[:limit]]

    async def backlog(
        self, account: str | None = None, under: Uri | None = None, user: str | None = None
    ) -> Backlog:
        """See `RecordStore.backlog`."""
        tree, top = self._tree, ROOT if under is None else under
        texts = {
            passage.digest
            for record in tree.records.values()
            if _counts(record.account, record.uri, account, user) and record.uri.is_under(top)
            for passage in tree.lacking(record.id)
        }
        directories = [
            uri
            for holder, uri in tree.stale
            if _counts(holder, uri, account, user) and uri.is_under(top)
        ]
        return Backlog(len(texts), len(directories), tree.position)

    async def get(self, ids: Sequence[RecordId]) -> Sequence[Record | None]:
        """See `RecordStore.get`."""
        return [self._tree.records.get(record) for record in ids]

    async def at(self, scope: Scope, uri: Uri) -> Sequence[Record]:
        """See `RecordStore.at`."""
        return [record for record in self._allowed(scope, uri) if record.uri == uri]

    async def children(
        self, scope: Scope, directory: Uri, limit: int | None = None, offset: int = 0
    ) -> Sequence[Record]:
        """See `RecordStore.children`."""
        listed = [r for r in self._listed(scope, directory) if r.parent == directory]
        end = None if limit is None else offset + limit
        return sorted(listed, key=lambda record: record.name)[offset:end]

    async def below(
        self,
        scope: Scope,
        directory: Uri,
        limit: int,
        depth: int | None = None,
        after: Uri | None = None,
    ) -> Sequence[Record]:
        """See `RecordStore.below`."""
        floor = len(directory.segments)
        inside = [r for r in self._listed(scope, directory) if r.uri > (after or directory)]
        near = [r for r in inside if depth is None or len(r.uri.segments) - floor <= depth]
        return near[:limit]

    async def select(self, scope: Scope, where: Filter, limit: int) -> Sequence[Record]:
        """See `RecordStore.select`."""
        found = [record for record in self._allowed(scope, ROOT) if matches(where, record)]
        found.sort(key=lambda record: shown_address(record.uri, record.level))
        return sorted(found, key=lambda record: record.updated_at, reverse=True)[:limit]

    async def matching(
        self, scope: Scope, wheres: Sequence[Filter]
    ) -> Sequence[Sequence[RecordId]]:
        """See `RecordStore.matching`."""
        seen = self._allowed(scope, ROOT)
        return [sorted(r.id for r in seen if matches(where, r)) for where in wheres]

    async def known(self, scope: Scope, uris: Sequence[Uri]) -> Sequence[bool]:
        """See `RecordStore.known`."""
        return [bool(self._allowed(scope, uri)) for uri in uris]

    async def sources(self, account: str, under: Uri) -> dict[Uri, SourceMark]:
        """See `RecordStore.sources`."""
        leaves = (record for record in self._tree.under(account, under) if record.is_leaf)
        return {leaf.uri: SourceMark(leaf.source, leaf.origin) for leaf in leaves}

    async def passages(self, wanted: Sequence[tuple[RecordId, int]]) -> Sequence[Passage | None]:
        """See `RecordStore.passages`."""
        held = self._tree.passages
        return [
            next((p for p in held.get(record, ()) if p.ordinal == ordinal), None)
            for record, ordinal in wanted
        ]

    async def found(
        self, wanted: Sequence[tuple[RecordId, int]]
    ) -> Sequence[tuple[Record, Passage | None] | None]:
        """See `RecordStore.found`."""
        records = await self.get([record for record, _ in wanted])
        passages = await self.passages(wanted)
        return [
            None if record is None else (record, passage)
            for record, passage in zip(records, passages, strict=True)
        ]

    async def touch(self, ids: Sequence[RecordId]) -> None:
        """See `RecordStore.touch`."""
        records = self._tree.records
        for used in ids:
            if used in records:
                records[used] = replace(records[used], active_count=records[used].active_count + 1)

    async def position(self) -> int:
        """See `RecordStore.position`."""
        return self._tree.position

    async def changes(self, after: int, limit: int) -> Sequence[Change]:
        """See `RecordStore.changes`."""
        later = [(at, record) for record, at in self._tree.log.items() if at > after][:limit]
        held = accumulate(len(self._tree.passages.get(record, ())) for _, record in later)
        fitting = sum(total <= self._change_passages for total in held)
        return [self._change(*entry) for entry in later[: max(fitting, 1)]]

    async def wait_beyond(self, position: int) -> None:
        """See `RecordStore.wait_beyond`."""
        async with self._moved:
            await self._moved.wait_for(lambda: self._tree.position > position)

    async def counts(self, account: str | None = None, user: str | None = None) -> dict[str, int]:
        """See `RecordStore.counts`."""
        tree = self._tree
        records = [r for r in tree.records.values() if _counts(r.account, r.uri, account, user)]
        digests = {passage.digest for r in records for passage in tree.passages[r.id]}
        return {
            "accounts": len({record.account for record in records}),
            "records": len(records),
            "files": sum(record.is_leaf for record in records),
            "directories": sum(record.level is Level.ABSTRACT for record in records),
            "passages": sum(len(tree.passages[record.id]) for record in records),
            "vectors": len(digests & tree.vectors.keys()),
        }

    async def copies(
        self, account: str | None, after: Record | None, limit: int
    ) -> Sequence[RecordCopy]:
        """See `RecordStore.copies`."""
        return copies_of(self._tree, account, after, limit, self._change_passages)

    async def restore(
        self, copies: Sequence[RecordCopy], ensure: Sequence[RecordCopy] = ()
    ) -> Restored:
        """See `RecordStore.restore`."""
        tree = self._tree.copy()
        written = restore(tree, copies, ensure)
        self._tree = tree
        await self._ring()
        return Restored(tree.position, written)

    async def fingerprint(self) -> str | None:
        """Return which embedder made the vectors, None when nobody has said yet."""
        return self._fingerprint

    async def set_fingerprint(self, fingerprint: str) -> None:
        """Note which embedder makes the vectors from now on."""
        self._fingerprint = fingerprint

    async def forget_vectors(self, fingerprint: str | None = None) -> int:
        """Drop every vector, log the records that had passages, and return the position."""
        self._fingerprint = fingerprint or self._fingerprint
        tree = self._tree
        tree.vectors.clear()
        for record in sorted(tree.records):
            if tree.passages[record]:
                tree.note(record)
        await self._ring()
        return tree.position

    async def settle(self) -> None:
        """See `BlobNames.settle`."""

    async def named(self, after: RecordId, limit: int) -> tuple[Sequence[RecordId], NameKeys]:
        """See `BlobNames.named`."""
        records = sorted(self._tree.records.values(), key=lambda record: record.id)
        part = [record for record in records if record.id > after][:limit]
        names = [name for record in part for name in (record.content, record.source) if name]
        keys = np.array([key_of(name) for name in names], np.uint64)
        return [record.id for record in part], keys

    async def aclose(self) -> None:
        """Nothing to close."""

    def _allowed(self, scope: Scope, uri: Uri) -> list[Record]:
        return [r for r in self._tree.under(scope.account, uri) if scope.allows(r)]

    def _listed(self, scope: Scope, directory: Uri) -> list[Record]:
        return [r for r in self._allowed(scope, directory) if r.level is not Level.OVERVIEW]

    def _change(self, position: int, record: RecordId) -> Change:
        tree = self._tree
        passages = tree.passages.get(record, ())
        if not passages or tree.lacking(record):
            return Change(position, record, tree.records.get(record), passages)
        rows = np.stack([tree.vectors[passage.digest] for passage in passages])
        return Change(position, record, tree.records[record], passages, rows.astype(np.float32))

    async def _ring(self) -> None:
        async with self._moved:
            self._moved.notify_all()


def _counts(holder: str, uri: Uri, account: str | None, user: str | None) -> bool:
    """Whether what `holder` has at `uri` counts for an account and a user (None: for any)."""
    return account in (None, holder) and (user is None or uri.owner in ("", user))
