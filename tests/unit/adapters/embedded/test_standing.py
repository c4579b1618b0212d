"""An index built anew beside itself: nobody notices, whatever happens meanwhile."""

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from contextfind.adapters.embedded.index import EmbeddedIndex
from contextfind.adapters.embedded.rules import IndexRules
from contextfind.adapters.embedded.standing import StandingIndex
from contextfind.domain.errors import UnavailableError
from contextfind.domain.filters import Everything
from contextfind.domain.scope import Scope
from contextfind.domain.uri import ROOT
from contextfind.ports.index import Dialogue, Hits, Probe
from contextfind.ports.store import Change
from tests.builders import DIMENSION, make_change, make_record, make_removal, unit
from tests.fakes import SimpleTokenizer

QUESTION = Probe(Scope("acme", "ann", (ROOT,)), Everything(), 2_000, unit(3), ("cache",))
RULES = IndexRules(
    exact_below=0, graph_from=200, neighbour_cost=0.0, quiet_seconds=0.0, write_after=1
)
COUNT = 1_200


def changes(count: int = COUNT, begin: int = 1) -> list[Change]:
    return [
        make_change(i, make_record(i, f"viking://resources/{i:04}.md"), ["cache"], [i])
        for i in range(begin, begin + count)
    ]


class Log:
    """A store's log that grows while it is read."""

    def __init__(self, kept: Sequence[Change]) -> None:
        self.kept = list(kept)
        self.faults = 0

    async def __call__(self, after: int, limit: int) -> Sequence[Change]:
        if self.faults:
            self.faults -= 1
            raise UnavailableError("the disk does not answer")
        return [change for change in self.kept if change.position > after][:limit]


async def quiet(position: int) -> None:
    assert position > 0


async def opened(directory: Path) -> StandingIndex:
    async def opening(place: Path) -> EmbeddedIndex:
        return await EmbeddedIndex.open(place, DIMENSION, "tests", SimpleTokenizer(), RULES)

    return await StandingIndex.open(directory, opening)


async def ids(index: StandingIndex) -> list[int]:
    (hits,) = await index.search([QUESTION])
    return sorted(int(hit.id) for hit in hits)


def conversing() -> Dialogue[int]:
    hits: Sequence[Hits] = []
    for _ in range(3):
        hits = yield [QUESTION]
    return len(list(hits[0]))


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


async def test_searches_and_dialogues_find_the_same_all_the_time(tmp_path: Path) -> None:
    index = await opened(tmp_path / "index")
    await index.follow(changes())
    wanted = await ids(index)
    answers = []
    rebuilding = asyncio.create_task(index.rebuild(Log(changes()), quiet))
    while not rebuilding.done():
        answers.append(await ids(index))
        assert await index.converse(conversing()) == COUNT
    await rebuilding
    assert len(answers) > 1
    assert all(answer == wanted for answer in answers)
    assert await ids(index) == wanted
    assert index.stats()["graph_rows"] == COUNT  # it was not put in place without
    await index.rest()
    assert await index.kept() == COUNT
    await index.aclose()
    assert names(tmp_path) == ["index"]
    again = await opened(tmp_path / "index")
    assert (await again.position(), await ids(again)) == (COUNT, wanted)
    await again.aclose()


async def test_what_comes_meanwhile_is_in_both(tmp_path: Path) -> None:
    index = await opened(tmp_path / "index")
    log = Log(changes())
    await index.follow(log.kept)
    wrote = False

    async def step(position: int) -> None:
        nonlocal wrote
        assert await index.kept() == 0  # the log is needed from its beginning
        if not wrote and position > COUNT // 2:
            wrote = True
            more = [*changes(3, COUNT + 1), make_removal(COUNT + 4, 1)]
            log.kept = [change for change in log.kept if change.id != 1] + more
            await index.follow(more)

    await index.rebuild(log, step)
    assert await index.position() == COUNT + 4
    assert await ids(index) == list(range(2, COUNT + 4))
    await index.aclose()


async def test_one_that_holds_what_the_log_does_not_know_is_rid_of_it(tmp_path: Path) -> None:
    index = await opened(tmp_path / "index")
    await index.follow(changes(10))
    await index.rebuild(Log(changes(10)[1:]), quiet)
    assert await ids(index) == list(range(2, 11))
    await index.aclose()


@pytest.mark.parametrize("how", ["fault", "cancelled"])
async def test_the_old_one_stays_when_building_breaks_off(tmp_path: Path, how: str) -> None:
    index = await opened(tmp_path / "index")
    log = Log(changes())
    await index.follow(log.kept)
    if how == "fault":
        log.faults = 1
        with pytest.raises(UnavailableError):
            await index.rebuild(log, quiet)
    else:
        begun, never = asyncio.Event(), asyncio.Event()

        async def step(position: int) -> None:
            assert position > 0
            begun.set()
            await never.wait()

        task = asyncio.create_task(index.rebuild(log, step))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert await ids(index) == list(range(1, COUNT + 1))
    await index.rest()
    assert await index.kept() == COUNT
    assert await asyncio.to_thread(names, tmp_path) == ["index"]
    await index.rebuild(log, quiet)
    assert await ids(index) == list(range(1, COUNT + 1))
    await index.aclose()


