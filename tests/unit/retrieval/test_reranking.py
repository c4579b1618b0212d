import asyncio
from collections.abc import Sequence

import pytest

from contextfind.adapters.memory.store import MemoryRecordStore
from contextfind.domain.errors import UnavailableError
from contextfind.domain.records import ContextType, Level, RecordId
from contextfind.domain.uri import Uri
from contextfind.ports import Commit, Hit, RecordDraft
from contextfind.retrieval.reranking import Hearing, Panel
from tests.builders import NOON, make_passages

OPS = Uri("viking://resources/ops")


class Scripted:
    """A reranker that gives its next answer: scores, a fault, or nothing ever."""

    def __init__(self, *answers: Sequence[float | None] | UnavailableError | None) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, tuple[str, ...]]] = []

    async def rerank(self, query: str, documents: Sequence[str]) -> Sequence[float | None]:
        self.asked.append((query, tuple(documents)))
        answer = self.answers.pop(0)
        if answer is None:
            await asyncio.Event().wait()
        if isinstance(answer, UnavailableError):
            raise answer
        assert answer is not None
        return answer


@pytest.fixture
async def store() -> MemoryRecordStore:
    store = MemoryRecordStore()
    for name in "abc":
        passages = make_passages(f"first of {name}", f"second of {name}", context="ops")
        draft = RecordDraft(OPS.child(name), Level.DETAIL, ContextType.RESOURCE, name, passages)
        await store.commit(Commit("acme", NOON, put=[draft]))
    return store


def hits(*numbers: int, passage: int = 1) -> list[Hit]:
    return [Hit(RecordId(n), OPS.child("x"), Level.DETAIL, passage, 0.5, 0.0) for n in numbers]


async def test_the_reranker_reads_the_best_passage_below_its_context(
    store: MemoryRecordStore,
) -> None:
    judge = Scripted([0.9, 0.1])
    hearing = Hearing(Panel(judge, store), "undo")
    assert await hearing.judge(hits(1, 3)) == {1: 0.9, 3: 0.1}
    assert judge.asked == [("undo", ("ops\nsecond of a", "ops\nsecond of c"))]
    assert hearing.notes == []


async def test_equal_texts_are_judged_each(store: MemoryRecordStore) -> None:
    judge = Scripted([0.9, 0.8])
    assert await Hearing(Panel(judge, store), "undo").judge(hits(1, 2)) == {1: 0.9, 2: 0.8}


async def test_a_text_without_a_score_is_told_apart_and_told(store: MemoryRecordStore) -> None:
    hearing = Hearing(Panel(Scripted([0.9, None, 0.1]), store), "undo")
    assert await hearing.judge(hits(1, 2, 3)) == {1: 0.9, 2: None, 3: 0.1}
    assert hearing.notes == ["not reranked: 1 of 3 texts got no score"]


async def test_what_was_deleted_a_moment_ago_is_not_sent(store: MemoryRecordStore) -> None:
    judge = Scripted([0.9])
    assert await Hearing(Panel(judge, store), "undo").judge(hits(7, 2)) == {2: 0.9}
    assert await Hearing(Panel(judge, store), "undo").judge(hits(7)) == {}
    assert len(judge.asked) == 1


async def test_after_a_failure_the_reranker_is_left_alone(store: MemoryRecordStore) -> None:
    judge = Scripted([0.9], UnavailableError("http://r answers 500"), [0.3])
    hearing = Hearing(Panel(judge, store), "undo")
    assert await hearing.judge(hits(1)) == {1: 0.9}
    assert await hearing.judge(hits(2)) == {}
    assert await hearing.judge(hits(3)) == {}
    assert len(judge.asked) == 2
    assert hearing.notes == ["not reranked any further: http://r answers 500"]


async def test_a_reranker_that_hangs_costs_the_time_of_a_search_once(
    store: MemoryRecordStore,
) -> None:
    judge = Scripted(None, [0.5])
    hearing = Hearing(Panel(judge, store, seconds=0.02), "undo")
    async with asyncio.timeout(20):
        assert await hearing.judge(hits(1)) == {}
        assert await hearing.judge(hits(2)) == {}
    assert len(judge.asked) == 1
    assert hearing.notes == ["not reranked: the reranker needed more than 0.02 seconds"]


async def test_a_search_that_is_cancelled_stays_cancelled(store: MemoryRecordStore) -> None:
    task = asyncio.create_task(Hearing(Panel(Scripted(None), store), "undo").judge(hits(1)))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
