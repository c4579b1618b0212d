import asyncio
from collections.abc import Sequence

import numpy as np
import pytest

from contextfind.adapters.memory.index import MemoryIndex
from contextfind.adapters.memory.store import MemoryRecordStore
from contextfind.domain.errors import DamagedError, InvalidArgumentError, UnavailableError
from contextfind.domain.records import ContextType, Level
from contextfind.domain.uri import Uri
from contextfind.ingestion import follower
from contextfind.ingestion.follower import Follower, Shared
from contextfind.ingestion.pulse import Pulse
from contextfind.ports import Change, Commit, RecordDraft
from contextfind.ports.company import Solitude
from contextfind.ports.reach import Reach
from tests.builders import DIMENSION, NOON, make_passages, unit
from tests.fakes import SimpleTokenizer


class GatedIndex(MemoryIndex):
    """Refuses as long as the gate is shut."""

    def __init__(self) -> None:
        super().__init__(SimpleTokenizer())
        self.gate = asyncio.Event()
        self.beyond = 0  # changes that it claims to know and the store does not

    async def position(self) -> int:
        return await super().position() + self.beyond

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


class PickyIndex(MemoryIndex):
    """Refuses vectors that are not finite, as a real one does."""

    def __init__(self) -> None:
        super().__init__(SimpleTokenizer())
        self.refused = 0

    async def follow(self, changes: Sequence[Change]) -> None:
        if any(c.vectors is not None and not np.isfinite(c.vectors).all() for c in changes):
            self.refused += 1
            raise InvalidArgumentError("not finite")
        await super().follow(changes)


async def test_damaged_vectors_are_made_anew_and_hold_up_nobody_else() -> None:
    store, index = MemoryRecordStore(), PickyIndex()
    for name in ("a.md", "b.md", "c.md"):
        uri = Uri.parse(f"viking://resources/{name}")
        draft = RecordDraft(uri, Level.DETAIL, ContextType.RESOURCE, "a", make_passages(name))
        await store.commit(Commit("acme", NOON, put=[draft]))
    rows = [unit(1), np.full(DIMENSION, np.nan, np.float32), unit(3)]
    texts = await store.pending(9)
    await store.add_vectors([(t.digest, r) for t, r in zip(texts, rows, strict=True)])
    follow = Follower(store, index, Pulse())
    task = asyncio.create_task(follow.run())
    async with asyncio.timeout(20):
        while not await store.pending(9) or await index.position() < await store.position():  # noqa: ASYNC110 - no event to wait for
            await asyncio.sleep(0.005)
    assert [text.digest for text in await store.pending(9)] == [texts[1].digest]
    assert follow.standing == "ok"
    await store.add_vectors([(texts[1].digest, rows[1])])  # an embedder that does it again
    async with asyncio.timeout(20):
        while await index.position() < await store.position():  # noqa: ASYNC110 - no event to wait for
            await asyncio.sleep(0.005)
    assert await store.pending(9) == []
    task.cancel()


class DamagedStore(MemoryRecordStore):
    """Its log cannot be read."""

    async def changes(self, after: int, limit: int) -> Sequence[Change]:
        raise DamagedError(f"nothing to read after {after}, not even {limit}")


async def test_a_log_that_cannot_be_read_locks_nobody_out_of_what_is_in_the_index() -> None:
    store = DamagedStore()
    await put(store, "a.md")
    follow = Follower(store, MemoryIndex(SimpleTokenizer()), Pulse())
    task = asyncio.create_task(follow.run())
    await follow.ready(20)
    assert follow.standing.startswith("does not follow: nothing to read")
    task.cancel()


async def nothing(goes_on: follower.GoesOn) -> None:
    """Build nothing."""


def shared(store: MemoryRecordStore, company: Solitude, anew: follower.Anew = nothing) -> Shared:
    async def reach() -> Reach:
        return Reach(0, await store.position())

    return Shared(company, reach, anew)


class Bystanders(Solitude):
    """Others lead until it is said that nobody else does."""

    leading = False

    async def leads(self) -> bool:
        return self.leading


async def test_an_index_of_several_processes_is_followed_by_the_one_that_leads() -> None:
    store, index, company, pulse = MemoryRecordStore(), GatedIndex(), Bystanders(), Pulse()
    index.gate.set()
    await put(store, "a.md")
    follow = Follower(store, index, pulse, shared=shared(store, company))
    task = asyncio.create_task(follow.run())
    await until(follow, "being rebuilt: at 0 of 1 changes")
    await asyncio.sleep(0.1)
    assert await index.position() == 0  # it only watches
    await index.follow(await store.changes(0, 10))  # as the other process does
    await until(follow, "ok")
    beats = pulse.beats
    await put(store, "b.md")
    company.leading = True  # the other one is gone
    await pulse.wait(20, beats)
    assert await index.position() == 2
    task.cancel()


class Subordinate(Solitude):
    """Never leads, and whoever does is not heard of."""

    async def leads(self) -> bool:
        return False


async def test_an_index_that_nobody_brings_on_is_followed_by_who_does_not_lead(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(follower, "_PATIENCE_SECONDS", 0.3)
    loop = asyncio.get_running_loop()
    store, index = MemoryRecordStore(), MemoryIndex(SimpleTokenizer())
    follow = Follower(store, index, Pulse(), shared=shared(store, Subordinate()))
    task = asyncio.create_task(follow.run())
    began = loop.time()
    for name in ("a.md", "b.md"):  # and again, after it has come up once
        await put(store, name)
        async with asyncio.timeout(20):
            while await index.position() < await store.position():  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.01)
    assert loop.time() - began > 0.6  # it is left to the one that leads first, each time
    task.cancel()


async def test_nothing_is_found_in_a_shared_index_of_a_log_that_is_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(follower, "_LOOK_SECONDS", 0.02)
    store, index, finished = MemoryRecordStore(), GatedIndex(), asyncio.Event()
    index.gate.set()
    await put(store, "a.md")

    async def anew(goes_on: follower.GoesOn) -> None:
        await finished.wait()
        index.beyond = 0
        assert await goes_on()

    follow = Follower(store, index, Pulse(), shared=shared(store, Subordinate(), anew))
    task = asyncio.create_task(follow.run())
    await index.follow(await store.changes(0, 10))
    await until(follow, "ok")
    index.beyond = 7  # while nothing is written
    said = "the index stands at change 8, which the database does not know: it is built anew"
    await until(follow, said)
    with pytest.raises(UnavailableError, match="it is built anew"):
        await follow.ready(0.01)
    finished.set()
    await until(follow, "ok")
    await follow.ready(0)
    task.cancel()


async def test_who_cannot_build_it_anew_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follower, "_RETRY_SECONDS", 0.01)
    store, index = MemoryRecordStore(), GatedIndex()
    index.beyond = 7
    follow = Follower(store, index, Pulse(), shared=shared(store, Subordinate()))
    task = asyncio.create_task(follow.run())
    async with asyncio.timeout(20):
        while "contextfind reindex" not in follow.standing:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.005)
    with pytest.raises(UnavailableError):
        await follow.ready(0.05)
    task.cancel()


async def test_what_keeps_an_index_from_following_is_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store, index = MemoryRecordStore(), GatedIndex()
    await put(store, "a.md")
    follow = Follower(store, index, Pulse())
    task = asyncio.create_task(follow.run())
    await until(follow, "does not follow: disk full")
    await asyncio.sleep(1.2)  # it has tried once more
    assert caplog.text.count("disk full") == 1
    task.cancel()
