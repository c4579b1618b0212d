"""The truth: records, their passages and vectors, and the log of what changed."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from contextfind.domain.filters import Filter
from contextfind.domain.records import (
    ContextType,
    Level,
    Matrix,
    Passage,
    Record,
    RecordId,
    Vector,
)
from contextfind.domain.scope import Scope
from contextfind.domain.uri import Uri
from contextfind.ports.moves import Move, Retag

# Of one answer of `changes`: with 384-dimensional vectors some 12 MB. Files have one passage or
# hundreds, so a number of records alone bounds no memory.
CHANGE_PASSAGES = 4_000


@dataclass(frozen=True, slots=True)
class RecordDraft:
    """A record as a service wants it stored; the store adds the id and keeps `created_at`.

    tags: None leaves the tags of an existing record as they are.
    """

    uri: Uri
    level: Level
    context_type: ContextType
    abstract: str
    passages: Sequence[Passage]
    tags: tuple[str, ...] | None = None
    content: str = ""
    source: str = ""
    size: int = 0
    origin: str = ""


@dataclass(frozen=True, slots=True)
class SourceMark:
    """Where a stored file came from: the digest of its bytes, and the ingest that brought it."""

    digest: str
    origin: str


@dataclass(frozen=True, slots=True)
class Commit:
    """What one transaction writes; all of it or nothing.

    Done in this order, whatever the order of the arguments:
    remove: these addresses and everything below them.
    move, retag: see there.
    put: replaces the record at the same (uri, level), or makes it.
    ensure: made only where nothing is stored at (uri, level).
    fresh: directories whose summaries this commit brings up to date; one that was marked again since
        (it has another mark now) stays stale. A put at level 0 or 1 of a directory named here is its
        summary: it is passed over unless the mark still stands after `remove`. Where it does not,
        the directory was removed since (and must not come back) or will be summarised again.
    stale: directories whose summaries must be written again; one at and below which nothing is left
        (or never was) is forgotten. Removing makes no parent stale by itself.
    """

    account: str
    now: datetime
    put: Sequence[RecordDraft] = ()
    ensure: Sequence[RecordDraft] = ()
    remove: Sequence[Uri] = ()
    stale: Sequence[Uri] = ()
    fresh: Sequence["StaleDirectory"] = ()
    move: Move | None = None
    retag: Retag | None = None


@dataclass(frozen=True, slots=True)
class Committed:
    """position: the log position after which an index shows the commit; removed: records gone.

    moved: new addresses of what was moved. retagged: addresses that Retag spoke of. Both in order, directories
    once, files and directories alike.
    """

    position: int
    removed: int
    moved: Sequence[Uri] = ()
    retagged: Sequence[Uri] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """One entry of the log: a record as it now is, or None when it is gone.

    passages: in order of `ordinal`. vectors: row i belongs to passages[i]; None until the embedder
    has seen all of them.
    """

    position: int
    id: RecordId
    record: Record | None
    passages: Sequence[Passage] = ()
    vectors: Matrix | None = None


@dataclass(frozen=True, slots=True)
class PendingText:
    """A text that has no vector yet; equal texts appear once."""

    digest: str
    text: str


@dataclass(frozen=True, slots=True)
class StaleDirectory:
    """A directory whose summaries are out of date; `mark` tells one time from the next."""

    account: str
    uri: Uri
    mark: int


@dataclass(frozen=True, slots=True)
class Backlog:
    """How much is still to be done below an address: texts to embed, directories to summarise.

    position: where the log stood at that very moment; an index that is there shows all that is done.
        (`RecordStore.position` may learn of a commit a little later than a reader sees it.)
    """

    texts: int
    directories: int
    position: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class RecordCopy:
    """A record with all that belongs to it, as it leaves one store and enters another.

    record: its `id` means something only in the store it was read from.
    passages: in order of `ordinal`. vectors: one for each passage, None where it has none yet.
    stale: the summaries of this directory (level 0) are out of date.
    """

    record: Record
    passages: Sequence[Passage]
    vectors: Sequence[Vector | None]
    stale: bool = False


@dataclass(frozen=True, slots=True)
class Restored:
    """position: as of `Committed`; written: how many records are other than they were."""

    position: int
    written: int


class RecordStore(Protocol):
    """What it has committed exists, also after kill -9; the index only follows.

    Reading methods that take a `scope` show nothing outside of it; the others are for the house's
    own work and name the account.
    """

    async def commit(self, commit: Commit) -> Committed:
        """Write everything in one transaction and return where the log stands.

        A put whose record would not change (all fields but the times equal, same passages) changes nothing
        and is not logged. Vectors that no passage uses any more are dropped. Texts are stored as UTF-8:
        a lone surrogate comes back as a question mark.

        Raises:
            ConflictError: a file where a directory is, or a directory where a file is.
            NotFoundError: nothing lies where something is to be moved from or tagged.
            AlreadyExistsError: something lies where something is to be moved to.
            ResourceExhaustedError: more is to be moved or tagged than is done at once.

        """
        ...

    async def add_vectors(self, vectors: Sequence[tuple[str, Vector]]) -> int:
        """Store vectors by digest, log the records whose last missing vector came, return the position.

        A vector that no passage asks for is not kept.
        """
        ...

    async def embed_again(self, ids: Sequence[RecordId]) -> int:
        """Drop the vectors of these records, log those that had passages, and return the position.

        Their texts are `pending` then. Others with the same texts wait for them too, and are logged when they come.
        """
        ...

    async def pending(self, limit: int) -> Sequence[PendingText]:
        """Return texts without a vector: those of files first, then in the order they came."""
        ...

    async def stale(self, limit: int) -> Sequence[StaleDirectory]:
        """Return directories to summarise, deepest first, ties by account and address."""
        ...

    async def backlog(
        self, account: str | None = None, under: Uri | None = None, user: str | None = None
    ) -> Backlog:
        """Count what is still to be done, everywhere or below one address.

        user: leave out what lies in the trees of other users.
        """
        ...

    async def get(self, ids: Sequence[RecordId]) -> Sequence[Record | None]:
        """Return the records in the order asked, None where there is none."""
        ...

    async def at(self, scope: Scope, uri: Uri) -> Sequence[Record]:
        """Return the records at an address, lowest level first; nothing when there is none."""
        ...

    async def children(
        self, scope: Scope, directory: Uri, limit: int | None = None, offset: int = 0
    ) -> Sequence[Record]:
        """Return what a directory lists: files (L2) and directories (their L0), by name.

        At most `limit` of them (None is all), after the first `offset`.
        """
        ...

    async def below(
        self,
        scope: Scope,
        directory: Uri,
        limit: int,
        depth: int | None = None,
        after: Uri | None = None,
    ) -> Sequence[Record]:
        """Return at most `limit` files (L2) and directories (their L0), by address.

        At most `depth` levels below the directory; None is any. after: the last address of the answer before,
        None to begin.
        """
        ...

    async def select(self, scope: Scope, where: Filter, limit: int) -> Sequence[Record]:
        """Return matching records, newest `updated_at` first, ties by address as it is shown."""
        ...

    async def matching(
        self, scope: Scope, wheres: Sequence[Filter]
    ) -> Sequence[Sequence[RecordId]]:
        """Return for each filter the ids of all records that match it, ascending."""
        ...

    async def known(self, scope: Scope, uris: Sequence[Uri]) -> Sequence[bool]:
        """Say for each address whether anything is stored at or below it."""
        ...

    async def sources(self, account: str, under: Uri) -> dict[Uri, SourceMark]:
        """Return where every file (L2) at or below an address came from."""
        ...

    async def passages(self, wanted: Sequence[tuple[RecordId, int]]) -> Sequence[Passage | None]:
        """Return passages by record and ordinal, in the order asked, None where there is none."""
        ...

    async def found(
        self, wanted: Sequence[tuple[RecordId, int]]
    ) -> Sequence[tuple[Record, Passage | None] | None]:
        """Return records with one passage each, as `get` and `passages` would of one state; one read.

        In the order asked; None where there is no record, and for a passage that is not there.
        """
        ...

    async def touch(self, ids: Sequence[RecordId]) -> None:
        """Count one use for each time a record is named (feeds hotness; never enters the log)."""
        ...

    async def position(self) -> int:
        """Return the position of the last log entry, 0 for an empty store."""
        ...

    async def changes(self, after: int, limit: int) -> Sequence[Change]:
        """Return at most `limit` entries after a position, in order and without a gap.

        The answer ends earlier where the next entry would bring its passages above `CHANGE_PASSAGES`
        (or what the store was made with), but never before the first one: it is empty only at the
        end of the log.

        Only the last entry of a record is kept, so the log is never longer than records that are
        or were there. That of a record that is gone may be forgotten once every index has followed it.
        A record that the disk does not give back counts as gone; damaged vectors have no columns.
        """
        ...

    async def wait_beyond(self, position: int) -> None:
        """Return as soon as the log stands beyond `position`; or when an older state of it was put back."""
        ...

    async def counts(self, account: str | None = None, user: str | None = None) -> dict[str, int]:
        """Return how many there are of: accounts, records, files, directories, passages, vectors.

        user: leave out what lies in the trees of other users.
        """
        ...

    async def copies(
        self, account: str | None, after: Record | None, limit: int
    ) -> Sequence[RecordCopy]:
        """Return at most `limit` records as they are, by account, then address, then level.

        account: None for all of them. after: the last record of the answer before, None to begin.
        Ends early where the passages become too many, as `changes` does.
        """
        ...

    async def restore(
        self, copies: Sequence[RecordCopy], ensure: Sequence[RecordCopy] = ()
    ) -> Restored:
        """Write records as they are given, times, counts and vectors too, in one transaction.

        One at the same (account, uri, level) is replaced and keeps its id; one that is the same in every
        field stays untouched and is not logged. A directory whose summary (level 0) was another one
        before is marked as stale, as is one whose copy says so. A text that has a vector already
        keeps that. `context_type`, `owner` and `size` are taken as given, ids are not.

        ensure: made only where nothing is stored at (account, uri, level), and marked as stale.

        Raises:
            ConflictError: a file where a directory is, or a directory where a file is.

        """
        ...

    async def aclose(self) -> None:
        """Finish what was begun and close the files."""
        ...
