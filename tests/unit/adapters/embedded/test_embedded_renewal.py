"""What is merged and drawn behind the searches, held still between any two of its steps."""

import gc
import random
import threading
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextfind.adapters.embedded.crew import Crew
from contextfind.adapters.embedded.index import EmbeddedIndex
from contextfind.adapters.embedded.rules import IndexRules
from contextfind.adapters.embedded.shelf import Maker, Shelf
from contextfind.adapters.embedded.upkeep import Workshop
from contextfind.adapters.memory.index import MemoryIndex
from contextfind.domain.filters import Everything
from contextfind.domain.scope import Scope
from contextfind.domain.uri import ROOT
from contextfind.ports.index import Hit, Probe
from contextfind.ports.store import Change
from tests.builders import DIMENSION, make_change, make_record, make_removal, unit
from tests.fakes import SimpleTokenizer
from tests.strategies import batches, logs, probes

QUESTION = Probe(Scope("acme", "ann", (ROOT,)), Everything(), 5, unit(3), ("cache",))
# everything goes behind the searches, and every graph is asked for all of its nodes
RULES = IndexRules(
    exact_below=0,
    graph_from=4,
    neighbour_cost=0.0,
    small_rows=2,
    merge_at_once=2,
    quiet_seconds=0.0,
)