async def test_records_with_damaged_vectors_are_told_and_found_by_words(tmp_path: Path) -> None:
    index = await opened(tmp_path / "index")
    log = Log(changes(9))
    await index.follow(log.kept)
    log.kept[4] = replace(log.kept[4], vectors=np.full((1, DIMENSION), np.nan, np.float32))
    assert await index.rebuild(log, quiet) == [5]
    assert await ids(index) == list(range(1, 10))
    await index.aclose()


async def test_what_a_crash_left_beside_it_is_removed(tmp_path: Path) -> None:
    (tmp_path / "index.new").mkdir()
    (tmp_path / "index.new" / "half.segment").write_bytes(b"half")
    (tmp_path / "index.old").mkdir()
    index = await opened(tmp_path / "index")
    assert await asyncio.to_thread(names, tmp_path) == []
    await index.follow(changes(3))
    await index.aclose()
    assert await asyncio.to_thread(names, tmp_path) == ["index"]


async def test_two_that_ask_at_once_have_it_built_one_after_the_other(tmp_path: Path) -> None:
    index = await opened(tmp_path / "index")
    await index.follow(changes(50))
    await asyncio.gather(*(index.rebuild(Log(changes(50)), quiet) for _ in range(2)))
    assert await ids(index) == list(range(1, 51))
    await index.aclose()


async def test_a_new_index_that_cannot_be_opened_leaves_the_log_to_be_forgotten(
    tmp_path: Path,
) -> None:
    full = False

    async def opening(place: Path) -> EmbeddedIndex:
        if full:
            raise OSError(28, "no space left on device")
        return await EmbeddedIndex.open(place, DIMENSION, "tests", SimpleTokenizer(), RULES)

    index = await StandingIndex.open(tmp_path / "index", opening)
    await index.follow(changes(10))
    await index.aclose()
    index = await StandingIndex.open(tmp_path / "index", opening)
    full = True
    with pytest.raises(OSError, match="no space"):
        await index.rebuild(Log(changes(10)), quiet)
    assert await index.kept() == 10
    await index.aclose()


class StubbornDisk:
    """Renames no directory that was built beside another, as long as it `refuses`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.refuses = True
        rename = Path.rename

        def stubborn(place: Path, target: Path) -> Path:
            if self.refuses and place.name.endswith(".new"):
                raise OSError(13, "permission denied")
            return rename(place, target)

        monkeypatch.setattr(Path, "rename", stubborn)


async def test_one_that_cannot_take_its_place_answers_and_the_old_one_stays_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = await opened(tmp_path / "index")
    await index.follow(changes(300))
    await index.tidy()
    await index.rest()
    before = await asyncio.to_thread(names, tmp_path / "index")
    StubbornDisk(monkeypatch)
    await index.rebuild(Log(changes(300)[1:]), quiet)
    assert await ids(index) == list(range(2, 301))
    assert await index.kept() == 0  # what lies in the place of the index needs the log
    assert await asyncio.to_thread(names, tmp_path / "index") == before
    await index.aclose()
    again = await opened(tmp_path / "index")
    assert await ids(again) == list(range(1, 301))
    await again.aclose()


async def test_the_next_building_first_lets_the_last_one_take_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = await opened(tmp_path / "index")
    await index.follow(changes(300))
    disk = StubbornDisk(monkeypatch)
    log = Log(changes(300)[1:])
    await index.rebuild(log, quiet)
    with pytest.raises(UnavailableError, match="take its place"):
        await index.rebuild(log, quiet)
    log.kept += changes(1, 301)
    await index.follow(log.kept)  # merged and written where it lies
    await index.tidy()
    await index.rest()
    assert await ids(index) == list(range(2, 302))
    disk.refuses = False
    await index.rebuild(log, quiet)
    assert await ids(index) == list(range(2, 302))
    await index.aclose()
    assert await asyncio.to_thread(names, tmp_path) == ["index"]
    again = await opened(tmp_path / "index")
    assert (await again.position(), await ids(again)) == (301, list(range(2, 302)))
    await again.aclose()


async def test_a_building_waits_for_the_change_of_one_whose_caller_has_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = await opened(tmp_path / "index")
    await index.follow(changes(50))
    moving, may_move = threading.Event(), threading.Event()
    rename = Path.rename

    def slow(place: Path, target: Path) -> Path:
        if place.name.endswith(".new") and not moving.is_set():
            moving.set()
            may_move.wait(30)
        return rename(place, target)

    monkeypatch.setattr(Path, "rename", slow)
    first = asyncio.create_task(index.rebuild(Log(changes(50)), quiet))
    await asyncio.to_thread(moving.wait, 30)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    broken = Log([])
    broken.faults = 1
    second = asyncio.create_task(index.rebuild(broken, quiet))
    await asyncio.sleep(0.05)  # in which it would take the place of the first
    may_move.set()
    with pytest.raises(UnavailableError, match="does not answer"):
        await second
    assert await ids(index) == list(range(1, 51))
    assert await asyncio.to_thread(names, tmp_path) == ["index"]
    await index.aclose()
    again = await opened(tmp_path / "index")
    assert await ids(again) == list(range(1, 51))
    await again.aclose()
