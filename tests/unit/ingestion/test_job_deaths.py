"""Jobs whose process is gone while it is at them: begun again, but not for ever."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from contextfind.adapters.memory.jobs import MemoryJobStore
from contextfind.domain.identity import Identity
from contextfind.domain.uri import Uri
from contextfind.ingestion.errands import Course
from contextfind.ingestion.jobs import Jobs
from contextfind.ingestion.runs import MOST_BEGUN
from contextfind.ports import Job, JobState
from tests.builders import NOON

ANN = Identity("acme", "ann")
OVEN, FRIDGE = {"where": "viking://user/ann/oven"}, {"where": "viking://user/ann/fridge"}


@dataclass
class Kitchen:
    """An errand that takes as long as it is told to.

    resting: whether it is waited for something, rather than worked.
    """

    resting: bool = False
    hot: asyncio.Event = field(default_factory=asyncio.Event)
    begun: list[str] = field(default_factory=list)
    over: list[str] = field(default_factory=list)
    kind = "bake"

    def place(self, job: Job) -> Uri:
        return Uri.parse(str(job.spec["where"]))

    async def carry_out(self, job: Job, course: Course) -> Mapping[str, object]:
        await course.come()
        if not self.resting:
            async with course.at_work("baking"):
                self.begun.append(job.id)
                await self.hot.wait()
        await course.note("cooling")
        self.begun += [job.id] * self.resting
        await self.hot.wait()
        return {}

    async def ended(self, job: Job) -> None:
        self.over.append(job.id)


@dataclass
class Process:
    """What one process has; the store outlives it."""

    store: MemoryJobStore
    kitchen: Kitchen = field(default_factory=Kitchen)

    def __post_init__(self) -> None:
        self.jobs = Jobs(self.store, lambda: NOON, lambda: "abcdefg"[len(self.store._jobs)])
        self.jobs.take_on(self.kitchen)

    async def begun(self, *names: str) -> None:
        """Wait until it is at these jobs, and see that it is at no other."""
        async with asyncio.timeout(30):
            while len(self.kitchen.begun) < len(names):  # noqa: ASYNC110 - errands tell nobody
                await asyncio.sleep(0)
        for _ in range(20):
            await asyncio.sleep(0)
        assert sorted(self.kitchen.begun) == sorted(names)

    async def die(self) -> None:
        """Be gone without a word."""
        tasks = [one.task for one in self.jobs._running.values() if one.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


@pytest.fixture
def store() -> MemoryJobStore:
    return MemoryJobStore()


async def after_deaths(store: MemoryJobStore, deaths: int) -> Process:
    """Return a process that comes after some that have died at what was left."""
    for _ in range(deaths):
        process = Process(store)
        await process.jobs.resume()
        await process.begun("a")
        await process.die()
    return Process(store)


async def test_a_job_that_its_process_died_of_three_times_fails_and_the_next_one_comes(
    store: MemoryJobStore, caplog: pytest.LogCaptureFixture
) -> None:
    """R072: each task ends, also one that nothing can carry out."""
    first = Process(store)
    for _ in range(2):  # at one place: the second waits for the first
        await first.jobs.start(ANN, "bake", OVEN)
    await first.begun("a")
    await first.die()
    last = await after_deaths(store, MOST_BEGUN - 1)
    last.kitchen.hot.set()
    await last.jobs.resume()
    given_up, next_one = [await last.jobs.finished(ANN, name, 30) for name in "ab"]
    assert given_up.state is JobState.FAILED
    for told in ("3 times", "out of memory", "the log", "start it again with less"):
        assert told in (given_up.error or "")
    assert next_one.state is JobState.COMPLETED
    assert last.kitchen.begun == ["b"]
    assert sorted(last.kitchen.over) == ["a", "b"]
    assert "the process that was at task a (bake) is gone: 3 of 3 times" in caplog.text
    assert await store.unfinished() == []


async def test_a_process_that_is_stopped_is_not_held_against_its_jobs(
    store: MemoryJobStore,
) -> None:
    await Process(store).jobs.start(ANN, "bake", OVEN)
    for _ in range(MOST_BEGUN + 1):
        process = await after_deaths(store, 0)
        await process.jobs.resume()
        await process.begun("a")
        await process.jobs.aclose()
        assert [job.begun for job in await store.unfinished()] == [0]
    last = Process(store)
    last.kitchen.hot.set()
    await last.jobs.resume()
    assert (await last.jobs.finished(ANN, "a", 30)).state is JobState.COMPLETED


async def test_stopping_takes_back_only_the_beginning_of_this_process(
    store: MemoryJobStore,
) -> None:
    await Process(store).jobs.start(ANN, "bake", OVEN)
    process = await after_deaths(store, 2)
    await process.jobs.resume()
    await process.begun("a")
    assert [job.begun for job in await store.unfinished()] == [3]
    await process.jobs.aclose()
    assert [job.begun for job in await store.unfinished()] == [2]


async def test_who_only_waits_while_its_process_dies_waits_on(store: MemoryJobStore) -> None:
    await Process(store).jobs.start(ANN, "bake", OVEN)
    for _ in range(MOST_BEGUN + 1):
        process = Process(store, Kitchen(resting=True))
        await process.jobs.resume()
        await process.begun("a")
        await process.die()
    assert [job.begun for job in await store.unfinished()] == [0]


async def test_who_comes_farther_each_time_is_never_given_up(store: MemoryJobStore) -> None:
    await Process(store).jobs.start(ANN, "bake", OVEN)
    for baked in range(MOST_BEGUN + 2):
        process = await after_deaths(store, 0)
        await process.jobs.resume()
        await process.begun("a")
        await process.jobs._running["a"].note("baking", baked, 9)
        await process.die()
    assert [(job.begun, job.done) for job in await store.unfinished()] == [(1, MOST_BEGUN + 1)]


async def test_who_dies_at_the_same_place_each_time_is_given_up(store: MemoryJobStore) -> None:
    await Process(store).jobs.start(ANN, "bake", OVEN)
    for _ in range(MOST_BEGUN):
        process = await after_deaths(store, 0)
        await process.jobs.resume()
        await process.begun("a")
        for baked in range(5):
            await process.jobs._running["a"].note("baking", baked, 9)
        await process.die()
    last = Process(store)
    await last.jobs.resume()
    assert (await last.jobs.finished(ANN, "a", 30)).state is JobState.FAILED


async def test_who_was_beside_another_one_twice_is_at_work_without_it_then(
    store: MemoryJobStore,
) -> None:
    first = Process(store)
    for place in (OVEN, FRIDGE):
        await first.jobs.start(ANN, "bake", place)
    await first.begun("a", "b")
    await first.die()
    second = Process(store)
    await second.jobs.resume()
    await second.begun("a", "b")
    await second.die()
    third = Process(store)
    await third.jobs.resume()
    await third.begun("a")
    beside = await third.jobs.start(ANN, "bake", {"where": "viking://user/ann/table"})
    await third.begun("a", beside.id)  # one that nothing is held against waits for nobody
    await third.die()
    last = Process(store)
    last.kitchen.hot.set()
    await last.jobs.resume()
    states = {name: (await last.jobs.finished(ANN, name, 30)).state for name in ("a", "b")}
    assert states == {"a": JobState.FAILED, "b": JobState.COMPLETED}
