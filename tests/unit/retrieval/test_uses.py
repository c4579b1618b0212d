import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from contextfind.adapters.memory.blobs import MemoryBlobs
from contextfind.adapters.memory.store import MemoryRecordStore
from contextfind.domain.errors import NotFoundError, UnavailableError
from contextfind.domain.identity import Identity
from contextfind.domain.records import ContextType, Level, RecordId
from contextfind.domain.scope import visible_to
from contextfind.domain.uri import Uri
from contextfind.ports import Commit, RecordDraft
from contextfind.retrieval import uses as module
from contextfind.retrieval.browsing import Browser
from contextfind.retrieval.uses import Uses
from tests.builders import NOON

ANN = Identity("acme", "ann")
OPS = Uri("viking://resources/ops")
PAGE = Uri("viking://resources/ops/page.md")
ONE, TWO = RecordId(1), RecordId(2)


class TellingStore(MemoryRecordStore):
    """Writes down each `touch`; waits in it while `gate` is closed, refuses it while `down`."""

    def __init__(self) -> None:
        super().__init__()
        self.touched: list[list[RecordId]] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.down = False

    async def touch(self, ids: Sequence[RecordId]) -> None:
        await self.gate.wait()
        if self.down:
            raise UnavailableError("the disk is full")
        self.touched.append(list(ids))
        await super().touch(ids)


@asynccontextmanager
async def running(uses: Uses) -> AsyncIterator[None]:
    task = asyncio.create_task(uses.run())
    try:
        yield
    finally:
        assert not task.done()
        task.cancel()


async def until_touched(store: TellingStore, batches: int) -> None:
    async with asyncio.timeout(20):
        while len(store.touched) < batches:  # noqa: ASYNC110 - a store has no bell for this
            await asyncio.sleep(0.001)


async def test_uses_are_written_in_batches_each_as_often_as_it_happened() -> None:
    store = TellingStore()
    uses = Uses(store, pause=0.01)
    async with running(uses):
        for record in (ONE, TWO, ONE):
            uses.count(record)
        await until_touched(store, 1)
        uses.count(TWO)
        await until_touched(store, 2)
    assert store.touched == [[ONE, TWO, ONE], [TWO]]


async def test_the_store_is_left_alone_while_nothing_is_used() -> None:
    store = TellingStore()
    async with running(Uses(store, pause=0.0)):
        await asyncio.sleep(0.02)
    assert store.touched == []


async def test_flush_writes_what_still_waits() -> None:
    store = TellingStore()
    uses = Uses(store)
    uses.count(ONE)
    await uses.flush()
    await uses.flush()
    assert store.touched == [[ONE]]


async def test_a_store_that_refuses_costs_these_counts_only() -> None:
    store = TellingStore()
    uses = Uses(store, pause=0.0)
    store.down = True
    uses.count(ONE)
    await uses.flush()
    store.down = False
    async with running(uses):
        uses.count(TWO)
        await until_touched(store, 1)
    assert store.touched == [[TWO]]


async def test_while_the_store_is_stuck_counting_is_bounded_and_waits_for_nothing() -> None:
    store = TellingStore()
    store.gate.clear()
    uses = Uses(store, pause=0.0)
    most = module._MOST_WAITING
    async with running(uses):
        for _ in range(2 * most):
            uses.count(ONE)
        await asyncio.sleep(0.01)
        store.gate.set()
        await until_touched(store, 1)
    assert [len(batch) for batch in store.touched] == [most]


@pytest.fixture
async def store() -> TellingStore:
    built = TellingStore()
    summaries = [
        RecordDraft(OPS, level, ContextType.RESOURCE, f"about {level}", ())
        for level in (Level.ABSTRACT, Level.OVERVIEW)
    ]
    page = RecordDraft(PAGE, Level.DETAIL, ContextType.RESOURCE, "a page", ())
    await built.commit(Commit("acme", NOON, put=[*summaries, page]))
    return built


async def counted(store: TellingStore) -> dict[tuple[str, int], int]:
    """Return how often each record was used, those that never were left out."""
    records = [r for uri in (OPS, PAGE) for r in await store.at(visible_to(ANN, None), uri)]
    return {(r.name, r.level.value): r.active_count for r in records if r.active_count}


@pytest.mark.parametrize(
    ("method", "uri", "used"),
    [
        ("read", PAGE, ("page.md", 2)),
        ("abstract", PAGE, ("page.md", 2)),
        ("overview", PAGE, ("ops", 1)),
        ("read", Uri(f"{OPS.text}/.abstract.md"), ("ops", 0)),
        ("read", Uri(f"{OPS.text}/.overview.md"), ("ops", 1)),
        ("abstract", OPS, ("ops", 0)),
        ("overview", OPS, ("ops", 1)),
    ],
)
async def test_a_read_counts_as_a_use_of_the_record_that_was_read(
    store: TellingStore, method: str, uri: Uri, used: tuple[str, int]
) -> None:
    uses = Uses(store)
    await getattr(Browser(store, MemoryBlobs(), uses.count), method)(ANN, uri)
    await uses.flush()
    assert await counted(store) == {used: 1}


async def test_listings_and_failed_reads_count_nothing(store: TellingStore) -> None:
    uses = Uses(store)
    browser = Browser(store, MemoryBlobs(), uses.count)
    await browser.list(ANN, OPS, 10)
    await browser.tree(ANN, OPS, 9, 10)
    await browser.stat(ANN, PAGE)
    with pytest.raises(NotFoundError):
        await browser.read(ANN, Uri("viking://resources/ops/nope.md"))
    await uses.flush()
    assert store.touched == []


async def test_counting_moves_neither_the_times_nor_the_log(store: TellingStore) -> None:
    position, (before,) = await store.position(), await store.at(visible_to(ANN, None), PAGE)
    uses = Uses(store)
    await Browser(store, MemoryBlobs(), uses.count).read(ANN, PAGE)
    await uses.flush()
    (after,) = await store.at(visible_to(ANN, None), PAGE)
    assert after.active_count == before.active_count + 1
    assert after.updated_at == before.updated_at
    assert await store.position() == position
