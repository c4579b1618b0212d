"""The memories of one user while one archive is read: which are known, and what becomes of them."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from contextfind.domain.errors import (
    AlreadyExistsError,
    ConflictError,
    InvalidArgumentError,
    NotFoundError,
    UnavailableError,
)
from contextfind.domain.filters import OneOf
from contextfind.domain.identity import Identity, RequestContext
from contextfind.domain.queries import FindQuestion
from contextfind.domain.scope import visible_to
from contextfind.domain.tags import parse_tags
from contextfind.domain.tokens import estimated_tokens
from contextfind.domain.uri import Uri
from contextfind.ingestion.writing import WriteMode, Writer
from contextfind.ports import BlobStore, RecordStore, body_of
from contextfind.retrieval.finder import Finder
from contextfind.sessions.extraction import Extraction
from contextfind.sessions.memory_answers import Item
from contextfind.sessions.memory_files import (
    Memory,
    MemoryKind,
    as_file,
    folded,
    memories_uri,
    memory_uri,
    of_file,
    paragraphs,
)

_NEAREST = 8  # memories that fit what is said
_NEWEST = 4  # memories; those that the index may not show yet, and what the talk goes on about
_OFFERED = 2_000  # tokens of known memories in one prompt
_FRAME = 20  # tokens of JSON around one of them
_WHOLE = 2_000  # characters of one; of a longer one only the beginning is told
_LONGEST = 8_000  # characters a memory may grow to by what is added to it
_QUERIES = 3  # finds for one window
_QUERY = 1_000  # characters of one; an embedder reads little more
_FILES = OneOf("level", frozenset({"2"}))
_READABLE = (".md", ".txt")


@dataclass(frozen=True, slots=True)
class MemoryDesk:
    """What memories are found, read and written with."""

    finder: Finder
    writer: Writer
    store: RecordStore
    blobs: BlobStore


@dataclass(frozen=True, slots=True)
class Source:
    """What memories are made of: an archive of a session.

    tags: what tells it, on each memory; they are no part of its text, so no search is led astray.
    """

    session_id: str
    archive_id: str

    @property
    def tags(self) -> tuple[str, ...]:
        """Return `session=…` and `archive=…`."""
        session = self.session_id.replace("=", "-")
        return parse_tags([f"session={session}", f"archive={self.archive_id}"])


@dataclass(slots=True)
class _Entry:
    """A memory as it shall be, and as it is stored.

    ours: whether an archive gave it; what a person wrote is only ever added to.
    """

    memory: Memory
    stored: Memory | None = None
    tags: tuple[str, ...] = ()
    ours: bool = True
    added: list[str] = field(default_factory=list)

    @property
    def is_changed(self) -> bool:
        return self.stored is None or self.stored != self.memory


class Notebook:
    """Notes what is said of memories; the tree is as before until `write`.

    So the later windows of an archive know what the earlier ones gave, and reading an archive again
    ends in the same memories without a change in between.
    """

    def __init__(self, desk: MemoryDesk, identity: Identity, source: Source) -> None:
        self._desk = desk
        self._identity = identity
        self._source = source
        self._top = memories_uri(identity)
        self._scope = visible_to(identity, [self._top])
        self._entries: dict[Uri, _Entry] = {}
        self._noted: dict[Uri, None] = {}  # in order
        self._offered: dict[Uri, None] = {}  # in order: told whole, and so may be replaced
        self._complaints: list[str] = []

    async def known(self, said: Sequence[str]) -> Sequence[tuple[Uri, Memory]]:
        """Return memories that the model should know, bounded: nearest first, then the newest.

        said: what the user said, the most telling first.
        """
        uris = [*await self._nearest(said), *[*self._noted][-_NEWEST:], *await self._newest()]
        room = _OFFERED
        told: dict[Uri, Memory] = {}
        self._offered = {}
        for uri in dict.fromkeys(uris):
            entry = await self._entry(uri)
            if entry is None or not entry.memory.text:
                continue
            shown = replace(entry.memory, text=entry.memory.text[:_WHOLE])
            room -= estimated_tokens(f"{uri}{shown.title}{shown.text}") + _FRAME
            if room < 0:
                break
            told[uri] = shown
            if shown == entry.memory:
                self._offered[uri] = None
        return list(told.items())

    async def note(self, items: Sequence[Item], said_on: date) -> None:
        """Note what one answer said; it may replace what was offered to it, and nothing else.

        Two items of one answer at the same address share it; so do an item and what was there and not
        offered. What a memory of the kind tells already is not told again.
        """
        fresh: set[Uri] = set()
        for item in items:
            day = item.memory.day or said_on
            uri = self._updated(item)
            told = self._telling(item, day) if uri is None else None
            if told is not None:
                self._noted[told] = None
                continue
            uri = uri or memory_uri(self._identity, item.kind, item.memory.title, day)
            await self._put_down(uri, replace(item.memory, day=day), renew=uri not in fresh)
            fresh.add(uri)

    async def write(self) -> Extraction:
        """Write all that has changed, each memory by itself.

        Raises:
            UnavailableError: the store does not answer; what was written until then stays.

        """
        created: list[Uri] = []
        updated: list[Uri] = []
        unchanged: list[Uri] = []
        for uri in self._noted:
            entry = self._entries[uri]
            if not entry.is_changed:
                unchanged.append(uri)
                continue
            try:
                await self._save(uri, entry)
            except (AlreadyExistsError, ConflictError, InvalidArgumentError, NotFoundError) as no:
                self._complaints.append(f"{entry.memory.title!r} is not kept: {no}")
                continue
            (created if entry.stored is None else updated).append(uri)
        return Extraction(created, updated, unchanged, self._complaints)

    async def _put_down(self, uri: Uri, memory: Memory, *, renew: bool) -> None:
        """Let the memory be at its address: new, instead of what was offered, or behind what is there."""
        entry = await self._entry(uri)
        if entry is None:
            self._entries[uri] = _Entry(memory)
        elif renew and entry.ours and uri in self._offered:
            entry.memory = _renewed(entry.memory, memory)
        elif not _add(entry, memory):
            self._complaints.append(f"{uri} is full; {memory.title!r} is not in it")
            return
        self._noted[uri] = None

    def _updated(self, item: Item) -> Uri | None:
        """Return what the item says it updates, if that was offered."""
        return next((uri for uri in self._offered if uri.text == item.updates), None)

    def _telling(self, item: Item, day: date) -> Uri | None:
        """Return a memory that says all of the item already; of an event, of the same day."""
        said = _words(item.memory)
        for uri in (*self._offered, *self._noted):
            memory = self._entries[uri].memory
            same_day = item.kind is not MemoryKind.EVENT or memory.day == day
            if memory.kind is item.kind and same_day and said <= _words(memory):
                return uri
        return None

    async def _save(self, uri: Uri, entry: _Entry) -> None:
        write = self._desk.writer.write
        if not entry.ours:
            added = "\n\n" + "\n\n".join(entry.added) + "\n"
            await write(self._identity, uri, added, "append")
            return
        mode: WriteMode = "create" if entry.stored is None else "replace"
        tags = parse_tags([*entry.tags, *self._source.tags])
        await write(self._identity, uri, as_file(entry.memory), mode, tags)

    async def _entry(self, uri: Uri) -> _Entry | None:
        """Return what is noted, else what is stored; None when there is nothing."""
        if uri in self._entries:
            return self._entries[uri]
        records = await self._desk.store.at(self._scope, uri)
        record = next((one for one in records if one.is_leaf), None)
        if record is None:
            return None
        try:
            memory = of_file(uri, await body_of(record, self._desk.blobs))
        except NotFoundError:  # its text is lost: nothing to tell, nothing to be replaced
            memory = Memory(None, uri.name, "", None)
        ours = {tag.partition("=")[0] for tag in record.tags} >= {"session", "archive"}
        self._entries[uri] = _Entry(memory, memory, record.tags, ours and bool(memory.text))
        return self._entries[uri]

    async def _nearest(self, said: Sequence[str]) -> Sequence[Uri]:
        context = RequestContext(self._identity, self._source.archive_id)
        best: dict[Uri, float] = {}
        for query in _queries(said):
            question = FindQuestion(query, targets=[self._top], limit=_NEAREST, where=_FILES)
            try:
                found = await self._desk.finder.find(context, question)
            except UnavailableError:  # the newest ones must do; the addresses hold without either
                break
            for hit in found.memories:
                best[hit.uri] = max(hit.score, best.get(hit.uri, 0.0))
        ranked = sorted(best, key=lambda uri: (-best[uri], uri))
        return [uri for uri in ranked if uri.name.endswith(_READABLE)][:_NEAREST]

    async def _newest(self) -> Sequence[Uri]:
        records = await self._desk.store.select(self._scope, _FILES, _NEWEST)
        return [record.uri for record in records if record.name.endswith(_READABLE)]


def _queries(said: Sequence[str]) -> Sequence[str]:
    """Return a few texts to search by, what comes first in `said` first."""
    texts: list[str] = []
    for one in said:
        if texts and len(texts[-1]) + len(one) < _QUERY:
            texts[-1] += "\n" + one
        elif len(texts) == _QUERIES:
            break
        else:
            texts.append(one[:_QUERY])
    return texts


def _renewed(old: Memory, new: Memory) -> Memory:
    """Return the memory as it is now; the same words are no news, unless an event has another day."""
    same_day = old.kind is not MemoryKind.EVENT or old.day == new.day
    if same_day and _words(new) == _words(old):
        return old
    return replace(new, kind=old.kind)


def _add(entry: _Entry, memory: Memory) -> bool:
    """Put the paragraphs behind those that are there, unless they are; False when it is too long."""
    there = _words(entry.memory)
    more = [one for one in paragraphs(memory.text) if folded(one) not in there]
    text = "\n\n".join([entry.memory.text, *more]).lstrip()
    if more and len(text) > _LONGEST:
        return False
    entry.memory = replace(entry.memory, text=text)
    entry.added += more
    return True


def _words(memory: Memory) -> frozenset[str]:
    return frozenset(folded(one) for one in paragraphs(memory.text))
