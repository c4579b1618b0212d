"""What every job store promises."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from contextfind.adapters.memory.jobs import MemoryJobStore
from contextfind.adapters.postgres.jobs import PostgresJobStore
from contextfind.adapters.sqlite.database import Database
from contextfind.adapters.sqlite.jobs import SqliteJobStore
from contextfind.domain.identity import Identity
from contextfind.ports.jobs import Job, JobState, JobStore
from tests import databases
from tests.builders import NOON

ANN = Identity("acme", "ann")


@pytest.fixture(params=["memory", "sqlite", "postgres"])
async def jobs(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[JobStore]:
    if request.param == "memory":
        yield MemoryJobStore()
        return
    if request.param == "postgres":
        async with databases.opened() as shared:
            yield PostgresJobStore(shared)
        return
    database = await Database.open(tmp_path)
    yield SqliteJobStore(database)
    await database.aclose()


def job(
    id: str = "j1",  # noqa: A002
    minutes: int = 0,
    state: JobState = JobState.PENDING,
    identity: Identity = ANN,
) -> Job:
    made = NOON + timedelta(minutes=minutes)
    return Job(id, identity, "ingest", state, made, made)


async def test_a_saved_job_comes_back_whole(jobs: JobStore) -> None:
    wanted = Job(
        "j1",
        Identity("acme", "ann", "admin"),
        "ingest",
        JobState.COMPLETED,
        NOON,
        NOON + timedelta(microseconds=1),
        {"to": "viking://resources/中", "list": [1, None, {"a": 0.5}]},
        "embedding",
        3,
        9,
        {"files": 2},
        "no",
        begun=2,
    )
    await jobs.save(wanted)
    assert await jobs.get(ANN, "j1") == wanted


async def test_saving_again_replaces(jobs: JobStore) -> None:
    await jobs.save(job())
    done = replace(job(), state=JobState.FAILED, error="why", stage="parse", done=1, begun=2)
    await jobs.save(done)
    assert await jobs.get(ANN, "j1") == done
    assert await jobs.list(ANN, 10) == [done]


@pytest.mark.parametrize("other", [Identity("acme", "ben"), Identity("bolt", "ann")])
async def test_a_job_is_nobody_elses(jobs: JobStore, other: Identity) -> None:
    await jobs.save(job())
    assert await jobs.get(other, "j1") is None
    assert await jobs.list(other, 10) == []


async def test_the_role_does_not_matter(jobs: JobStore) -> None:
    await jobs.save(job())
    assert await jobs.get(Identity("acme", "ann", "admin"), "j1") == job()


async def test_an_unknown_job_is_none(jobs: JobStore) -> None:
    assert await jobs.get(ANN, "none") is None


async def test_jobs_are_listed_newest_first_up_to_the_limit(jobs: JobStore) -> None:
    for id_, minutes in (("a", 2), ("b", 3), ("c", 1)):
        await jobs.save(job(id_, minutes))
    assert [one.id for one in await jobs.list(ANN, 10)] == ["b", "a", "c"]
    assert [one.id for one in await jobs.list(ANN, 2)] == ["b", "a"]
    assert await jobs.list(ANN, 0) == []


async def test_unfinished_jobs_of_everybody_or_one_account_come_oldest_first(
    jobs: JobStore,
) -> None:
    await jobs.save(job("ben", -99, identity=Identity("bolt", "ben")))
    for number, state in enumerate(JobState):
        await jobs.save(job(state.value, number, state))
    assert [one.id for one in await jobs.unfinished()] == ["ben", "pending", "running"]
    assert [one.id for one in await jobs.unfinished("acme")] == ["pending", "running"]
    assert await jobs.unfinished("none") == []


async def test_a_process_knows_its_own_jobs_and_which_are_to_be_cancelled(jobs: JobStore) -> None:
    for name in ("a", "b", "c"):
        await jobs.save(job(name))
    await jobs.save(job("over", 0, JobState.COMPLETED))
    for who, name in ((ANN, "b"), (Identity("acme", "ben"), "c"), (ANN, "over"), (ANN, "none")):
        await jobs.request_cancel(who, name)
    assert await jobs.own() == {"a": False, "b": True, "c": False}


async def test_jobs_that_ended_before_a_moment_are_forgotten(jobs: JobStore) -> None:
    for number, state in enumerate(JobState):
        await jobs.save(job(f"old-{state.value}", number, state))
        await jobs.save(job(f"new-{state.value}", 60 + number, state))
    late = replace(job("late", 0, JobState.FAILED), updated_at=NOON + timedelta(minutes=60))
    await jobs.save(late)
    assert await jobs.forget(NOON + timedelta(minutes=30), 100) == 3
    left = {one.id for one in await jobs.list(ANN, 100)}
    assert left == {"old-pending", "old-running", "late"} | {f"new-{s.value}" for s in JobState}
    assert await jobs.forget(NOON + timedelta(minutes=30), 100) == 0


async def test_jobs_are_forgotten_in_parts(jobs: JobStore) -> None:
    for number in range(5):
        await jobs.save(job(f"j{number}", 0, JobState.COMPLETED))
    told = [await jobs.forget(NOON + timedelta(minutes=1), 2) for _ in range(4)]
    assert told == [2, 2, 1, 0]
