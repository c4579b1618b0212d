"""The embedded index against the one in memory, with thresholds so low that every path is taken."""

import asyncio
import logging
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contextfind.adapters.embedded.index import EmbeddedIndex
from contextfind.adapters.embedded.rules import IndexRules
from contextfind.adapters.memory.index import MemoryIndex
from contextfind.adapters.postgres.place import Place
from contextfind.domain.documents import make_passage
from contextfind.domain.filters import Everything
from contextfind.domain.records import RecordId
from contextfind.domain.scope import Scope
from contextfind.domain.uri import ROOT
from contextfind.ports.index import Hit, Probe, SearchIndex
from contextfind.ports.store import Change
from tests import databases
from tests.builders import DIMENSION, make_change, make_record, unit, units
from tests.fakes import SimpleTokenizer
from tests.indexes import MISERLY, postgres_indexes, same
from tests.strategies import ACCOUNTS, USERS, WORDS, batches, logs, probes, random_log

MANY_SEGMENTS = IndexRules(small_rows=1, merge_ratio=0, quiet_ratio=0, rewrite_dead=2.0)
EAGER = IndexRules(small_rows=4, write_after=10)
# graphs at any price, asked for all nodes (few vectors are drawn), so that they are exact
GRAPHS = IndexRules(
    exact_below=0, graph_from=3, neighbour_cost=0.0, small_rows=40, quiet_seconds=0.0
)


async def open_index(rules: IndexRules, directory: Path | None = None) -> EmbeddedIndex:
    return await EmbeddedIndex.open(directory, DIMENSION, "tests", SimpleTokenizer(), rules)


async def follow_all(index: SearchIndex, parts: Sequence[Sequence[Change]]) -> None:
    for part in parts:
        await index.follow(part)


async def drawn(index: EmbeddedIndex) -> None:
    """Wait until the background thread has built all graphs."""
    await index.rest()


def some_probes(seed: int) -> list[Probe]:
    rng = random.Random(seed)  # noqa: S311
    return [
        Probe(
            Scope(account, user, (ROOT,)),
            Everything(),
            rng.choice((1, 3, 100)),
            unit(rng.randrange(20)),
            tuple(rng.choices(WORDS, k=2)),
        )
        for account in ACCOUNTS
        for user in USERS
    ]


async def answers(index: SearchIndex, questions: Sequence[Probe]) -> list[list[Hit]]:
    return [list(hits) for hits in await index.search(questions)]


async def check_cut(rules: IndexRules, log: list[Change], cut: int, questions: list[Probe]) -> None:
    memory = MemoryIndex(SimpleTokenizer(), DIMENSION)
    await memory.follow(log)
    index = await open_index(rules)
    try:
        await follow_all(index, batches(log, cut))
        await drawn(index)
        assert await answers(index, questions) == await answers(memory, questions)
        assert await index.position() == await memory.position()
    finally:
        await index.aclose()


by_rules = pytest.mark.parametrize(
    "rules", [MANY_SEGMENTS, EAGER, GRAPHS], ids=["many segments", "eager", "graphs"]
)
cut_logs = given(
    log=logs(60), cut=st.integers(0, 2**16), questions=st.lists(probes(), min_size=1, max_size=5)
)


@by_rules
@cut_logs
@settings(max_examples=80, deadline=None)
async def test_it_answers_like_the_index_in_memory_however_the_log_is_cut(
    rules: IndexRules, log: list[Change], cut: int, questions: list[Probe]
) -> None:
    await check_cut(rules, log, cut, questions)


@pytest.mark.slow
@by_rules
@cut_logs
@settings(max_examples=1_000, deadline=None)
async def test_it_answers_alike_however_very_many_logs_are_cut(
    rules: IndexRules, log: list[Change], cut: int, questions: list[Probe]
) -> None:
    await check_cut(rules, log, cut, questions)


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    made = databases.place()
    yield made
    databases.drop(made.schema)


