import asyncio
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from contextfind.adapters.embedded.index import EmbeddedIndex
from contextfind.adapters.embedded.rules import IndexRules
from contextfind.adapters.embedded.shelf import Maker, Shelf
from contextfind.adapters.embedded.upkeep import Workshop
from contextfind.domain.errors import UnavailableError
from contextfind.domain.filters import Everything, Not, OneOf, Tagged
from contextfind.domain.scope import Scope
from contextfind.domain.uri import ROOT
from contextfind.ports.index import Dialogue, Probe
from contextfind.ports.store import Change
from tests.builders import DIMENSION, make_change, make_record, make_removal, unit
from tests.fakes import SimpleTokenizer

QUESTION = Probe(Scope("acme", "ann", (ROOT,)), Everything(), 5, unit(3), ("cache",))
LOW = IndexRules(exact_below=0, graph_from=5, neighbour_cost=0.0, quiet_seconds=0.0)


def changes(count: int, begin: int = 1) -> list[Change]:
    return [
        make_change(i, make_record(i, f"viking://resources/{i:03}.md"), ["cache"], [i])
        for i in range(begin, begin + count)
    ]


async def opened(directory: Path | None, rules: IndexRules = LOW) -> EmbeddedIndex:
    return await EmbeddedIndex.open(directory, DIMENSION, "tests", SimpleTokenizer(), rules)


async def test_a_closed_index_refuses_and_closing_again_is_harmless() -> None:
    index = await opened(None)
    await index.aclose()
    await index.aclose()
    with pytest.raises(UnavailableError):
        await index.search([QUESTION])
    with pytest.raises(UnavailableError):
        await index.follow(changes(1))


async def test_without_graphs_it_scans_and_answers_the_same() -> None:
    maker = Maker(DIMENSION, "tests", graphs=False)
    plain = EmbeddedIndex(Workshop(SimpleTokenizer(), maker, LOW, None))
    drawn = await opened(None)
    for index in (plain, drawn):
        await index.follow(changes(30))
    await drawn.rest()
    assert await plain.search([QUESTION]) == await drawn.search([QUESTION])
    assert plain.stats()["graph_rows"] == 0
    assert plain.stats()["plan_scan"] == 1
    assert drawn.stats()["graph_rows"] == 30
    assert drawn.stats()["plan_neighbours"] == 1
    await plain.aclose()
    await drawn.aclose()


async def test_what_is_kept_of_a_large_filter_is_forgotten_with_the_state_it_was_of() -> None:
    index = await opened(None, IndexRules(exact_below=0, graphs=False))
    await index.follow(changes(1_500))
    tagged = replace(QUESTION, where=Not(OneOf("name", frozenset({"000.md"}))), limit=1_500)
    for last in (1_500, 1_499):  # asked twice: the second answer is made of what the first one kept
        found = [{hit.id for hit in (await index.search([tagged]))[0]} for _ in range(2)]
        assert found == [set(range(1, last + 1))] * 2
        await index.follow([make_removal(2_000, last)])
    assert (
        len((await index.search([replace(tagged, scope=replace(tagged.scope, account="b"))]))[0])
        == 0
    )
    await index.aclose()


async def test_a_graph_is_read_back_and_not_drawn_again(tmp_path: Path) -> None:
    index = await opened(tmp_path)
    await index.follow(changes(30))
    await index.rest()
    before = await index.search([QUESTION])
    await index.aclose()
    again = await opened(tmp_path)
    assert again.stats()["graph_rows"] == 30
    assert await again.search([QUESTION]) == before
    await again.aclose()


async def test_with_graphs_switched_off_it_scans_and_keeps_those_on_disk(tmp_path: Path) -> None:
    index = await opened(tmp_path)
    await index.follow(changes(30))
    await index.rest()
    await index.aclose()
    without = await opened(tmp_path, replace(LOW, graphs=False))
    assert await without.explain([QUESTION]) == ["exact scan of 30 vectors; words looked up"]
    await without.aclose()
    again = await opened(tmp_path)
    assert again.stats()["graph_rows"] == 30
    await again.aclose()


async def test_a_snapshot_is_written_behind_when_much_was_followed(tmp_path: Path) -> None:
    index = await opened(tmp_path, IndexRules(write_after=10))
    await index.follow(changes(9))
    await index.rest()
    assert not (tmp_path / "manifest.json").exists()
    await index.follow(changes(3, begin=10))
    await index.rest()
    assert Shelf(tmp_path, Maker(DIMENSION, "tests", graphs=True)).load().position == 12
    await index.aclose()


async def test_a_snapshot_written_behind_keeps_the_graphs_that_were_written(
    tmp_path: Path,
) -> None:
    index = await opened(tmp_path)
    await index.follow(changes(30))
    await index.rest()
    await index.aclose()
    many = replace(LOW, small_rows=1, merge_ratio=0, quiet_ratio=0, write_after=1)
    again = await opened(tmp_path, many)
    await again.follow(changes(1, begin=31))
    await again.rest()
    kept = Shelf(tmp_path, Maker(DIMENSION, "tests", graphs=True)).load()
    assert [view.graph is not None for view in kept.views] == [True, False]
    await again.aclose()


