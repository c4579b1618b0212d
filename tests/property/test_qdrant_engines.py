"""The index on Qdrant against the one in memory, asking for so little at first that it has to ask again."""

import random
from collections.abc import Awaitable, Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextfind.adapters.memory.index import MemoryIndex
from contextfind.domain.filters import Everything
from contextfind.domain.scope import Scope
from contextfind.domain.uri import ROOT
from contextfind.ports.index import Hit, Probe, SearchIndex
from contextfind.ports.store import Change
from tests.builders import DIMENSION, unit
from tests.clusters import MISERLY, engine_index, local_index, miserly_index
from tests.fakes import SimpleTokenizer
from tests.strategies import ACCOUNTS, USERS, WORDS, batches, logs, probes, random_log

NEAR = 1e-6  # cosines in 32 bits
MakeIndex = Callable[[], Awaitable[SearchIndex]]


async def miserly_engine() -> SearchIndex:
    return await engine_index(MISERLY)


def check_alike(hits: Sequence[Hit], wanted: Sequence[Hit]) -> None:
    """Hold hits to those of the index in memory, up to how cosines are rounded."""
    assert [(h.id, h.uri, h.level) for h in hits] == [(w.id, w.uri, w.level) for w in wanted]
    for hit, want in zip(hits, wanted, strict=True):
        assert (hit.passage, hit.shared) == (want.passage, want.shared)
        measured = (hit.words, hit.known, hit.phrases, hit.cosine, hit.support)
        other = (want.words, want.known, want.phrases, want.cosine, want.support)
        assert measured == pytest.approx(other, abs=NEAR)


async def check_all(index: SearchIndex, memory: SearchIndex, questions: Sequence[Probe]) -> None:
    answers = zip(await index.search(questions), await memory.search(questions), strict=True)
    for hits, wanted in answers:
        check_alike(hits, wanted)


async def check_log(make: MakeIndex, log: list[Change], cut: int, asked: list[Probe]) -> None:
    memory, index = MemoryIndex(SimpleTokenizer(), DIMENSION), await make()
    try:
        await memory.follow(log)
        for part in batches(log, cut):
            await index.follow(part)
        await check_all(index, memory, asked)
        assert await index.position() == await memory.position()
    finally:
        await index.aclose()


some = given(
    log=logs(60), cut=st.integers(0, 2**16), asked=st.lists(probes(), min_size=1, max_size=5)
)


@some
@settings(max_examples=40, deadline=None)
async def test_it_answers_like_the_index_in_memory_however_the_log_is_cut(
    log: list[Change], cut: int, asked: list[Probe]
) -> None:
    await check_log(miserly_index, log, cut, asked)


@pytest.mark.slow
@some
@settings(max_examples=400, deadline=None)
async def test_it_answers_alike_on_the_engine_of_qdrant(
    log: list[Change], cut: int, asked: list[Probe]
) -> None:
    await check_log(miserly_engine, log, cut, asked)


def some_questions(number: int) -> list[Probe]:
    rng = random.Random(number)  # noqa: S311 - data
    return [
        Probe(
            Scope(rng.choice(ACCOUNTS), rng.choice(USERS), (ROOT,)),
            Everything(),
            rng.choice((1, 3, 10, 100)),
            unit(rng.randrange(2_000)),
            tuple(rng.choices(WORDS, k=3)),
        )
        for _ in range(number)
    ]


@pytest.mark.parametrize(
    ("make", "records", "asked"),
    [
        pytest.param(engine_index, 300, 20, id="engine"),
        pytest.param(miserly_engine, 1_500, 200, id="miserly engine", marks=pytest.mark.slow),
        pytest.param(local_index, 1_500, 200, id="local mode", marks=pytest.mark.slow),
    ],
)
async def test_questions_get_the_same_hits(make: MakeIndex, records: int, asked: int) -> None:
    log = random_log(random.Random(7), records, vector_seeds=5_000)  # noqa: S311 - data
    memory, index = MemoryIndex(SimpleTokenizer(), DIMENSION), await make()
    try:
        await memory.follow(log)
        for begin in range(0, len(log), 170):
            await index.follow(log[begin : begin + 170])
        for probe in some_questions(asked):
            await check_all(index, memory, [probe])
    finally:
        await index.aclose()