@cut_logs
@settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
async def test_postgres_answers_like_the_index_in_memory_however_the_log_is_cut(
    place: Place, log: list[Change], cut: int, questions: list[Probe]
) -> None:
    memory = MemoryIndex(SimpleTokenizer(), DIMENSION)
    await memory.follow(log)
    async with postgres_indexes(place, MISERLY) as make:
        index = await make()
        await follow_all(index, batches(log, cut))
        found, right = await answers(index, questions), await answers(memory, questions)
        assert await index.position() == await memory.position()
        await index.aclose()
    for got, wanted in zip(found, right, strict=True):
        same(got, wanted)


async def test_many_words_side_by_side_are_summed_alike_to_the_last_bit() -> None:
    rng = random.Random(5)  # noqa: S311
    words = [f"w{number}" for number in range(24)]
    texts = [" ".join(rng.choices(words, range(1, 25), k=60)) for _ in range(80)]
    log = [
        make_change(i, make_record(i, f"viking://resources/{i}"), [text])
        for i, text in enumerate(texts, 1)
    ]
    memory, index = MemoryIndex(SimpleTokenizer(), DIMENSION), await open_index(MANY_SEGMENTS)
    await memory.follow(log)
    await follow_all(index, batches(log, 9))
    asked = [tuple(rng.choices(words, k=40)) for _ in range(20)]
    scope = Scope("acme", "ann", (ROOT,))
    questions = [Probe(scope, Everything(), 50, None, terms) for terms in asked]
    assert await answers(index, questions) == await answers(memory, questions)
    await index.aclose()


async def test_a_long_log_is_answered_alike_through_graphs_merges_and_deletes() -> None:
    log = random_log(random.Random(7), 3_000, vector_seeds=5_000)  # noqa: S311
    memory = MemoryIndex(SimpleTokenizer(), DIMENSION)
    await memory.follow(log)
    rules = replace(GRAPHS, exact_below=10, graph_from=50, small_rows=64, merge_at_once=500)
    index = await open_index(rules)
    for begin in range(0, len(log), 170):
        await index.follow(log[begin : begin + 170])
    await drawn(index)
    for seed in range(5):
        questions = some_probes(seed)
        assert await answers(index, questions) == await answers(memory, questions)
    stats = index.stats()
    assert stats["graph_rows"] > 0
    assert stats["plan_neighbours"] > 0
    assert stats["segments"] <= 6
    await index.aclose()


@given(log=logs(50), cut=st.integers(0, 2**16), seed=st.integers(0, 99))
@settings(max_examples=40, deadline=None)
async def test_it_answers_the_same_after_it_was_closed_and_opened(
    tmp_path_factory: pytest.TempPathFactory, log: list[Change], cut: int, seed: int
) -> None:
    directory = tmp_path_factory.mktemp("index")
    half = len(log) // 2
    index = await open_index(GRAPHS, directory)
    await follow_all(index, batches(log[:half], cut))
    before = await answers(index, some_probes(seed))
    await index.aclose()
    again = await open_index(GRAPHS, directory)
    assert await answers(again, some_probes(seed)) == before
    assert await again.position() == (log[half - 1].position if half else 0)
    await again.follow(log)  # from the beginning: what is known is passed over
    after = await answers(again, some_probes(seed))
    await again.aclose()
    fresh = await open_index(GRAPHS)
    await fresh.follow(log)
    assert await answers(fresh, some_probes(seed)) == after
    await fresh.aclose()


async def written(directory: Path) -> list[Change]:
    log = random_log(random.Random(3), 60)  # noqa: S311
    index = await open_index(GRAPHS, directory)
    await follow_all(index, [log[:40], log[40:]])
    await drawn(index)
    await index.aclose()
    return log


def listing(directory: Path, pattern: str) -> list[Path]:
    return sorted(directory.glob(pattern))


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x55
    path.write_bytes(bytes(data))


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def lose(path: Path) -> None:
    path.unlink()


