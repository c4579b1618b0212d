"""How much is read for a grep and a glob, and where the work is done."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

import pytest

from contextfind.adapters.memory.blobs import MemoryBlobs
from contextfind.adapters.memory.store import MemoryRecordStore
from contextfind.domain.errors import InvalidArgumentError, NotFoundError
from contextfind.domain.identity import Identity
from contextfind.domain.records import ContextType, Level, Record
from contextfind.domain.scope import Scope
from contextfind.domain.uri import Uri
from contextfind.ports.store import Commit, RecordDraft
from contextfind.retrieval import matching
from contextfind.retrieval.matching import Area, Matcher
from tests.builders import NOON

P = ParamSpec("P")
T = TypeVar("T")

ANN = Identity("acme", "ann")
DOCS = Uri("viking://resources/docs")
BLOBS = MemoryBlobs()
FILES = [DOCS.child(f"d{number}/{name}.md") for number in range(10) for name in "abc"]


class CountingStore(MemoryRecordStore):
    """Counts the records that it gave."""

    given = 0

    async def below(
        self,
        scope: Scope,
        directory: Uri,
        limit: int,
        depth: int | None = None,
        after: Uri | None = None,
    ) -> Sequence[Record]:
        found = await super().below(scope, directory, limit, depth, after)
        self.given += len(found)
        return found


class CountingExecutor(ThreadPoolExecutor):
    """Counts what it was given to do."""

    given = 0

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        self.given += 1
        return super().submit(fn, *args, **kwargs)


@pytest.fixture
def cpu() -> Iterator[CountingExecutor]:
    with CountingExecutor(1) as made:
        yield made


@pytest.fixture
async def store(monkeypatch: pytest.MonkeyPatch) -> CountingStore:
    """Ten directories without records, each with three files."""
    monkeypatch.setattr(matching, "_PAGE", 4)
    made = CountingStore()
    (digest,) = await BLOBS.put([b"a key\n"])
    put = [
        RecordDraft(uri, Level.DETAIL, ContextType.RESOURCE, "a", (), content=digest)
        for uri in FILES
    ]
    await made.commit(Commit("acme", NOON, put=put))
    return made


@pytest.fixture
def matcher(store: CountingStore, cpu: CountingExecutor) -> Matcher:
    return Matcher(store, BLOBS, cpu)


async def test_no_more_is_read_than_the_matches_of_the_answer(
    matcher: Matcher, store: CountingStore
) -> None:
    lines = await matcher.grep(ANN, Area(DOCS), "key", 5)
    assert [one.uri for one in lines.matches] == FILES[:5]
    assert lines.has_more
    assert store.given == 8
    paths = await matcher.glob(ANN, Area(DOCS), "**/c.md", 2)
    assert (paths.uris, paths.has_more) == ([FILES[2], FILES[5]], True)
    assert store.given == 8 + 12


async def test_all_pages_are_looked_through_and_no_deeper_than_asked(
    matcher: Matcher, store: CountingStore
) -> None:
    lines = await matcher.grep(ANN, Area(DOCS, depth=2), "key", 99)
    assert [one.uri for one in lines.matches] == FILES
    assert (lines.files, lines.has_more) == (30, False)
    assert (await matcher.glob(ANN, Area(DOCS), "**", 99)).uris == FILES
    store.given = 0
    assert (await matcher.grep(ANN, Area(DOCS, depth=1), "key", 99)).matches == []
    assert (await matcher.glob(ANN, Area(DOCS, depth=1), "**", 99)).uris == []
    assert store.given == 0
    with pytest.raises(NotFoundError):
        await matcher.glob(ANN, Area(DOCS.child("none"), depth=1), "**", 99)


async def test_an_answer_of_so_many_pages_says_that_there_may_be_more(
    matcher: Matcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matching, "_PAGES", 3)
    lines = await matcher.grep(ANN, Area(DOCS), "key", 99)
    assert (lines.files, lines.has_more) == (12, True)
    paths = await matcher.glob(ANN, Area(DOCS), "**", 99)
    assert (paths.uris, paths.has_more) == (FILES[:12], True)


async def test_patterns_are_made_aside(matcher: Matcher, cpu: CountingExecutor) -> None:
    with pytest.raises(InvalidArgumentError, match=r"^pattern is '\('"):
        await matcher.grep(ANN, Area(DOCS), "(", 9)
    assert cpu.given == 1
