"""A store written into a file."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import BinaryIO

from contextfind.domain.errors import NotFoundError
from contextfind.domain.identity import Identity
from contextfind.domain.records import Level, Record
from contextfind.ports import BlobStore, IdentityStore, RecordCopy, RecordStore, SessionStore
from contextfind.ports.fault_points import FaultPoint, reached
from contextfind.transfer.entries import Entry, Header, Member, Tenant, Totals
from contextfind.transfer.session_copies import read_sessions
from contextfind.transfer.writer import ExportWriter

PAGE = 500  # records read in one transaction
_FILES_AT_ONCE = 64  # of a page: their bodies are read side by side
_BYTES_AT_ONCE = 16 << 20  # and fill this much memory at most, or one file does

Progress = Callable[[int], None]  # how many records are done


@dataclass(frozen=True, slots=True)
class Choice:
    """What is written: one account or (empty) all; with vectors or without; zstd or plain lines."""

    account: str = ""
    vectors: bool = True
    compressed: bool = True


class Exporter:
    """Reads a store page by page; memory does not grow with it.

    What is written while it runs may be missing, or be newer than what was read before: each record is
    whole, the file as a whole is of one moment only when nothing writes.
    """

    def __init__(
        self,
        store: RecordStore,
        blobs: BlobStore,
        identities: IdentityStore,
        sessions: SessionStore,
    ) -> None:
        self._store = store
        self._blobs = blobs
        self._identities = identities
        self._sessions = sessions

    async def header(self, choice: Choice, fingerprint: str, now: datetime) -> Header:
        """Return the first line of the file to be; `fingerprint` is of the store's vectors.

        Raises:
            NotFoundError: there is no such account.

        """
        counted = await self._store.counts(choice.account or None)
        tenants = [tenant async for tenant in self._tenants(choice)]
        if choice.account and not (tenants or counted["records"]):
            raise NotFoundError(f"there is no account {choice.account!r}")
        counts = {
            "accounts": len(tenants),
            "records": counted["records"],
            "passages": counted["passages"],
        }
        length = await self._dimension(choice) if choice.vectors and counted["vectors"] else 0
        made_by = fingerprint if length else ""
        return Header(now, made_by, length, choice.account, counts)

    async def write(
        self, stream: BinaryIO, header: Header, choice: Choice, progress: Progress
    ) -> Totals:
        """Write everything, and the end only when all of it went well.

        Raises:
            NotFoundError: the body of a file is lost. UnavailableError: the store does not answer.

        """
        writer = ExportWriter(stream, header, compressed=choice.compressed)
        talkers: dict[tuple[str, str], None] = {}  # users, and owners of trees that were users
        with writer:
            async for tenant in self._tenants(choice):
                writer.tenant(tenant)
                talkers |= {(tenant.id, user.id): None for user in tenant.users}
            async for page in self._pages(choice):
                for group in _groups(page):
                    entries = await self._entries(group)
                    await asyncio.to_thread(_write_all, writer, entries)
                    reached(FaultPoint.MID_EXPORT)
                owners = {(copy.record.account, copy.record.owner) for copy in page}
                talkers |= {who: None for who in sorted(owners) if who[1]}
                progress(writer.totals.records)
            for account, user in talkers:
                async for copy in read_sessions(self._sessions, Identity(account, user)):
                    await asyncio.to_thread(writer.session, copy)
        return writer.totals

    async def _tenants(self, choice: Choice) -> AsyncIterator[Tenant]:
        for account in await self._identities.accounts():
            if choice.account in ("", account.id):
                users = await self._identities.users(account.id)
                members = [Member(user.id, user.role, user.created_at) for user in users]
                yield Tenant(account.id, account.created_at, members)

    async def _pages(self, choice: Choice) -> AsyncIterator[Sequence[RecordCopy]]:
        after: Record | None = None
        while page := await self._store.copies(choice.account or None, after, PAGE):
            after = page[-1].record
            yield page if choice.vectors else [_without_vectors(copy) for copy in page]

    async def _dimension(self, choice: Choice) -> int:
        """Return the length of the first vector there is."""
        async for page in self._pages(choice):
            for vector in (row for copy in page for row in copy.vectors):
                if vector is not None:
                    return len(vector)
        return 0

    async def _entries(self, group: Sequence[RecordCopy]) -> list[Entry]:
        """Return the copies with their bytes."""
        records = [copy.record for copy in group]
        bodies = await self._read([record.content for record in records])
        originals = await self._read([_original(record) for record in records])
        for record in records:
            if record.content and record.content not in bodies:
                raise NotFoundError(
                    f"the body of {record.uri.text!r} (account {record.account!r}) is lost or damaged; "
                    "add that file again or remove it"
                )
        return [
            Entry(copy, bodies.get(copy.record.content), originals.get(_original(copy.record)))
            for copy in group
        ]

    async def _read(self, digests: Sequence[str]) -> dict[str, bytes]:
        """Return the blobs that are there."""
        wanted = list(dict.fromkeys(digest for digest in digests if digest))
        found = await self._blobs.read(wanted) if wanted else ()
        pairs = zip(wanted, found, strict=True)
        return {digest: blob for digest, blob in pairs if blob is not None}


def _original(record: Record) -> str:
    """Return which blob may hold the bytes a file was made from: kept where the body is not as good."""
    is_own = record.level is Level.DETAIL and record.source != record.content
    return record.source if is_own else ""


def _without_vectors(copy: RecordCopy) -> RecordCopy:
    return replace(copy, vectors=[None] * len(copy.passages))


def _groups(page: Sequence[RecordCopy]) -> list[list[RecordCopy]]:
    """Cut a page so that the bodies of a group fit into memory side by side."""
    groups: list[list[RecordCopy]] = []
    room = files = 0
    for copy in page:
        room -= copy.record.size
        files -= 1
        if room < 0 or files < 0:
            groups.append([])
            room, files = _BYTES_AT_ONCE - copy.record.size, _FILES_AT_ONCE - 1
        groups[-1].append(copy)
    return groups


def _write_all(writer: ExportWriter, entries: Sequence[Entry]) -> None:
    for entry in entries:
        writer.entry(entry)
