"""Reading the tree by address: bodies, summaries, listings."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from contextfind.domain.errors import InvalidArgumentError, NotFoundError
from contextfind.domain.identity import Identity
from contextfind.domain.records import Level, Record, split_level
from contextfind.domain.scope import Scope, visible_to
from contextfind.domain.uri import ROOT, Uri
from contextfind.ports import BlobStore, RecordStore, body_of
from contextfind.retrieval.uses import Count, uncounted

_EPOCH = datetime.fromtimestamp(
    0, UTC
)  # the age of what is not stored but always there: the scopes


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a listing; `abstract` and `size` of a directory are those of its L0."""

    uri: Uri
    is_directory: bool
    size: int
    updated_at: datetime
    abstract: str
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Listing:
    """Entries in order, and whether there are more."""

    entries: Sequence[Entry]
    has_more: bool


class Browser:
    """Shows an identity what lies in its part of the tree.

    Every method raises NotFoundError where nothing is, and PermissionDeniedError for somebody
    else's tree. Addresses may be spelled `DIR/.abstract.md` and `DIR/.overview.md`.

    count: told of each record whose text was read; listings count nothing.
    """

    def __init__(self, store: RecordStore, blobs: BlobStore, count: Count = uncounted) -> None:
        self._store = store
        self._blobs = blobs
        self._count = count

    async def read(self, identity: Identity, uri: Uri) -> str:
        """Return the whole text of a file (or of a directory's summary, spelled as a file).

        Raises:
            InvalidArgumentError: the address is a directory.

        """
        directory, level = split_level(uri)
        if level is not None:
            return await self._body(await self._at(identity, directory, level, "summary"))
        records = await self._here(identity, uri)
        leaf = next((record for record in records if record.is_leaf), None)
        if leaf is not None:
            return await self._body(leaf)
        if records or _is_scope(identity, uri):
            raise InvalidArgumentError(
                f"{uri.text!r} is a directory; expected a file. List it with fs/ls, or read its "
                "summary with content/abstract or content/overview",
                {"resource": uri.text, "expected": "file", "actual": "directory"},
            )
        raise _missing(uri, "file")

    async def download(self, identity: Identity, uri: Uri) -> bytes:
        """Return the bytes of a file as they came; of a text that was kept as text, its UTF-8.

        Raises:
            InvalidArgumentError: the address is a directory.

        """
        leaves = [record for record in await self._here(identity, uri) if record.is_leaf]
        for leaf in leaves:
            kept = (leaf.source, leaf.content)  # what came is kept where its text says less
            for data in await self._blobs.read([name for name in kept if name]):
                if data is not None:
                    self._count(leaf.id)
                    return data
        return (await self.read(identity, uri)).encode()

    async def abstract(self, identity: Identity, uri: Uri) -> str:
        """Return the short text of a directory (L0) or of a file."""
        directory, _ = split_level(uri)
        records = await self._here(identity, directory)
        if records:
            self._count(records[0].id)
            return records[0].abstract
        if _is_scope(identity, directory):
            return ""
        raise _missing(uri, "resource")

    async def overview(self, identity: Identity, uri: Uri) -> str:
        """Return the long summary of a directory (L1); of a file, that of its directory."""
        directory, _ = split_level(uri)
        records = await self._here(identity, directory)
        if records and records[-1].is_leaf:
            parent = directory.parent
            records = [] if parent is None else await self._here(identity, parent)
        found = next((record for record in records if record.level is Level.OVERVIEW), None)
        if found is not None:
            return await self._body(found)
        if _is_scope(identity, directory):
            return ""
        raise _missing(uri, "resource")

    async def list(self, identity: Identity, uri: Uri, limit: int, offset: int = 0) -> Listing:
        """Return the children of a directory by name."""
        scope, scopes = _whole(visible_to(identity, [uri])), _scopes_below(identity, uri)
        if scopes:  # a few entries, some of which are not stored
            found = [_entry(record) for record in await self._store.children(scope, uri)]
            entries = _with_scopes(found, scopes)[offset : offset + limit + 1]
        else:
            records = await self._store.children(scope, uri, limit + 1, offset)
            entries = [_entry(record) for record in records]
        if not entries:
            await self._must_be_directory(identity, uri)
        return Listing(entries[:limit], len(entries) > limit)

    async def tree(
        self, identity: Identity, uri: Uri, depth: int, limit: int, offset: int = 0
    ) -> Listing:
        """Return what lies at most `depth` levels below a directory, by address.

        Raises:
            InvalidArgumentError: the address is a file.

        """
        await self._must_be_directory(identity, uri)
        scope = visible_to(identity, [uri])
        most = min(offset + limit + 1, _MAX_BELOW)
        found = await self._store.below(_whole(scope), uri, most, depth)
        scopes = _scopes_below(identity, uri)
        inner = [deep for top in scopes for deep in _scopes_below(identity, top)]
        floor = len(uri.segments)
        entries = _with_scopes([_entry(record) for record in found], [*scopes, *inner])
        near = [entry for entry in entries if len(entry.uri.segments) - floor <= depth]
        return Listing(near[offset : offset + limit], len(near) > offset + limit)

    async def stat(self, identity: Identity, uri: Uri) -> Entry:
        """Return one address as a listing shows it."""
        directory, level = split_level(uri)
        if level is not None:
            record = await self._at(identity, directory, level, "summary")
            return Entry(uri, False, record.size, record.updated_at, record.abstract, record.tags)
        records = await self._here(identity, uri)
        if records:
            return _entry(records[0])
        if _is_scope(identity, uri):
            return Entry(uri, True, 0, _EPOCH, "", ())
        raise _missing(uri, "resource")

    async def _body(self, record: Record) -> str:
        text = await body_of(record, self._blobs)
        self._count(record.id)
        return text

    async def _here(self, identity: Identity, uri: Uri) -> Sequence[Record]:
        return await self._store.at(visible_to(identity, [uri]), uri)

    async def _at(self, identity: Identity, uri: Uri, level: Level, kind: str) -> Record:
        for record in await self._here(identity, uri):
            if record.level is level:
                return record
        raise _missing(uri, kind)

    async def _must_be_directory(self, identity: Identity, uri: Uri) -> None:
        records = await self._here(identity, uri)
        if records and records[0].is_leaf:
            raise InvalidArgumentError(
                f"{uri.text!r} is a file; expected a directory. Read it with content/read",
                {"resource": uri.text, "expected": "directory", "actual": "file"},
            )
        if not records and not _is_scope(identity, uri):
            raise _missing(uri, "directory")


