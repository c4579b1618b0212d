"""A part of the tree indexed again beside other work."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from contextfind.adapters.memory.index import MemoryIndex
from contextfind.adapters.memory.jobs import MemoryJobStore
from contextfind.adapters.memory.store import MemoryRecordStore
from contextfind.adapters.postgres.company import PostgresCompany
from contextfind.adapters.postgres.database import Database
from contextfind.domain.errors import ConflictError
from contextfind.domain.records import ContextType, Level, RecordId
from contextfind.domain.uri import Uri
from contextfind.ingestion.jobs import Jobs
from contextfind.ingestion.reindexing import Mode, ReindexDesk, Reindexing, rebuilt
from contextfind.ingestion.settling import Settled
from contextfind.ports.index import ChangeLog, Step
from contextfind.ports.jobs import JobState
from contextfind.ports.store import Commit, RecordDraft
from tests import databases
from tests.builders import NOON
from tests.fakes import SimpleTokenizer
from tests.offices import ANN, StillSettling

DOCS = Uri("viking://resources/docs")


class StandingIndex(MemoryIndex):
    """An index that nobody is to build anew."""

    async def rebuild(self, log: ChangeLog, step: Step) -> Sequence[RecordId]:
        raise AssertionError((log, step))


@pytest.fixture
async def jobs() -> AsyncIterator[Jobs]:
    ids = (f"job{number}" for number in range(9))
    made = Jobs(MemoryJobStore(), lambda: NOON, lambda: next(ids))
    yield made
    await made.aclose()


@pytest.mark.parametrize(("mode", "ways"), [("vectors_only", 3), ("semantic_and_vectors", 6)])
async def test_a_large_part_gives_way_between_steps_and_misses_nothing(
    jobs: Jobs, mode: Mode, ways: int
) -> None:
    store = MemoryRecordStore()
    folders = [DOCS, *(DOCS.child(f"d{number:04}") for number in range(2_500))]
    put = [RecordDraft(uri, Level.ABSTRACT, ContextType.RESOURCE, "a", ()) for uri in folders]
    await store.commit(Commit("acme", NOON, put=put))
    stood, given = await store.position(), []

    async def give_way() -> None:
        given.append(await store.position())

    desk = ReindexDesk(
        store, StandingIndex(SimpleTokenizer()), StillSettling(), lambda: 0.0, give_way
    )
    reindexing = Reindexing(desk, jobs)
    jobs.take_on(reindexing)
    job = await reindexing.start(ANN, DOCS, mode, whole=False)
    ended = await jobs.finished(ANN, job.id, 60)
    assert ended.state is JobState.COMPLETED
    assert len(given) == ways
    assert await store.position() == stood + len(folders)
    assert len(await store.stale(9_999)) == (len(folders) if mode == "semantic_and_vectors" else 0)


class NeverSettling(StillSettling):
    """Waits for what never comes."""

    async def settle(
        self,
        account: str | None,
        under: Uri | None,
        timeout: float | None,  # noqa: ASYNC109
        user: str | None = None,
    ) -> Settled:
        await asyncio.Event().wait()
        return await super().settle(account, under, timeout, user)


async def test_one_that_runs_is_in_the_way_however_many_tasks_were_begun_after_it() -> None:
    store, ids = MemoryJobStore(), iter(f"job{number:03}" for number in range(999))
    jobs = Jobs(store, lambda: NOON, lambda: next(ids))
    desk = ReindexDesk(
        MemoryRecordStore(),
        StandingIndex(SimpleTokenizer()),
        NeverSettling(),
        lambda: 0.0,
        lambda: asyncio.sleep(0),
    )
    reindexing = Reindexing(desk, jobs)
    jobs.take_on(reindexing)
    job = await reindexing.start(ANN, DOCS, "vectors_only", whole=False)
    for number in range(1_001):
        later = {"created_at": NOON + timedelta(hours=1), "state": JobState.COMPLETED}
        await store.save(replace(job, id=f"later{number}", **later))
    with pytest.raises(ConflictError) as refused:
        await reindexing.start(ANN, DOCS, "vectors_only", whole=False)
    assert refused.value.details == {"retryable": True, "task_id": job.id}
    assert [one.id for one in await jobs.running(ANN)] == [job.id]
    assert not await jobs.running(replace(ANN, user="ben"))
    await reindexing.start(ANN, DOCS.child("part"), "vectors_only", whole=False)
    await jobs.cancel(ANN, job.id)
    await reindexing.start(ANN, DOCS, "vectors_only", whole=False)
    await jobs.aclose()


async def test_an_index_is_built_anew_by_one_process_at_a_time() -> None:
    store, at_work, most = MemoryRecordStore(), 0, 0

    class Measured(MemoryIndex):
        async def rebuild(self, log: ChangeLog, step: Step) -> Sequence[RecordId]:
            nonlocal at_work, most
            del log, step
            at_work += 1
            most = max(most, at_work)
            await asyncio.sleep(0.05)
            at_work -= 1
            return []

    async def step(position: int) -> None:
        raise AssertionError(position)

    async with databases.opened() as first:
        second = await Database.open(first.place)
        companies = [PostgresCompany(database) for database in (first, second)]
        indexes = [Measured(SimpleTokenizer()) for _ in companies]
        both = zip(indexes, companies, strict=True)
        await asyncio.gather(*(rebuilt(one, store.changes, step, with_) for one, with_ in both))
        for company in companies:
            await company.aclose()
        await second.aclose()
    assert most == 1
