import pickle
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

import pytest

from contextfind.adapters.memory.blobs import MemoryBlobs
from contextfind.adapters.memory.sources import MemorySource
from contextfind.adapters.memory.store import MemoryRecordStore
from contextfind.ingestion.batches import BatchReader, Work, batches
from contextfind.ingestion.drafting import digest_of
from contextfind.ingestion.passages import PassageRules
from contextfind.ingestion.writing import Desk
from contextfind.ports import SourceEntry, SourceMark
from tests.builders import NOON
from tests.households import DOCS

P = ParamSpec("P")
T = TypeVar("T")


class Elsewhere(ThreadPoolExecutor):
    """An executor that treats work as another process would: it goes there and back as bytes."""

    def __init__(self) -> None:
        super().__init__(1)
        self.carried = 0

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        self.carried += 1
        work = pickle.dumps((fn, args, kwargs))

        def there() -> T:
            function, given, named = pickle.loads(work)  # noqa: S301 - our own bytes
            back: T = pickle.loads(pickle.dumps(function(*given, **named)))  # noqa: S301
            return back

        return super().submit(there)


@pytest.fixture
def bulk() -> Elsewhere:
    return Elsewhere()


@pytest.fixture
def reader(bulk: Elsewhere) -> BatchReader:
    here = ThreadPoolExecutor(1)
    desk = Desk(MemoryRecordStore(), MemoryBlobs(), lambda: NOON, here, PassageRules(), bulk)
    return BatchReader(desk, max_file_bytes=1_000)


FILES = {
    "a.md": b"# A\n\nThe old text.",
    "b.md": b"# B\n\nThe same text.",
    "c.bin": bytes(range(256)),
    "d.md": b"x" * 2_000,
}


def work(files: int) -> Work:
    known = {DOCS.child("b.md"): SourceMark(digest_of(FILES["b.md"]), "")}
    return Work(MemorySource(FILES, "docs"), DOCS, None, "here docs", known, files)


def entries() -> list[SourceEntry]:
    return [SourceEntry(path, len(body)) for path, body in FILES.items()]


async def test_a_batch_tells_what_became_of_each_file(reader: BatchReader) -> None:
    taken = await reader.read(work(4), entries())
    assert [path for path, _ in taken.drafted] == ["a.md"]
    assert (taken.files, taken.unchanged, taken.failed) == (4, 1, [])
    assert [path for path, _ in taken.skipped] == ["d.md", "c.bin"]
    assert taken.seen == {DOCS.child("a.md"), DOCS.child("b.md")}


async def test_many_files_are_drafted_elsewhere_with_the_same_outcome(
    reader: BatchReader, bulk: Elsewhere
) -> None:
    few = await reader.read(work(4), entries())
    assert bulk.carried == 0
    many = await reader.read(work(400), entries())
    assert bulk.carried == 1
    assert many == few


def test_batches_are_small_in_files_and_in_bytes() -> None:
    small = [SourceEntry(f"{n:03}.md", 10) for n in range(70)]
    assert [len(batch) for batch in batches(small)] == [16, 16, 16, 16, 6]
    large = [SourceEntry(f"{n}.md", 9_000_000) for n in range(3)]
    assert [len(batch) for batch in batches(large)] == [1, 1, 1]
    assert list(batches([])) == []
