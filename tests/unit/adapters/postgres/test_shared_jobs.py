"""Jobs of several processes on one schema: each is carried out by one of them, and by another when that is gone."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace

import psycopg
import pytest

from contextfind.adapters.postgres.database import Database
from contextfind.adapters.postgres.jobs import PostgresJobStore
from contextfind.adapters.postgres.presence import lock_class
from contextfind.domain.errors import TakenOverError
from contextfind.domain.identity import Identity
from contextfind.domain.uri import Uri
from contextfind.ingestion import jobs as runner
from contextfind.ingestion import runs
from contextfind.ingestion.errands import Course
from contextfind.ingestion.jobs import Jobs
from contextfind.ports.jobs import Job, JobState
from tests import databases
from tests.builders import NOON

ANN = Identity("acme", "ann")
OVEN = {"where": "viking://user/ann/oven"}
_ids = (f"job{number}" for number in itertools.count())


@dataclass
class Baking:
    """An errand that waits until the oven is hot."""

    kind = "bake"
    hot: asyncio.Event = field(default_factory=asyncio.Event)
    begun: list[str] = field(default_factory=list)
    over: list[tuple[str, JobState]] = field(default_factory=list)

    def place(self, job: Job) -> Uri:
        return Uri.parse(str(job.spec["where"]))

    async def carry_out(self, job: Job, course: Course) -> Mapping[str, object]:
        await course.come()
        async with course.at_work("baking"):
            self.begun.append(job.id)
            await self.hot.wait()
        return {"loaves": 2}

    async def ended(self, job: Job) -> None:
        self.over.append((job.id, job.state))


@dataclass
class Process:
    """What one process has."""

    database: Database
    store: PostgresJobStore
    jobs: Jobs
    baking: Baking

    async def die(self) -> None:
        """Be gone without a word; what ran here stays as it is."""
        await self.database.aclose()


Starter = Callable[[], Awaitable[Process]]


@pytest.fixture
async def start(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Starter]:
    """Return what starts one more process on the same schema."""
    for module in (runner, runs):
        monkeypatch.setattr(module, "LOOK_SECONDS", 0.02)
    place = databases.place()
    async with AsyncExitStack() as stack:

        async def one_more() -> Process:
            database = await Database.open(place)
            stack.push_async_callback(database.aclose)
            store = PostgresJobStore(database)
            jobs, baking = Jobs(store, lambda: NOON, lambda: next(_ids)), Baking()
            stack.push_async_callback(jobs.aclose)
            jobs.take_on(baking)
            await jobs.resume()
            return Process(database, store, jobs, baking)

        yield one_more
    databases.drop(place.schema)


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not true():  # noqa: ASYNC110 - what is asked is in the database
            await asyncio.sleep(0.01)


async def test_a_job_is_waited_for_and_seen_in_another_process(start: Starter) -> None:
    here, there = await start(), await start()
    job = await here.jobs.start(ANN, "bake", OVEN)
    assert (await there.jobs.get(ANN, job.id)).state in (JobState.PENDING, JobState.RUNNING)
    assert [one.id for one in await there.jobs.running(ANN)] == [job.id]
    assert await there.jobs.unfinished("acme") == 1
    assert await there.jobs.at_work("acme", Uri("viking://user/ann"))
    here.baking.hot.set()
    ended = await there.jobs.finished(ANN, job.id, 30)
    assert (ended.state, ended.result) == (JobState.COMPLETED, {"loaves": 2})
    assert (there.baking.begun, there.baking.over) == ([], [])


async def test_a_job_is_cancelled_from_another_process(start: Starter) -> None:
    here, there = await start(), await start()
    job = await here.jobs.start(ANN, "bake", OVEN)
    assert (await there.jobs.cancel(ANN, job.id)).state is JobState.CANCELLED
    assert here.baking.over == [(job.id, JobState.CANCELLED)]


async def test_the_jobs_of_a_process_that_is_gone_go_on_in_another(start: Starter) -> None:
    here, there = await start(), await start()
    there.baking.hot.set()
    job = await here.jobs.start(ANN, "bake", OVEN)
    await here.die()
    assert (await there.jobs.finished(ANN, job.id, 30)).state is JobState.COMPLETED
    assert there.baking.over == [(job.id, JobState.COMPLETED)]


async def test_a_job_that_three_processes_died_of_fails_in_the_fourth(start: Starter) -> None:
    processes = [await start() for _ in range(4)]
    deadly, kept = [await processes[0].jobs.start(ANN, "bake", OVEN) for _ in range(2)]
    for _ in range(3):
        await until(lambda: any(one.baking.begun for one in processes))
        dying = next(one for one in processes if one.baking.begun)
        assert dying.baking.begun == [deadly.id]
        processes.remove(dying)
        await dying.die()
    (left,) = processes
    left.baking.hot.set()
    await until(lambda: len(left.baking.over) == 2)
    ended = [await left.store.get(ANN, job.id) for job in (deadly, kept)]
    assert [one.state for one in ended if one] == [JobState.FAILED, JobState.COMPLETED]
    assert left.baking.begun == [kept.id]


async def test_a_process_that_is_stopped_leaves_its_jobs_as_if_it_had_not_begun_them(
    start: Starter,
) -> None:
    here, there = await start(), await start()
    job = await here.jobs.start(ANN, "bake", OVEN)
    await until(lambda: here.baking.begun == [job.id])
    counts = [one.begun for one in await there.store.unfinished()]
    await here.jobs.aclose()
    counts += [one.begun for one in await there.store.unfinished()]
    assert counts == [1, 0]


async def test_a_job_that_was_saved_and_never_begun_holds_nobody_up(start: Starter) -> None:
    here = await start()
    here.baking.hot.set()
    starting = asyncio.create_task(here.jobs.start(ANN, "bake", OVEN))
    while not starting.done() and not await here.store.own():
        await asyncio.sleep(0)
        starting.cancel()  # its caller has gone; what the database does is done to its end
    await asyncio.gather(starting, return_exceptions=True)
    later = await here.jobs.start(ANN, "bake", OVEN)
    assert (await here.jobs.finished(ANN, later.id, 30)).state is JobState.COMPLETED


async def test_of_many_that_look_at_once_one_gets_each_job(start: Starter) -> None:
    gone, *others = [await start() for _ in range(4)]
    for other in others:
        await other.jobs.aclose()  # here nobody looks by himself
    for number in range(20):
        await gone.store.save(Job(f"left{number}", ANN, "bake", JobState.RUNNING, NOON, NOON))
    assert [await other.store.take_over() for other in others] == [[], [], []]
    await gone.die()
    taken: list[str] = []
    async with asyncio.timeout(30):
        while len(taken) < 20:
            for found in await asyncio.gather(*(other.store.take_over() for other in others)):
                taken += [job.id for job in found]
    assert sorted(taken) == sorted(f"left{number}" for number in range(20))


async def test_at_one_place_they_come_in_the_order_of_their_start(start: Starter) -> None:
    here, there = await start(), await start()
    first = await here.jobs.start(ANN, "bake", OVEN)
    await until(lambda: here.baking.begun == [first.id])
    second = await there.jobs.start(ANN, "bake", {"where": "viking://user/ann/oven/door"})
    third = await here.jobs.start(ANN, "bake", OVEN)
    aside = await there.jobs.start(ANN, "bake", {"where": "viking://user/ann/fridge"})
    await until(lambda: there.baking.begun == [aside.id])
    here.baking.hot.set()
    await until(lambda: there.baking.begun == [aside.id, second.id])
    assert here.baking.begun == [first.id]
    there.baking.hot.set()
    assert (await there.jobs.finished(ANN, third.id, 30)).state is JobState.COMPLETED


async def test_who_seemed_to_be_gone_lets_go_what_another_has_taken_over(start: Starter) -> None:
    here, there = await start(), await start()
    job = await here.jobs.start(ANN, "bake", OVEN)
    await until(lambda: here.baking.begun == [job.id])
    with psycopg.connect(databases.server(), autocommit=True) as admin:  # its connection breaks
        admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE classid = %s::bigint::oid AND objid = %s",
            (lock_class(here.database.place.schema), here.database.presence.worker),
        )
    await until(lambda: there.baking.begun == [job.id])
    running = replace(job, state=JobState.RUNNING)
    with pytest.raises(TakenOverError):
        await here.store.save(running)
    await until(lambda: not here.jobs.under_way())
    there.baking.hot.set()
    assert (await here.jobs.finished(ANN, job.id, 30)).state is JobState.COMPLETED
    assert here.baking.over == []