class Held(Executor):
    """Does nothing until it is told to."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []

    def submit(self, fn, /, *args, **kwargs):  # type: ignore[no-untyped-def]
        future: Future[object] = Future()

        def work() -> None:
            try:
                future.set_result(fn(*args, **kwargs))
            except Exception as error:  # noqa: BLE001 - as an executor does
                future.set_exception(error)

        self.waiting.append(work)
        return future

    def step(self) -> bool:
        """Do the next thing; return whether there was one."""
        if not self.waiting:
            return False
        self.waiting.pop(0)()
        return True


class Bench:
    """An index whose crew works step by step."""

    def __init__(self, rules: IndexRules = RULES, directory: Path | None = None) -> None:
        self.filing, self.drawing = Held(), Held()
        maker = Maker(DIMENSION, "tests", graphs=True)
        shelf = None if directory is None else Shelf(directory, maker)
        workshop = Workshop(SimpleTokenizer(), maker, rules, shelf)
        self.index = EmbeddedIndex(workshop, Crew(self.filing, self.drawing))

    def work(self) -> None:
        """Do all there is to do."""
        while self.filing.step() or self.drawing.step():
            pass

    async def answers(self, *questions: Probe) -> list[list[Hit]]:
        return [list(hits) for hits in await self.index.search(questions)]


def changes(count: int, begin: int = 1) -> list[Change]:
    return [
        make_change(i, make_record(i, f"viking://resources/{i:03}.md"), ["cache"], [i])
        for i in range(begin, begin + count)
    ]


def names(directory: Path) -> list[str]:
    return sorted(path.suffix for path in directory.iterdir())


async def known(log: Sequence[Change], *questions: Probe) -> list[list[Hit]]:
    memory = MemoryIndex(SimpleTokenizer(), DIMENSION)
    await memory.follow(log)
    return [list(hits) for hits in await memory.search(questions)]


async def with_a_graph(count: int = 8) -> Bench:
    bench = Bench()
    await bench.index.follow(changes(count))
    bench.work()
    assert bench.index.stats()["graph_rows"] == count
    return bench


@given(
    log=logs(60),
    seed=st.integers(0, 2**16),
    questions=st.lists(probes(), min_size=1, max_size=3),
)
@settings(max_examples=60, deadline=None)
@pytest.mark.parametrize("on_disk", [False, True])
async def test_it_answers_alike_between_any_two_steps_of_merging_and_drawing(
    tmp_path_factory: pytest.TempPathFactory,
    log: list[Change],
    seed: int,
    questions: list[Probe],
    *,
    on_disk: bool,
) -> None:
    rng = random.Random(seed)  # noqa: S311
    directory = tmp_path_factory.mktemp("index") if on_disk else None
    bench = Bench(replace(RULES, write_after=rng.choice((1, 1_000))), directory)
    followed: list[Change] = []
    for part in batches(log, seed):
        await bench.index.follow(part)
        followed.extend(part)
        for _ in range(rng.randrange(4)):
            rng.choice((bench.filing, bench.drawing)).step()
            assert await bench.answers(*questions) == await known(followed, *questions)
    bench.work()
    assert await bench.answers(*questions) == await known(log, *questions)
    await bench.index.aclose()


async def test_graphs_answer_until_the_one_of_the_merged_segment_is_drawn() -> None:
    bench = await with_a_graph()
    await bench.index.follow(changes(6, begin=9))
    assert bench.index.stats()["under_way"] > 0
    assert bench.drawing.step()  # quiet: what has a graph is to be merged
    assert bench.filing.step()  # merged
    assert bench.index.stats()["graph_rows"] == 8
    assert bench.index.stats()["segments"] == 2
    bench.work()
    assert bench.index.stats()["graph_rows"] == 14
    assert bench.index.stats()["segments"] == 1
    assert bench.index.stats()["under_way"] == 0
    await bench.index.aclose()


async def test_what_came_in_a_bulk_is_gathered_when_it_is_quiet_and_drawn_once() -> None:
    bench = Bench(replace(RULES, small_rows=1))
    for begin, count in ((1, 32), (33, 16), (49, 8), (57, 4)):
        await bench.index.follow(changes(count, begin))
    assert bench.index.stats()["segments"] == 4
    bench.work()
    stats = bench.index.stats()
    assert (stats["segments"], stats["graph_rows"], stats["scanned_rows"]) == (1, 60, 0)
    await bench.index.aclose()


async def test_a_segment_that_was_replaced_is_let_go_with_its_graph(tmp_path: Path) -> None:
    bench = Bench(directory=tmp_path)
    await bench.index.follow(changes(8))
    bench.work()
    await bench.answers(
        QUESTION
    )  # questions are remembered; they must not hold what they were asked of
    before = weakref.ref(bench.index._upkeep.snapshot.views[0].segment)
    await bench.index.follow(changes(6, begin=9))
    await bench.answers(QUESTION)
    gc.disable()
    try:
        bench.work()
        assert before() is None
    finally:
        gc.enable()
    assert names(tmp_path) == [".graph", ".json", ".nodes", ".segment"]
    await bench.index.aclose()


async def test_what_dies_while_a_graph_is_drawn_is_dead_in_it() -> None:
    bench = await with_a_graph()
    await bench.index.follow(changes(6, begin=9))
    assert bench.drawing.step()
    assert bench.filing.step()
    gone = [make_removal(100 + i, i) for i in (2, 10)]
    await bench.index.follow(gone)
    bench.work()
    assert bench.index.stats()["graph_rows"] == 14
    log = [*changes(14), *gone]
    assert await bench.answers(QUESTION) == await known(log, QUESTION)
    assert bench.index.stats()["records"] == 12
    await bench.index.aclose()


async def test_sources_that_died_wholly_while_they_were_merged_stay_dead() -> None:
    bench = await with_a_graph()
    await bench.index.follow(changes(6, begin=9))
    assert bench.drawing.step()
    await bench.index.follow([make_removal(100 + i, i) for i in range(1, 15)])
    bench.work()
    assert await bench.answers(QUESTION) == [[]]
    assert bench.index.stats()["segments"] == 0
    await bench.index.aclose()


async def test_a_few_rows_on_top_of_a_large_graph_leave_it_alone() -> None:
    bench = await with_a_graph(60)
    [view] = bench.index._upkeep.snapshot.views
    for begin in range(61, 75, 5):
        await bench.index.follow(changes(5, begin))
        bench.work()
    assert view in bench.index._upkeep.snapshot.views
    await bench.index.follow(changes(20, begin=76))
    bench.work()
    assert bench.index.stats()["segments"] == 1
    await bench.index.aclose()


async def test_nothing_is_drawn_while_rows_come_in_by_the_thousand() -> None:
    bench = Bench(replace(RULES, quiet_rows=10))
    renewal = bench.index._upkeep._renewal
    seconds: list[float] = []

    class Loading(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            seconds.append(0.0 if timeout is None else timeout)
            if len(seconds) < 5:
                renewal.follow(11)
            return False

    await bench.index.follow(changes(30))
    renewal._stopping = Loading()
    while not seconds:
        bench.filing.step()
        bench.drawing.step()
    assert len(seconds) == 5
    bench.work()
    assert bench.index.stats()["graph_rows"] == 30
    await bench.index.aclose()


async def test_R101_three_times_as_much_in_one_batch_makes_a_larger_graph() -> None:  # noqa: N802 - a case
    bench = await with_a_graph(20)
    await bench.index.follow(changes(1, begin=21))
    await bench.index.follow(changes(60, begin=22))
    assert await bench.answers(QUESTION) == await known(changes(81), QUESTION)
    bench.work()
    assert bench.index.stats()["graph_rows"] == 81
    everything = replace(QUESTION, limit=100)
    assert await bench.answers(everything) == await known(changes(81), everything)
    await bench.index.aclose()


async def test_closing_in_the_middle_of_it_loses_nothing(tmp_path: Path) -> None:
    bench = Bench(directory=tmp_path)
    await bench.index.follow(changes(8))
    bench.work()
    await bench.index.follow(changes(6, begin=9))
    assert bench.drawing.step()
    await bench.index.aclose()
    bench.work()  # what was queued finds nothing to do
    assert ".tmp" not in names(tmp_path)
    again = Bench(directory=tmp_path)
    again.index._upkeep.load()
    assert await again.index.position() == 14
    assert again.index.stats()["graph_rows"] == 8
    assert await again.answers(QUESTION) == await known(changes(14), QUESTION)
    again.work()
    assert again.index.stats()["graph_rows"] == 14
    await again.index.aclose()


async def test_a_segment_that_waits_for_its_graph_keeps_its_file(tmp_path: Path) -> None:
    bench = Bench(replace(RULES, write_after=1), directory=tmp_path)
    await bench.index.follow(changes(8))
    bench.work()
    await bench.index.follow(changes(6, begin=9))
    while bench.filing.step():
        pass
    assert bench.drawing.step()
    assert bench.filing.step()  # merged into its file
    await bench.index.follow([make_removal(100, 1)])
    bench.index._upkeep._write_soon()
    assert bench.filing.step()  # a snapshot that does not name it
    bench.work()
    await bench.index.aclose()
    shelf = Shelf(tmp_path, Maker(DIMENSION, "tests", graphs=True))
    [view] = shelf.load().views
    assert len(view.segment.vectors) == 14
    assert view.graph is not None


async def test_a_disk_that_is_full_has_segments_merged_in_memory(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("contextfind.adapters.embedded.arrays._reserve", full)
    bench = Bench(directory=tmp_path)
    for begin in (1, 4, 7):
        await bench.index.follow(changes(3, begin))
    bench.work()
    assert "merged in memory" in caplog.text
    assert await bench.answers(QUESTION) == await known(changes(9), QUESTION)
    await bench.index.aclose()


async def test_a_failure_behind_the_searches_is_logged_and_they_go_on(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("contextfind.adapters.embedded.renewal.build_graph", broken)
    bench = Bench()
    await bench.index.follow(changes(8))
    bench.work()
    assert "background work of the search index failed" in caplog.text
    assert await bench.answers(QUESTION) == await known(changes(8), QUESTION)
    await bench.index.follow(changes(8, begin=9))
    assert await bench.answers(QUESTION) == await known(changes(16), QUESTION)
    await bench.index.aclose()