_MAX_BELOW = 100_000  # entries in memory for one page; what lies behind is walked level by level


def _whole(scope: Scope) -> Scope:
    """Return the scope without its targets: a listing names its directory by itself."""
    return Scope(scope.account, scope.user, (ROOT,))


def _entry(record: Record) -> Entry:
    return Entry(
        uri=record.uri,
        is_directory=not record.is_leaf,
        size=record.size,
        updated_at=record.updated_at,
        abstract=record.abstract,
        tags=record.tags,
    )


def _with_scopes(entries: Sequence[Entry], scopes: Sequence[Uri]) -> list[Entry]:
    """Return the entries and the scopes that are not among them, by address."""
    there = {entry.uri for entry in entries}
    empty = [Entry(scope, True, 0, _EPOCH, "", ()) for scope in scopes if scope not in there]
    return sorted([*entries, *empty], key=lambda entry: entry.uri)


def _is_scope(identity: Identity, uri: Uri) -> bool:
    """Whether an address exists even when nothing was ever stored there."""
    return uri in {ROOT, Uri("viking://user"), *_scope_roots(identity)}


def _scope_roots(identity: Identity) -> tuple[Uri, ...]:
    own = Uri(f"viking://user/{identity.user}")
    return (Uri("viking://agent"), Uri("viking://resources"), own)


def _scopes_below(identity: Identity, uri: Uri) -> tuple[Uri, ...]:
    """Return the scope addresses that a listing of `uri` always shows."""
    if uri == ROOT:
        return (Uri("viking://agent"), Uri("viking://resources"), Uri("viking://user"))
    if uri == Uri("viking://user"):
        return (Uri(f"viking://user/{identity.user}"),)
    return ()


def _missing(uri: Uri, kind: str) -> NotFoundError:
    return NotFoundError(f"nothing is stored at {uri.text!r}", {"resource": uri.text, "type": kind})
