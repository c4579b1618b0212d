"""Single changes to the tree: write a file, make a directory, remove, move or tag an address."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import Executor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from contextfind.domain.errors import (
    AlreadyExistsError,
    ConflictError,
    InvalidArgumentError,
    InvalidUriError,
)
from contextfind.domain.identity import Identity
from contextfind.domain.records import Level, split_level
from contextfind.domain.scope import visible_to
from contextfind.domain.uri import Uri
from contextfind.ingestion.conditions import (
    BatchWritten,
    WriteOrder,
    effect_of,
    refused,
)
from contextfind.ingestion.courtesy import Courtesy
from contextfind.ingestion.drafting import Drafted, draft_file, placeholders
from contextfind.ingestion.passages import PassageRules, moved_line
from contextfind.ingestion.pulse import Pulse
from contextfind.ingestion.turns import Turns
from contextfind.ports import (
    BlobStore,
    Clock,
    Commit,
    Committed,
    Move,
    RecordStore,
    Retag,
    body_of,
)
from contextfind.ports.company import Company, Solitude

T = TypeVar("T")

_PATIENCE = 30.0  # seconds that a write waits for one of another process at the same place
WriteMode = Literal["create", "replace", "append"]


@dataclass(frozen=True, slots=True)
class Written:
    """A file that was written: `size` in bytes of all of it, `position` in the log."""

    uri: Uri
    mode: WriteMode
    size: int
    position: int


@dataclass(slots=True)
class Tally:
    """What was committed since the start; files and passages count as often as they were written."""

    files: int = 0
    passages: int = 0
    removed: int = 0  # records

    def include(self, commit: Commit, done: Committed) -> None:
        """Count a commit."""
        self.files += sum(draft.level is Level.DETAIL for draft in commit.put)
        self.passages += sum(len(draft.passages) for draft in commit.put)
        self.removed += done.removed


@dataclass(frozen=True, slots=True)
class Desk:
    """What every writer of the tree works with; `cpu` runs parsing off the event loop.

    bulk: where many files are parsed; what is run there must be pure and picklable, for it may be
        another process. None: in `cpu` too.
    courtesy: who writes much gives way to requests between its steps.
    written: beats after every commit, also one that only marks a directory stale: no log entry tells
        of that.
    tally: counts what is committed.
    company: the other processes that write the same tree.
    """

    store: RecordStore
    blobs: BlobStore
    clock: Clock
    cpu: Executor
    rules: PassageRules
    bulk: Executor | None = None
    courtesy: Courtesy = field(default_factory=Courtesy)
    written: Pulse = field(default_factory=Pulse)
    tally: Tally = field(default_factory=Tally)
    company: Company = field(default_factory=Solitude)

    async def commit(self, commit: Commit) -> Committed:
        """Commit, and tell whoever keeps the summaries; raises what `RecordStore.commit` does."""
        done = await self.store.commit(commit)
        self.tally.include(commit, done)
        self.written.beat()
        return done

    async def off_loop(self, work: Callable[[], T]) -> T:
        """Run pure work in the executor."""
        return await asyncio.get_running_loop().run_in_executor(self.cpu, work)

    async def in_bulk(self, work: Callable[[], T]) -> T:
        """Run pure, picklable work where the bulk of it is done."""
        return await asyncio.get_running_loop().run_in_executor(self.bulk or self.cpu, work)


class Writer:
    """Changes one address at a time; what a method has answered is committed."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._turns = Turns()

    async def write(
        self,
        identity: Identity,
        uri: Uri,
        text: str,
        mode: WriteMode,
        tags: tuple[str, ...] | None = None,
    ) -> Written:
        """Store a text file; tags None leaves those of an existing file.

        Raises:
            AlreadyExistsError: mode "create" and the file is there.
            ConflictError: a directory is there, or a file where a directory is needed.

        """
        desk = self._desk
        check_place(identity, uri)
        async with self.alone(
            identity, uri
        ):  # reading what is there and writing over it is one step
            text = await self._before(identity, uri, mode) + text
            drafted = await desk.off_loop(
                lambda: draft_file(uri, text.encode("utf-8", "replace"), tags, desk.rules)
            )
            position = await file_away(desk, identity.account, drafted)
        return Written(uri, mode, drafted.drafts[0].size, position)

    async def write_all(
        self, identity: Identity, root: Uri, orders: Sequence[WriteOrder], *, skip: bool = False
    ) -> BatchWritten:
        """Store files below a root in one commit: all of them or none; tags of those that are there stay.

        skip: leave out, and name, those whose condition does not hold, instead of writing none.

        Raises:
            ConflictError: a condition does not hold; a directory is in the way, or a file.
            InvalidArgumentError: a file holds no text that can be read.

        """
        desk, done = self._desk, BatchWritten()
        for order in orders:
            check_place(identity, order.uri)
        async with self.alone(identity, root):
            scope = visible_to(identity, [root])
            wanted = [
                order
                for order in orders
                if done.include(order, effect_of(order, await desk.store.at(scope, order.uri)))
            ]
            if done.conflicts and not skip:
                raise refused(done.conflicts)
            drafted = await desk.off_loop(lambda: drafts_of(wanted, desk.rules))
            if drafted:
                done.position = await file_away(desk, identity.account, *drafted)
        return done

    async def remove(self, identity: Identity, uri: Uri, *, recursive: bool) -> int:
        """Remove an address and everything below it; return how many records went, 0 when absent.

        Raises:
            InvalidArgumentError: a directory, and `recursive` is false.

        """
        check_place(identity, uri, whole_scope=True)
        store = self._desk.store
        records = await store.at(visible_to(identity, [uri]), uri)
        if not recursive and any(not record.is_leaf for record in records):
            raise InvalidArgumentError(
                f"{uri.text!r} is a directory; pass recursive=true to remove it and all below it",
                {"resource": uri.text, "expected_flag": "recursive"},
            )
        if not (await store.known(visible_to(identity, [uri]), [uri]))[0]:
            return 0
        above = uri.ancestors()[:1]
        done = await self._desk.commit(
            Commit(identity.account, self._desk.clock(), remove=(uri,), stale=above)
        )
        return done.removed

    async def mkdir(self, identity: Identity, uri: Uri, description: str = "") -> None:
        """Make a directory, and those above it where they are missing.

        Raises:
            ConflictError: something is there already.

        """
        check_place(identity, uri)
        store = self._desk.store
        if await store.at(visible_to(identity, [uri]), uri):
            raise ConflictError(f"{uri.text!r} exists", {"resource": uri.text})
        above = uri.ancestors()
        await self._desk.commit(
            Commit(
                identity.account,
                self._desk.clock(),
                put=placeholders(uri, description),
                ensure=tuple(draft for up in above for draft in placeholders(up)),
                stale=above[:1],
            )
        )

    async def move(self, identity: Identity, source: Uri, target: Uri) -> Committed:
        """Take a file or a directory with all that is in it to another address, where nothing is yet.

        Nothing of it is read or parsed again. Texts get another vector only where names that an embedder
        is told of have changed: those of the directories below the outermost one, and the file's own.

        Raises:
            NotFoundError: nothing is there. AlreadyExistsError: something is where it should go.
            InvalidArgumentError: it would lie in itself. ConflictError: a file is where a directory must be.
            ResourceExhaustedError: it is too much for one commit.

        """
        for place in (source, target):
            check_place(identity, place)
        longest = self._desk.rules.context
        move = Move(source, target, lambda old, new, line: moved_line(old, new, line, longest))
        above = target.ancestors()
        async with self.alone(identity, source, target):
            return await self._desk.commit(
                Commit(
                    identity.account,
                    self._desk.clock(),
                    move=move,
                    ensure=tuple(draft for up in above for draft in placeholders(up)),
                    stale=(*source.ancestors()[:1], *above[:1]),
                )
            )

    async def retag(self, identity: Identity, retag: Retag) -> Committed:
        """Give a file or directory other tags, or every file below it; no text is embedded again.

        Raises:
            NotFoundError: nothing is there. ResourceExhaustedError: it is too much for one commit.

        """
        check_place(identity, retag.uri, whole_scope=True)
        async with self.alone(identity, retag.uri):
            return await self._desk.commit(
                Commit(identity.account, self._desk.clock(), retag=retag)
            )

    @asynccontextmanager
    async def alone(self, identity: Identity, *places: Uri) -> AsyncIterator[None]:
        """Let nobody else write at, above or below these addresses in the meantime."""
        outer = [p for p in {*places} if not any(p != o and p.is_under(o) for o in places)]
        turns = [self._turns.take(identity.account, place) for place in outer]
        try:
            for turn in turns:
                await turn.come()
            async with self._desk.company.holding(
                "writing", identity.account, *outer, patience=_PATIENCE
            ):
                yield
        finally:
            for turn in turns:
                self._turns.leave(turn)

    async def _before(self, identity: Identity, uri: Uri, mode: WriteMode) -> str:
        """Return the text that stays in front of what is written."""
        records = await self._desk.store.at(visible_to(identity, [uri]), uri)
        old = next((record for record in records if record.is_leaf), None)
        if old is None or mode == "replace":
            return ""
        if mode == "create":
            raise AlreadyExistsError(
                f"{uri.text!r} exists; write it with mode 'replace' or 'append'",
                {"resource": uri.text},
            )
        return await body_of(old, self._desk.blobs)


