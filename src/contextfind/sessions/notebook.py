"""The memories of one user while one archive is read: which are known, and what becomes of them."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from contextfind.domain.errors import (
    AlreadyExistsError,
    ConflictError,
    DamagedError,
    InvalidArgumentError,
    NotFoundError,
    UnavailableError,
)
from contextfind.domain.filters import Filter, OneOf, Tagged, all_of
from contextfind.domain.identity import Identity, RequestContext
from contextfind.domain.queries import FindQuestion
from contextfind.domain.scope import visible_to
from contextfind.domain.tags import parse_tags
from contextfind.domain.tokens import estimated_tokens
from contextfind.domain.uri import Uri
from contextfind.ingestion.writing import WriteMode, Writer
from contextfind.ports import BlobStore, RecordStore, body_of
from contextfind.ports.company import Company, Solitude
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

_OWN = 12  # memories of the archive that is read: so that reading it again is no news
_NEAREST = 8  # memories that fit what is said
_NEWEST = 4  # memories; those that the index may not show yet
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
    """What memories are found, read and written with; company: the other processes that do."""

    finder: Finder
    writer: Writer
    store: RecordStore
    blobs: BlobStore
    company: Company = field(default_factory=Solitude)


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
        """Return memories that the model should know, bounded.

        Those of this archive come first, then those nearest to what is said, then the newest. said: what
        the user said, the most telling first.
        """
        source = all_of(_FILES, *map(Tagged, self._source.tags))
        mine = [*self._noted, *await self._select(source, _OWN)][:_OWN]
        uris = [*mine, *await self._nearest(said), *await self._select(_FILES, _NEWEST)]
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
        found: dict[Uri, Memory] = {}
        meant: set[Uri] = set()
        for item in items:
            day = item.memory.day or said_on
            memory = replace(item.memory, day=day)
            uri = next((one for one in self._offered if one.text == item.updates), None)
            if uri is None:
                uri = memory_uri(self._identity, item.kind, memory.title, day)
            else:
                meant.add(uri)
            found[uri] = _joined(found[uri], memory) if uri in found else memory
        for uri, memory in found.items():
            await self._put_down(uri, memory, meant=uri in meant)

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

    async def _put_down(self, uri: Uri, memory: Memory, *, meant: bool) -> None:
        """Let the memory be at its address: new, instead of what was offered, or behind what is there.

        meant: whether the model said that it replaces what is there; else it may be a part of it.
        """
        entry = await self._entry(uri)
        if entry is None:
            told = self._telling(memory)
            if told is None:
                self._entries[uri] = _Entry(memory)
            uri = told or uri
        elif entry.ours and uri in self._offered:
            if not _is_told(memory, entry.memory, whole=meant):
                entry.memory = replace(memory, kind=entry.memory.kind)
        elif not _add(entry, memory):
            self._complaints.append(f"{uri} is full; {memory.title!r} is not in it")
            return
        self._noted[uri] = None

    def _telling(self, memory: Memory) -> Uri | None:
        """Return a memory that is known to say all of it already, under another title."""
        known = (*self._offered, *self._noted)
        return next((one for one in known if _is_told(memory, self._entries[one].memory)), None)

    async def _save(self, uri: Uri, entry: _Entry) -> None:
        now = await self._load(uri)
        if entry.ours and now is not None and now.memory != entry.stored:
            # a person wrote there while the model thought; nothing of that is replaced
            if not _add(now, entry.memory):
                raise ConflictError(f"{uri.text!r} is full")
            now.ours, entry = False, now
        write = self._desk.writer.write
        if entry.ours:
            mode: WriteMode = "create" if entry.stored is None else "replace"
            tags = parse_tags([*entry.tags, *self._source.tags])
            await write(self._identity, uri, as_file(entry.memory), mode, tags)
        elif entry.added:
            await write(self._identity, uri, "\n\n" + "\n\n".join(entry.added) + "\n", "append")

    async def _entry(self, uri: Uri) -> _Entry | None:
        """Return what is noted, else what is stored; None when there is nothing."""
        if uri not in self._entries:
            entry = await self._load(uri)
            if entry is None:
                return None
            self._entries[uri] = entry
        return self._entries[uri]

    async def _load(self, uri: Uri) -> _Entry | None:
        records = await self._desk.store.at(self._scope, uri)
        record = next((one for one in records if one.is_leaf), None)
        if record is None:
            return None
        try:
            memory = of_file(uri, await body_of(record, self._desk.blobs))
        except DamagedError:  # its text is lost: nothing to tell, nothing to be replaced
            memory = Memory(None, uri.name, "", None)
        ours = {tag.partition("=")[0] for tag in record.tags} >= {"session", "archive"}
        return _Entry(memory, memory, record.tags, ours and bool(memory.text))

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

    async def _select(self, where: Filter, limit: int) -> Sequence[Uri]:
        """Return the newest memories that the filter keeps."""
        records = await self._desk.store.select(self._scope, where, limit)
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


def _joined(one: Memory, more: Memory) -> Memory:
    """Return one memory that says what both say, each paragraph once."""
    there = _words(one)
    new = [part for part in paragraphs(more.text) if folded(part) not in there]
    return replace(one, text="\n\n".join([one.text, *new]).lstrip(), day=more.day)


def _is_told(memory: Memory, by: Memory, *, whole: bool = False) -> bool:
    """Whether the other one says all of it; of an event, of the same day. whole: and nothing else."""
    same_day = by.kind is not MemoryKind.EVENT or by.day == memory.day
    words, there = _words(memory), _words(by)
    told = words == there if whole else words <= there
    return told and same_day and (whole or by.kind is memory.kind)


def _add(entry: _Entry, memory: Memory) -> bool:
    """Put the paragraphs behind those that are there, unless they are; False when it is too long."""
    old = entry.memory
    both = replace(_joined(old, memory), day=old.day)
    if both != old and len(both.text) > _LONGEST:
        return False
    entry.memory = both
    if both != old:
        entry.added.append(both.text.removeprefix(old.text).strip())
    return True


def _words(memory: Memory) -> frozenset[str]:
    return frozenset(folded(one) for one in paragraphs(memory.text))
