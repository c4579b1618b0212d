import asyncio
from collections.abc import Sequence

import pytest

from contextfind.adapters.memory.index import MemoryIndex
from contextfind.adapters.memory.store import MemoryRecordStore
from contextfind.domain.errors import UnavailableError
from contextfind.domain.records import ContextType, Level
from contextfind.domain.uri import Uri
from contextfind.ingestion.follower import Follower
from contextfind.ingestion.pulse import Pulse
from contextfind.ports import Change, Commit, RecordDraft
from tests.builders import NOON, make_passages
from tests.fakes import SimpleTokenizer


class GatedIndex(MemoryIndex):
    """Refuses as long as the gate is shut."""

    def __init__(self) -> None:
        super().__init__(SimpleTokenizer())
        self.gate = asyncio.Event()

    async def follow(self, changes: Sequence[Change]) -> None:
        if not self.gate.is_set():
            raise UnavailableError("disk full")
        await super().follow(changes)


async def put(store: MemoryRecordStore, name: str) -> None:
    uri = Uri.parse(f"viking://resources/{name}")
    draft = RecordDraft(uri, Level.DETAIL, ContextType.RESOURCE, "a", make_passages("a"))
    await store.commit(Commit("acme", NOON, put=[draft]))


async def until(follow: Follower, standing: str) -> None:
    async with asyncio.timeout(20):
        while follow.standing != standing:  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(0.005)


async def test_an_index_that_does_not_follow_says_why_until_it_does() -> None:
    store, index = MemoryRecordStore(), GatedIndex()
    await put(store, "a.md")
    follow = Follower(store, index, Pulse())
    task = asyncio.create_task(follow.run())
    await until(follow, "does not follow: disk full")
    with pytest.raises(UnavailableError, match="does not follow: disk full"):
        await follow.ready(0.01)
    index.gate.set()
    await until(follow, "ok")
    await follow.ready(0)
    task.cancel()


async def test_before_it_has_caught_up_it_is_being_rebuilt_and_later_changes_do_not_count() -> None:
    store, index = MemoryRecordStore(), GatedIndex()
    index.gate.set()
    follow = Follower(store, index, Pulse())
    assert follow.standing == "being rebuilt: at 0 of 0 changes"
    task = asyncio.create_task(follow.run())
    await until(follow, "ok")
    await put(store, "b.md")
    assert follow.standing == "ok"
    task.cancel()


class SlowIndex(MemoryIndex):
    """Takes its time, and counts."""

    def __init__(self) -> None:
        super().__init__(SimpleTokenizer())
        self.followed: list[int] = []

    async def follow(self, changes: Sequence[Change]) -> None:
        await asyncio.sleep(0.4)
        self.followed.append(len(changes))
        await super().follow(changes)


async def test_while_much_is_written_it_rests_as_long_as_it_worked_and_follows_together() -> None:
    store, index = MemoryRecordStore(), SlowIndex()
    follow = Follower(store, index, Pulse())
    task = asyncio.create_task(follow.run())
    await asyncio.sleep(0.01)
    async with asyncio.timeout(20):
        for number in range(3):
            await put(store, f"{number}.md")
            while not index.followed:  # noqa: ASYNC110
                await asyncio.sleep(0.005)
        while await index.position() < await store.position():  # noqa: ASYNC110
            await asyncio.sleep(0.005)
    assert index.followed == [1, 2]  # the two that came in the rest went together
    task.cancel()