@pytest.mark.parametrize("harm", [flip, cut_short, empty, lose])
@pytest.mark.parametrize("kind", ["*.segment", "manifest.json"])
async def test_a_damaged_snapshot_is_built_anew(
    tmp_path: Path, harm: Callable[[Path], None], kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    log = await written(tmp_path)
    for path in listing(tmp_path, kind):
        harm(path)
    caplog.set_level(logging.WARNING)
    index = await open_index(GRAPHS, tmp_path)
    assert await index.position() == 0
    assert "is built anew" in caplog.text
    await index.follow(log)
    memory = MemoryIndex(SimpleTokenizer(), DIMENSION)
    await memory.follow(log)
    assert await answers(index, some_probes(1)) == await answers(memory, some_probes(1))
    await index.aclose()
    again = await open_index(GRAPHS, tmp_path)
    assert await again.position() == log[-1].position
    await again.aclose()


@pytest.mark.parametrize("harm", [flip, cut_short, empty, lose])
@pytest.mark.parametrize("kind", ["*.graph", "*.nodes"])
async def test_a_damaged_graph_alone_is_drawn_anew_and_the_segments_stay(
    tmp_path: Path, harm: Callable[[Path], None], kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    log = await written(tmp_path)
    for path in listing(tmp_path, kind):
        harm(path)
    caplog.set_level(logging.WARNING)
    index = await open_index(GRAPHS, tmp_path)
    assert await index.position() == log[-1].position
    assert "is drawn anew" in caplog.text
    memory = MemoryIndex(SimpleTokenizer(), DIMENSION)
    await memory.follow(log)
    assert await answers(index, some_probes(1)) == await answers(memory, some_probes(1))
    await index.rest()
    assert index.stats()["graph_rows"] > 0
    await index.aclose()


@pytest.mark.parametrize(("dimension", "fingerprint"), [(DIMENSION + 1, "tests"), (8, "other")])
async def test_a_snapshot_of_another_maker_is_built_anew(
    tmp_path: Path, dimension: int, fingerprint: str
) -> None:
    await written(tmp_path)
    index = await EmbeddedIndex.open(tmp_path, dimension, fingerprint, SimpleTokenizer())
    assert await index.position() == 0
    await index.aclose()


async def test_files_that_are_not_needed_are_removed_and_none_is_left_unfinished(
    tmp_path: Path,
) -> None:
    log = await written(tmp_path)
    for _ in range(2):
        index = await open_index(EAGER, tmp_path)
        await index.follow([c for c in log if c.record is None])
        segments = index.stats()["segments"]
        await index.aclose()
        assert len(listing(tmp_path, "*.segment")) == segments
        assert listing(tmp_path, "*.tmp") == []


async def test_what_a_killed_process_left_behind_is_removed_at_the_start(tmp_path: Path) -> None:
    await written(tmp_path)
    before = listing(tmp_path, "*")
    for name in ("unfinished.tmp", "0123.segment", "4567.graph", "89ab.nodes"):
        (tmp_path / name).write_bytes(b"of no use")
    index = await open_index(GRAPHS, tmp_path)
    assert listing(tmp_path, "*") == before
    await index.aclose()


def solo_batch(position: int, version: int) -> list[Change]:
    """Three records of their own account; the ordinal of their passage tells the version."""
    passage = make_passage(version, "", f"v{version} cache", "")
    return [
        Change(
            position + i,
            RecordId(9_000 + i),
            make_record(9_000 + i, f"viking://resources/s{i}.md", account="solo"),
            [passage],
            units([version]),
        )
        for i in range(3)
    ]


async def test_searches_beside_following_see_whole_batches_only() -> None:
    """Each batch replaces all three records; a search must never see two batches at once."""
    rng = random.Random(5)  # noqa: S311
    rules = replace(GRAPHS, graph_from=4, small_rows=8, merge_at_once=20)
    index = await open_index(rules)
    noise = random_log(rng, 200)
    await index.follow(noise)
    position = noise[-1].position
    scope = Scope("solo", "ann", (ROOT,))
    question = Probe(scope, Everything(), 10, unit(1), tuple(f"v{n}" for n in range(40)))
    done = False

    async def search() -> int:
        rounds = 0
        while not done:
            [first, second] = await index.search([question, question])
            assert first == second
            versions = {hit.passage for hit in first}
            assert len(first) in (0, 3)
            assert len(versions) <= 1
            rounds += 1
        return rounds

    searching = [asyncio.create_task(search()) for _ in range(3)]
    for number in range(40):
        changes = solo_batch(position + 1 + 3 * number, number)
        await index.follow(changes)
    done = True
    assert min(await asyncio.gather(*searching)) > 0
    await index.aclose()
