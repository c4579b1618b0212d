"""When the house is tidied, in which steps, and what of it is safe."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise

import pytest

from contextfind.adapters.memory.blobs import MemoryBlobs
from contextfind.adapters.memory.store import MemoryRecordStore
from contextfind.domain.errors import NotFoundError, UnavailableError
from contextfind.domain.records import ContextType, Level
from contextfind.domain.uri import Uri
from contextfind.ingestion.housekeeping import Hours, Housekeeper, LooseBlobs, done
from contextfind.ports.housekeeping import Chore, Swept
from contextfind.ports.store import Commit, Committed, RecordDraft
from tests.builders import NOON
from tests.households import ANN, household

QUIET = 5.0
A = Uri("viking://resources/a.md")


@dataclass
class Day:
    """Time that passes only in sleep; `happen` is called with the time after each one.

    After `end` the sleeper is cancelled, as a worker is when the house closes.
    """

    end: float
    happen: Callable[[float], None] = lambda _: None
    now: float = 0.0
    writes: int = 0

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        if self.now > self.end:
            raise asyncio.CancelledError
        self.happen(self.now)

    @property
    def hours(self) -> Hours:
        return Hours(lambda: self.writes, QUIET, lambda: self.now, self.sleep)


@dataclass
class Work:
    """A chore of three steps that notes when each began, and whether it was ended properly."""

    day: Day
    steps: int = 3
    fault: UnavailableError | None = None
    begun: list[float] = field(default_factory=list)
    ended: int = 0

    async def _steps(self) -> AsyncGenerator[Swept, None]:
        try:
            for _ in range(self.steps):
                self.begun.append(self.day.now)
                if self.fault is not None:
                    raise self.fault
                yield Swept(1, 10)
        finally:
            self.ended += 1

    @property
    def chore(self) -> Chore:
        return Chore("things", self._steps)


async def live(day: Day, *work: Work) -> None:
    keeper = Housekeeper([one.chore for one in work], day.hours)
    with pytest.raises(asyncio.CancelledError):
        await keeper.run()


async def test_the_first_round_comes_after_a_quiet_time_also_without_a_write() -> None:
    work = Work(Day(end=60))
    await live(work.day, work)
    assert work.begun[0] == QUIET
    assert len(work.begun) == 3


async def test_without_a_write_the_next_round_comes_after_a_day() -> None:
    work = Work(Day(end=3 * 86_400))
    await live(work.day, work)
    rounds = work.begun[::3]
    assert len(rounds) == 3
    assert all(86_400 <= later - sooner < 87_000 for sooner, later in pairwise(rounds))


async def test_every_step_gives_way_to_those_who_are_answered() -> None:
    day = Day(end=60)
    gave: list[float] = []

    async def give_way() -> None:
        gave.append(day.now)

    work = Work(day)
    keeper = Housekeeper([work.chore], replace(day.hours, give_way=give_way))
    with pytest.raises(asyncio.CancelledError):
        await keeper.run()
    assert len(gave) == len(work.begun) == 3


async def test_a_write_is_followed_by_a_round_and_rounds_keep_a_distance() -> None:
    day = Day(end=3_600)

    def happen(now: float) -> None:
        day.writes = int(now // 60)  # one write a minute

    day.happen = happen
    work = Work(day)
    await live(day, work)
    rounds = work.begun[::3]
    assert len(rounds) > 5
    assert all(later - sooner >= 12 * QUIET for sooner, later in pairwise(rounds))


async def test_a_write_between_two_steps_makes_the_rest_wait_for_a_pause() -> None:
    day = Day(end=80)

    def happen(now: float) -> None:
        day.writes = 0 if now < QUIET else min(int((now - QUIET) / 0.01), 2_000)  # 20 s of writes

    day.happen = happen
    work = Work(day)
    await live(day, work)
    assert work.begun[0] == QUIET
    assert work.begun[1] >= QUIET + 20 + QUIET - 0.1
    assert len(work.begun) == 3


async def test_a_house_that_is_never_quiet_is_tidied_all_the_same() -> None:
    day = Day(end=4_000)

    def happen(now: float) -> None:
        day.writes = int(now * 100)

    day.happen = happen
    work = Work(day)
    await live(day, work)
    rounds = work.begun[::3]
    assert all(600 <= later - sooner <= 700 for sooner, later in pairwise([0.0, *rounds]))
    assert all(end - begin < 1 for begin, end in zip(rounds, work.begun[2::3], strict=True))
    assert len(rounds) == 6


async def test_what_refuses_is_left_for_later_and_the_others_go_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    day = Day(end=2 * 86_400)
    refusing, willing = Work(day, fault=UnavailableError("disk full")), Work(day)
    with caplog.at_level(logging.INFO):
        await live(day, refusing, willing)
    assert len(refusing.begun) == 2
    assert len(willing.begun) == 6
    lines = [record.getMessage() for record in caplog.records]
    assert (
        lines
        == [
            "tidying up is left for later: things: disk full",
            "tidied up: things (3, 30 bytes)",
        ]
        * 2
    )


async def test_cancelling_ends_a_chore_in_the_middle() -> None:
    day = Day(end=QUIET + 0.03)
    work = Work(day, steps=100)
    await live(day, work)
    assert len(work.begun) == 2
    assert work.ended == 1


async def test_all_at_once_without_pauses() -> None:
    assert await done(Work(Day(end=0)).chore) == Swept(3, 30)


async def write(store: MemoryRecordStore, digest: str, uri: Uri = A) -> None:
    draft = RecordDraft(uri, Level.DETAIL, ContextType.RESOURCE, "a", (), content=digest)
    await store.commit(Commit("acme", NOON, put=(draft,)))


async def test_only_blobs_that_no_record_names_go() -> None:
    store, blobs, day = MemoryRecordStore(), MemoryBlobs(), Day(end=60)
    digests = await blobs.put([b"first", b"second", b"never named"])
    await write(store, digests[0])
    await write(store, digests[1])
    chore = LooseBlobs(store, blobs, 1.0, day.sleep).chore
    assert sum([step async for step in chore.steps()], Swept()) == Swept(2, 16)
    assert await blobs.get(digests[1]) == b"second"
    for gone in (digests[0], digests[2]):
        with pytest.raises(NotFoundError):
            await blobs.get(gone)


@pytest.mark.parametrize("moment", [1, 2])
async def test_a_write_at_any_moment_of_the_sweep_keeps_its_blob(moment: int) -> None:
    """The steps: a part of the names, then the only shelf."""
    store, blobs, day = MemoryRecordStore(), MemoryBlobs(), Day(end=60)
    (digest,) = await blobs.put([b"other"])
    await write(store, digest, Uri("viking://resources/other.md"))
    (digest,) = await blobs.put([b"wanted again"])  # lies there already, and nobody names it
    steps = LooseBlobs(store, blobs, 1.0, day.sleep).chore.steps()
    for _ in range(moment):
        await anext(steps)
    await blobs.put([b"wanted again"])
    assert len([step async for step in steps]) == 2 - moment
    await write(store, digest)
    assert await blobs.get(digest) == b"wanted again"


async def test_a_reader_has_time_between_a_record_and_its_blob() -> None:
    store, blobs = MemoryRecordStore(), MemoryBlobs()
    (old, new) = await blobs.put([b"old", b"new"])
    await write(store, old)
    await write(store, new)  # a reader has just read the record before
    slept: list[bytes] = []

    async def sleep(seconds: float) -> None:
        assert seconds == 1.0
        slept.append(await blobs.get(old))

    assert [step async for step in LooseBlobs(store, blobs, 1.0, sleep).chore.steps()]
    assert slept == [b"old"]


class Watchful(MemoryRecordStore):
    """Looks at each commit that names a blob whether a watch that begins now would wait for it."""

    def __init__(self) -> None:
        super().__init__()
        self.blobs = MemoryBlobs()
        self.waited: list[bool] = []
        self.watches: list[asyncio.Task[None]] = []

    async def commit(self, commit: Commit) -> Committed:
        if any(draft.content for draft in commit.put):
            self.watches.append(asyncio.create_task(self.blobs.watch()))
            await asyncio.sleep(0)
            self.waited.append(not self.watches[-1].done())
        return await super().commit(commit)


async def test_every_commit_that_names_a_blob_is_inside_a_filing() -> None:
    store = Watchful()
    async with household(store=store) as house:
        store.blobs = house.blobs
        await house.writer.write(ANN, A, "# A\n\nA single file.\n", "create")
        await house.add({"b.md": "# B\n\nOne of a tree.\n", "d/c.md": "# C\n\nAnother.\n"})
        await asyncio.gather(*store.watches)
    assert len(store.waited) >= 4  # the file, the tree, and summaries
    assert all(store.waited)
