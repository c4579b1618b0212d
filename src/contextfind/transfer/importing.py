"""A file read into a store."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from contextfind.domain.errors import AlreadyExistsError, InvalidArgumentError
from contextfind.domain.identity import DEFAULT_USER
from contextfind.domain.records import Level
from contextfind.domain.uri import Uri
from contextfind.ingestion.drafting import placeholders
from contextfind.ports import BlobStore, Clock, IdentityStore, RecordCopy, RecordStore, SessionStore
from contextfind.ports.fault_points import FaultPoint, reached
from contextfind.transfer.entries import Block, Entry, Member, Tenant, Totals, copy_of
from contextfind.transfer.reader import ExportReader
from contextfind.transfer.session_copies import bring_session

Progress = Callable[["Brought"], None]


@dataclass(frozen=True, slots=True)
class Brought:
    """What has come so far; written: records that are other than they were before."""

    totals: Totals = field(default_factory=Totals)
    written: int = 0


class Importer:
    """Commits a file block by block; memory grows with the number of directories, not of records.

    Running it again after anything went wrong carries on: what is there already just so is left alone.
    What the store has at other addresses stays; at the same address the file wins.
    """

    def __init__(
        self,
        store: RecordStore,
        blobs: BlobStore,
        identities: IdentityStore,
        sessions: SessionStore,
        clock: Clock,
    ) -> None:
        self._store = store
        self._blobs = blobs
        self._gate = _Gate(identities)
        self._sessions = sessions
        self._clock = clock
        self._folders: set[tuple[str, Uri]] = set()  # that stood in the file or were made

    async def read(self, reader: ExportReader, fingerprint: str, progress: Progress) -> Brought:
        """Bring everything that the file holds; vectors of the embedder `fingerprint` alone.

        Raises:
            InvalidArgumentError: the file is damaged; the message names the line, and what came before
                its block is stored. ConflictError: a file where a directory is, or the other way round.
            AlreadyExistsError: an account's name is taken in another spelling.

        """
        brought = Brought()
        keep = reader.header.fingerprint == fingerprint
        blocks = reader.blocks()
        coming = _next(blocks)
        while (block := await coming) is not None:
            coming = _next(blocks)  # parsed while this one is written
            try:
                written = await self._bring(block, keep_vectors=keep)
            except BaseException:
                coming.cancel()
                raise
            brought = Brought(brought.totals + block.totals, brought.written + written)
            progress(brought)
        return brought

    async def _bring(self, block: Block, *, keep_vectors: bool) -> int:
        for tenant in block.tenants:
            await self._gate.admit(tenant)
        with self._blobs.filing():
            copies = await self._with_bytes(block.entries)
            if not keep_vectors:
                copies = [replace(copy, vectors=[None] * len(copy.passages)) for copy in copies]
            for copy in copies:
                if copy.record.owner:
                    await self._gate.reserve(copy.record.account, copy.record.owner, self._clock())
            done = await self._store.restore(copies, self._missing_folders(copies))
        reached(FaultPoint.MID_IMPORT)
        for session in block.sessions:
            who = session.session.identity
            await self._gate.reserve(who.account, who.user, self._clock())
            await bring_session(self._sessions, session)
        return done.written

    async def _with_bytes(self, entries: Sequence[Entry]) -> list[RecordCopy]:
        """Store the bytes of entries and return their copies, which name them."""
        bodies = [entry.content for entry in entries if entry.content is not None]
        originals = [entry for entry in entries if entry.original is not None]
        digests = iter(await self._blobs.put(bodies) if bodies else ())
        kept = await self._blobs.put(
            [one.original for one in originals if one.original is not None]
        )
        for entry, digest in zip(originals, kept, strict=True):
            record = entry.copy.record
            if digest != record.source:
                raise InvalidArgumentError(
                    f"the original of {record.uri.text!r} is not what `source` says it is"
                )
        return [
            entry.copy
            if entry.content is None
            else replace(entry.copy, record=replace(entry.copy.record, content=next(digests)))
            for entry in entries
        ]

    def _missing_folders(self, copies: Sequence[RecordCopy]) -> list[RecordCopy]:
        """Return placeholders for directories that hold something and that the file does not name."""
        told = {
            (copy.record.account, copy.record.uri)
            for copy in copies
            if copy.record.level is not Level.DETAIL
        }
        self._folders |= told
        needed = {
            (copy.record.account, above): None
            for copy in copies
            for above in copy.record.uri.ancestors()
        }
        now = self._clock()
        missing = [place for place in needed if place not in self._folders]
        self._folders.update(missing)
        return [
            copy_of(account, draft, now)
            for account, uri in sorted(missing, key=lambda place: (place[0], place[1]))
            for draft in placeholders(uri)
        ]


class _Gate:
    """Accounts and users of the file, as far as they are not there yet.

    Who is there keeps his role, who was removed here stays removed. Who owns a tree in the file and is no user of it was removed: his name
    stays taken here too, or whoever got it would get the tree.
    """

    def __init__(self, identities: IdentityStore) -> None:
        self._identities = identities
        self._users: dict[str, set[str]] = {}  # of the accounts that the file tells of

    async def admit(self, tenant: Tenant) -> None:
        """Make the account and its users."""
        if tenant.id not in {account.id for account in await self._identities.accounts()}:
            await self._found(tenant)
        here = {user.id for user in await self._identities.users(tenant.id)}
        for user in tenant.users:
            if user.id not in here:
                await self._add(tenant.id, user)
        self._users[tenant.id] = here | {user.id for user in tenant.users}

    async def reserve(self, account: str, owner: str, now: datetime) -> None:
        """Have the name of a removed user taken, where the file told of the account."""
        users = self._users.get(account)
        if users is None or owner in users:
            return
        users.add(owner)
        if await self._add(account, Member(owner, "user", now)):
            await self._identities.remove_user(account, owner, now)

    async def _found(self, tenant: Tenant) -> None:
        """Make an account; the store wants an admin first."""
        named = sorted(tenant.users, key=lambda user: user.role != "admin")
        first = named[0] if named else Member(DEFAULT_USER, "admin", tenant.created_at)
        await self._identities.add_account(tenant.id, first.id, tenant.created_at)
        await self._identities.set_role(tenant.id, first.id, first.role)
        if not named:
            await self._identities.remove_user(tenant.id, first.id, tenant.created_at)

    async def _add(self, account: str, user: Member) -> bool:
        """Add a user; False when one of this name was removed here, who is not brought back."""
        try:
            await self._identities.add_user(account, user.id, user.role, user.created_at)
        except AlreadyExistsError as error:
            if not error.details.get("removed"):
                raise
            return False
        return True


def _next(blocks: Iterator[Block]) -> "asyncio.Task[Block | None]":
    return asyncio.create_task(asyncio.to_thread(next, blocks, None))