async def test_tidying_drops_dead_records_and_writes_what_is_not_on_disk(tmp_path: Path) -> None:
    index = await opened(tmp_path, replace(LOW, graph_from=1_000))
    await index.follow(changes(10))
    await index.follow([make_removal(50, 1), make_removal(51, 2)])
    assert (index.stats()["records"], index.stats()["rows"]) == (8, 10)
    assert await index.tidy() == 2
    await index.rest()
    assert (index.stats()["records"], index.stats()["rows"]) == (8, 8)
    on_disk = Shelf(tmp_path, Maker(DIMENSION, "tests", graphs=True)).load()
    assert on_disk.position == 51
    assert [view.segment.size for view in on_disk.views] == [8]
    written = (tmp_path / "manifest.json").stat().st_mtime_ns
    assert await index.tidy() == 0
    await index.rest()
    assert (tmp_path / "manifest.json").stat().st_mtime_ns == written
    await index.aclose()
    with pytest.raises(UnavailableError):
        await index.tidy()


async def test_what_is_kept_is_where_a_killed_process_begins_again(tmp_path: Path) -> None:
    index = await opened(tmp_path)
    assert index.kept == 0
    await index.follow(changes(3))
    assert index.kept == 0
    await index.tidy()
    await index.rest()
    assert index.kept == 3
    again = await opened(tmp_path)  # as if the first one had been killed
    assert await again.position() == again.kept == 3
    await again.aclose()
    await index.aclose()


async def test_tidying_leaves_a_graph_alone_that_few_died_in() -> None:
    index = await opened(None)
    await index.follow(changes(30))
    await index.rest()
    await index.follow([make_removal(50, 1)])
    assert await index.tidy() == 0
    assert index.stats()["graph_rows"] == 30
    await index.aclose()


async def test_removed_records_leave_no_segment_behind() -> None:
    index = await opened(None)
    await index.follow(changes(3))
    await index.follow([make_removal(9 + i, i) for i in (1, 2, 3)])
    stats = index.stats()
    assert stats.pop("position") == 12
    assert set(stats.values()) == {0}
    await index.aclose()


async def test_a_full_disk_is_no_error_of_the_index(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "taken").write_text("a file where the directory should be")
    index = await opened(tmp_path / "taken")
    await index.follow(changes(3))
    await index.aclose()
    assert "was not written" in caplog.text


@pytest.mark.parametrize("tag", [None, "kind=rare"])
@pytest.mark.parametrize("limit", [1, 7, 40])
async def test_a_graph_asked_for_too_little_never_gives_fewer_than_there_are(
    tag: str | None, limit: int
) -> None:
    rules = replace(LOW, graph_floor=1, oversample=0, neighbour_cost=1e-6)
    index = await opened(None, rules)
    log = [
        make_change(
            i,
            make_record(i, f"viking://resources/{i:03}", tags=() if i % 10 else ("kind=rare",)),
            ["cache"],
            [i],
        )
        for i in range(1, 301)
    ]
    await index.follow(log)
    await index.rest()
    where = Everything() if tag is None else Tagged(tag)
    [hits] = await index.search([replace(QUESTION, where=where, limit=limit, terms=())])
    assert len(hits) == min(limit, 300 if tag is None else 30)
    stats = index.stats()
    assert stats["plan_neighbours"] == 1
    assert stats.get("plan_widened", 0) > 0 or limit == 1
    await index.aclose()


async def test_it_says_whether_it_scanned_went_through_the_graph_or_by_words_alone() -> None:
    index = await opened(None)
    await index.follow(changes(30))
    await index.rest()
    unknown = replace(QUESTION, terms=("nowhere",))
    by_words = replace(QUESTION, vector=None)
    nothing = replace(QUESTION, where=Tagged("no=where"))
    assert await index.explain([QUESTION, unknown, by_words, nothing]) == [
        "graph search among 30 vectors, the nearest scored exactly; words looked up",
        "graph search among 30 vectors, the nearest scored exactly; no word of it occurs",
        "words looked up; no vector to compare",
        "no candidate has a vector; words looked up",
    ]
    await index.aclose()
    with pytest.raises(UnavailableError):
        await index.explain([QUESTION])


async def test_where_the_graph_gave_too_little_it_says_that_it_scanned() -> None:
    rules = replace(LOW, graph_floor=1, oversample=0, neighbour_cost=1, read_cost=1, gather_cost=1)
    index = await opened(None, rules)
    await index.follow(changes(30))
    await index.rest()
    assert await index.explain([QUESTION]) == ["exact scan of 30 vectors; words looked up"]
    await index.search([QUESTION])
    assert index.stats()["plan_widened"] > 0
    await index.aclose()


async def test_explaining_counts_no_plans_and_a_search_explains_nothing() -> None:
    index = await opened(None)
    await index.follow(changes(3))
    before = index.stats()
    await index.explain([QUESTION])
    assert index.stats() == before
    await index.aclose()


async def test_a_dialogue_is_answered_against_one_state_whatever_is_followed_meanwhile() -> None:
    index = await opened(None)
    await index.follow(changes(3))
    begun, gone_on = threading.Event(), threading.Event()

    def dialogue() -> Dialogue[tuple[int, int]]:
        probe = Probe(Scope("acme", "ann", (ROOT,)), Everything(), 100, unit(1))
        (first,) = yield [probe]
        begun.set()
        assert gone_on.wait(20)
        (second,) = yield [probe]
        return len(first), len(second)

    told = asyncio.create_task(index.converse(dialogue()))
    await asyncio.to_thread(begun.wait, 20)
    await index.follow(changes(3, begin=4))
    gone_on.set()
    assert await told == (3, 3)
    await index.aclose()
