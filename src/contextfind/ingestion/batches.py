"""The files of a source, batch by batch: read, compared with what is there, drafted; nothing is committed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from contextfind.domain.errors import ContextFindError, InvalidArgumentError
from contextfind.domain.uri import Uri
from contextfind.ingestion.drafting import Drafted, digest_of, draft_files
from contextfind.ingestion.writing import Desk
from contextfind.ports import FileSource, SourceEntry, SourceMark

_BATCH = 16  # files read, drafted and committed together: progress is seen, memory stays flat
_BATCH_BYTES = 16_000_000
_HOP_BYTES = 250_000  # of text drafted in one hop: about .3 s, so that closing is quick
_MANY = 200  # files from which on another process is worth its start (.2 s of a core)


@dataclass(frozen=True, slots=True)
class Work:
    """What all batches of one ingest share.

    root, tags, origin: as in the drafts that come of it. known: what is stored at or below the root.
    files: how many there are in all.
    """

    source: FileSource
    root: Uri
    tags: tuple[str, ...] | None
    origin: str
    known: Mapping[Uri, SourceMark]
    files: int


@dataclass(slots=True)
class Taken:
    """What came of a batch: drafts by path, and what became of the other files.

    seen: the addresses of all files that are in the source and may stay in the tree.
    """

    files: int
    drafted: list[tuple[str, Drafted]] = field(default_factory=list)
    unchanged: int = 0
    skipped: list[tuple[str, str]] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)
    seen: set[Uri] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _File:
    uri: Uri
    path: str
    body: bytes


class BatchReader:
    """Reads batches; one that cannot be read fails alone."""

    def __init__(self, desk: Desk, max_file_bytes: int) -> None:
        self._desk = desk
        self._max_file_bytes = max_file_bytes

    async def read(self, work: Work, batch: Sequence[SourceEntry]) -> Taken:
        """Return the drafts of what is new or changed; many files are drafted by `Desk.in_bulk`."""
        taken = Taken(len(batch))
        placed = self._placed(work, batch, taken)
        files = await self._bodies(work.source, placed, taken)
        if work.tags is None:
            news = await self._desk.off_loop(lambda: _news(files, work.known))
            taken.unchanged = len(files) - len(news)
            files = news
        for some in _portions(files):
            await self._draft(work, some, taken)
        return taken

    def _placed(
        self, work: Work, batch: Sequence[SourceEntry], taken: Taken
    ) -> list[tuple[Uri, str]]:
        """Return the address and path of each file; names that cannot be one fail, large files do not come."""
        placed: list[tuple[Uri, str]] = []
        for entry in batch:
            try:
                uri = work.root if work.source.single else work.root.child(entry.path)
            except InvalidArgumentError as fault:
                taken.failed.append((entry.path, str(fault)))
                continue
            if entry.size > self._max_file_bytes:
                reason = f"{entry.size} bytes; the limit is {self._max_file_bytes}"
                taken.skipped.append((entry.path, reason))
                continue
            taken.seen.add(uri)
            placed.append((uri, entry.path))
        return placed

    async def _bodies(
        self, source: FileSource, placed: Sequence[tuple[Uri, str]], taken: Taken
    ) -> list[_File]:
        bodies = await source.read([path for _, path in placed])
        files: list[_File] = []
        for (uri, path), body in zip(placed, bodies, strict=True):
            if isinstance(body, ContextFindError):
                taken.failed.append((path, str(body)))
            else:
                files.append(_File(uri, path, body))
        return files

    async def _draft(self, work: Work, files: Sequence[_File], taken: Taken) -> None:
        desk = self._desk
        bodies = [(file.uri, file.body) for file in files]
        draft = partial(draft_files, bodies, work.tags, desk.rules, work.origin)
        drafts = await (desk.in_bulk(draft) if work.files >= _MANY else desk.off_loop(draft))
        for file, drafted in zip(files, drafts, strict=True):
            if isinstance(drafted, Drafted):
                taken.drafted.append((file.path, drafted))
            elif drafted.details.get("reason") == "binary":  # may be left out quietly
                taken.skipped.append((file.path, str(drafted)))
                taken.seen.discard(file.uri)
            else:
                taken.failed.append((file.path, str(drafted)))


def batches(entries: Sequence[SourceEntry]) -> Iterator[Sequence[SourceEntry]]:
    """Yield the entries in order, so many at a time as are read, drafted and committed together."""
    batch: list[SourceEntry] = []
    weight = 0
    for entry in entries:
        if len(batch) >= _BATCH or (batch and weight + entry.size > _BATCH_BYTES):
            yield batch
            batch, weight = [], 0
        batch.append(entry)
        weight += entry.size
    if batch:
        yield batch


def _news(files: Sequence[_File], known: Mapping[Uri, SourceMark]) -> list[_File]:
    """Return the files that are not stored as they are."""
    marks = ((file, known.get(file.uri)) for file in files)
    return [file for file, mark in marks if mark is None or mark.digest != digest_of(file.body)]


def _portions(files: Sequence[_File]) -> Iterator[Sequence[_File]]:
    some: list[_File] = []
    weight = 0
    for file in files:
        if some and weight + len(file.body) > _HOP_BYTES:
            yield some
            some, weight = [], 0
        some.append(file)
        weight += len(file.body)
    if some:
        yield some