async def file_away(desk: Desk, account: str, *drafted: Drafted) -> int:
    """Commit drafted files with the directories they need; return the log position.

    Blobs go first: a crash in between leaves a blob that nobody names, never a name without a blob.
    """
    puts = tuple(draft for one in drafted for draft in one.drafts)
    parents = sorted({up for draft in puts for up in draft.uri.ancestors()[:1]})
    folders = sorted({up for draft in puts for up in draft.uri.ancestors()})
    with desk.blobs.filing():
        await desk.blobs.put([blob for one in drafted for blob in one.blobs])
        done = await desk.commit(
            Commit(
                account,
                desk.clock(),
                put=puts,
                ensure=tuple(draft for folder in folders for draft in placeholders(folder)),
                stale=tuple(parents),
            )
        )
    return done.position


def drafts_of(orders: Sequence[WriteOrder], rules: PassageRules) -> list[Drafted]:
    """Return the drafts of files; pure.

    Raises:
        InvalidArgumentError: one holds no text; the message says which.

    """
    drafted = []
    for order in orders:
        try:
            drafted.append(draft_file(order.uri, order.data, None, rules))
        except InvalidArgumentError as fault:
            raise InvalidArgumentError(
                f"nothing was written: {order.uri.text!r}: {fault}",
                {**fault.details, "resource": order.uri.text},
            ) from fault
    return drafted


def check_place(identity: Identity, uri: Uri, *, whole_scope: bool = False) -> None:
    """Refuse to change what is no place for files.

    whole_scope: whether a scope root itself (`viking://resources`) is allowed.

    Raises:
        InvalidUriError: above or at a scope root, or a directory's own summary file.
        PermissionDeniedError: another user's tree.

    """
    visible_to(identity, [uri])
    top = uri.scope_root
    if top is None or (uri == top and not whole_scope):
        raise InvalidUriError(
            f"{uri.text!r} is no place for this; expected an address below viking://resources, "
            f"viking://agent or viking://user/{identity.user}",
            {"uri": uri.text},
        )
    if split_level(uri)[1] is not None:
        raise InvalidUriError(
            f"{uri.text!r} is a summary that the server writes; write the files below it",
            {"uri": uri.text},
        )
