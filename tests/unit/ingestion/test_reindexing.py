"""A part of the tree indexed again beside other work."""

from collections.abc import AsyncIterator, Sequence

import pytest

from contextfind.adapters.memory.index import MemoryIndex
from contextfind.adapters.memory.jobs import MemoryJobStore
from contextfind.adapters.memory.store import MemoryRecordStore
from contextfind.domain.records import ContextType, Level, RecordId
from contextfind.domain.uri import Uri
from contextfind.ingestion.jobs import Jobs
from contextfind.ingestion.reindexing import Mode, ReindexDesk, Reindexing
from contextfind.ports.index import ChangeLog, Step
from contextfind.ports.jobs import JobState
from contextfind.ports.store import Commit, RecordDraft
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
