"""Finding by letter in the tree as it is stored: lines that match a pattern, addresses that do."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from contextfind.domain.identity import Identity
from contextfind.domain.records import Record
from contextfind.domain.scope import Scope, visible_to
from contextfind.domain.uri import ROOT, Uri
from contextfind.ports import BlobStore, RecordStore
from contextfind.ports.moves import missing
from contextfind.retrieval.patterns import (
    FoundLine,
    Pattern,
    line_pattern,
    lines_with,
    path_pattern,
)

T = TypeVar("T")

MOST = 10_000  # matches of one answer
_PAGE = 1_000  # files and directories in memory at once; read in some 10 ms
_PAGES = 100  # of one answer
_BATCH_BYTES = 4_000_000  # bodies in memory at once; searched in some 10 ms
_BATCH_FILES = 64
_AT_ONCE = 2  # callers whose files are read at a time; the others wait between batches of these


@dataclass(frozen=True, slots=True)
class Area:
    """Where to look: below an address, but not below another one, so many levels deep, at what has tags."""

    uri: Uri
    without: Uri | None = None
    depth: int | None = None
    tags: tuple[str, ...] = ()

    def holds(self, record: Record) -> bool:
        """Whether a record at or below the address is looked at."""
        below = len(record.uri.segments) - len(self.uri.segments)
        return (
            (self.without is None or not record.uri.is_under(self.without))
            and (self.depth is None or below <= self.depth)
            and set(self.tags) <= set(record.tags)
        )


@dataclass(frozen=True, slots=True)
class LineMatch:
    """A line that matches, and the file it stands in."""

    uri: Uri
    line: FoundLine


@dataclass(frozen=True, slots=True)
class Lines:
    """Matches by address and line; how many files were read, and whether there may be more."""

    matches: Sequence[LineMatch]
    files: int
    has_more: bool


@dataclass(frozen=True, slots=True)
class Paths:
    """Addresses in order, and whether there may be more."""

    uris: Sequence[Uri]
    has_more: bool


class Matcher:
    """Looks through what an identity may see; needs no index, and reads nothing into one.

    cpu: where texts are searched.
    """

    def __init__(self, store: RecordStore, blobs: BlobStore, cpu: Executor) -> None:
        self._store = store
        self._blobs = blobs
        self._cpu = cpu
        self._turn = asyncio.Semaphore(_AT_ONCE)

    async def grep(
        self, identity: Identity, area: Area, text: str, limit: int, *, ignore_case: bool = False
    ) -> Lines:
        """Return the first lines that match a regular expression.

        Raises:
            NotFoundError: nothing lies there. InvalidArgumentError: the pattern cannot be read.
            PermissionDeniedError: it is another user's tree.

        """
        pattern = await self._aside(partial(line_pattern, text, ignore_case=ignore_case))
        matches: list[LineMatch] = []
        pages = read = 0
        async with aclosing(self._pages(identity, area)) as below:
            async for page in below:
                pages += 1
                files = [one for one in page if one.is_leaf and one.content and area.holds(one)]
                for batch in _batches(files):
                    async with self._turn:
                        bodies = await self._blobs.read([record.content for record in batch])
                        left = limit + 1 - len(matches)
                        work = partial(_search, pattern, batch, bodies, left)
                        found, searched = await self._aside(work)
                    matches += found
                    read += searched
                    if len(matches) > limit:
                        return Lines(matches[:limit], read, has_more=True)
        return Lines(matches, read, pages == _PAGES)

    async def glob(self, identity: Identity, area: Area, text: str, limit: int) -> Paths:
        """Return the addresses of the first files and directories below whose path looks like this.

        Raises:
            NotFoundError: nothing lies there. InvalidArgumentError: the pattern cannot be read.
            PermissionDeniedError: it is another user's tree.

        """
        pattern = path_pattern(text.removeprefix(area.uri.folder))
        uris: list[Uri] = []
        pages = 0
        async with aclosing(self._pages(identity, area)) as below:
            async for page in below:
                pages += 1
                uris += await self._aside(partial(_fitting, pattern, area, page))
                if len(uris) > limit:
                    break
        return Paths(uris[:limit], pages == _PAGES or len(uris) > limit)

    async def _aside(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._cpu, work)

    async def _pages(
        self, identity: Identity, area: Area
    ) -> AsyncGenerator[Sequence[Record], None]:
        """Give the file at an address, or what lies below, by address; `_PAGES` pages when that is not all."""
        scope = visible_to(identity, [area.uri])
        here = await self._store.at(scope, area.uri)
        if here and here[0].is_leaf:
            yield here
            return
        whole = Scope(scope.account, scope.user, (ROOT,))
        after: Uri | None = None
        for _ in range(_PAGES):
            page = await self._store.below(whole, area.uri, _PAGE, area.depth, after)
            if not (page or here or after):
                await self._check_there(scope, area.uri)
            if page:
                yield page
            if len(page) < _PAGE:
                return
            after = page[-1].uri

    async def _check_there(self, scope: Scope, uri: Uri) -> None:
        top = uri.scope_root in (None, uri)  # is there before anything lies in it
        if not top and not (await self._store.known(scope, [uri]))[0]:
            raise missing(uri)


def _batches(files: Sequence[Record]) -> Iterator[Sequence[Record]]:
    batch: list[Record] = []
    size = 0
    for record in files:
        if batch and (len(batch) == _BATCH_FILES or size + record.size > _BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(record)
        size += record.size
    if batch:
        yield batch


def _search(
    pattern: Pattern, files: Sequence[Record], bodies: Sequence[bytes | None], most: int
) -> tuple[list[LineMatch], int]:
    """Return at most `most` lines that match, and how many files were searched for them."""
    found: list[LineMatch] = []
    searched = 0
    for record, body in zip(files, bodies, strict=True):
        if len(found) >= most:
            break
        if body is not None:  # a damaged file has no lines
            searched += 1
            left = most - len(found)
            found += [LineMatch(record.uri, line) for line in lines_with(pattern, body, left)]
    return found, searched


def _fitting(pattern: Pattern, area: Area, records: Sequence[Record]) -> list[Uri]:
    start = len(area.uri.folder)
    return [
        record.uri
        for record in records
        if area.holds(record) and pattern.fullmatch(record.uri.text[start:].encode())
    ]
