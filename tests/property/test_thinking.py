"""With a perfect judge the walk ends in its order; with a broken one, where find ends."""

from collections.abc import Mapping, Sequence
from typing import cast

from hypothesis import given, settings
from hypothesis import strategies as st

from contextfind.adapters.memory.index import MemoryIndex
from contextfind.domain.errors import UnavailableError
from contextfind.domain.filters import Everything, Filter
from contextfind.domain.records import Level, Passage, RecordId, shown_address
from contextfind.domain.scope import Scope
from contextfind.domain.scoring import Calibration, ScoreRules
from contextfind.domain.uri import ROOT
from contextfind.ports import Change, RecordStore
from contextfind.retrieval.frontier import Scored, WalkRules
from contextfind.retrieval.reranking import Hearing, Panel
from contextfind.retrieval.walk import Ask, HierarchicalRetriever, Walk
from tests.builders import make_change, make_passages, make_record
from tests.fakes import SimpleTokenizer
from tests.property.test_walk import ENDLESS, QUERY, TERMS, grow
from tests.strategies import filters

SCOPE = Scope("acme", "ann", (ROOT,))
LEAST = 1e-8  # what a reranker gives nothing is shown with, so that the rest can stand below it


class Told:
    """A reranker that knows what each record deserves: its text is the record's number."""

    def __init__(self, deserved: Mapping[int, float | None], fails_at: int | None = None) -> None:
        self.batches: list[list[int]] = []
        self._deserved = deserved
        self._fails_at = fails_at

    async def rerank(self, query: str, documents: Sequence[str]) -> Sequence[float | None]:
        assert query == "undo"
        if len(self.batches) == self._fails_at:
            self._fails_at = len(self.batches)
            raise UnavailableError("the reranker is down")
        self.batches.append([int(text) for text in documents])
        return [self._deserved[number] for number in self.batches[-1]]


class Numbered:
    """The one reading of the store that reranking needs."""

    async def passages(self, wanted: Sequence[tuple[RecordId, int]]) -> Sequence[Passage | None]:
        return [make_passages(str(number))[0] for number, _ in wanted]


async def think(
    log: list[Change],
    judge: Told | None,
    where: Filter | None = None,
    rules: WalkRules = ENDLESS,
    candidates: int = 1_000,
) -> Walk:
    index = MemoryIndex(SimpleTokenizer())
    await index.follow(log)
    panel = judge and Panel(judge, cast("RecordStore", Numbered()), candidates, 5)
    retriever = HierarchicalRetriever(index, Calibration(0.0, 1.0), ScoreRules(), rules)
    kept = Everything() if where is None else where
    ask = Ask(SCOPE, kept, 10, QUERY, TERMS, panel and Hearing(panel, "undo"))
    return await retriever.retrieve(ask)


def deserts(log: Sequence[Change], draw: st.DataObject, scores: st.SearchStrategy) -> dict:
    drawn = draw.draw(st.lists(scores, min_size=len(log), max_size=len(log)))
    return dict(zip((int(change.id) for change in log), drawn, strict=True))


def in_order(scored: Sequence[Scored]) -> bool:
    keys = [(-one.score, shown_address(one.hit.uri, one.hit.level)) for one in scored]
    return keys == sorted(keys)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32), size=st.integers(0, 40), where=filters, draw=st.data())
async def test_a_perfect_judge_is_followed_to_the_last_place(
    seed: int, size: int, where: Filter, draw: st.DataObject
) -> None:
    log = grow(seed, size)
    deserved = deserts(log, draw, st.floats(0, 1).map(lambda score: round(score, 9)))
    found = (await think(log, Told(deserved), where)).ranked()
    assert [one.score for one in found] == [max(deserved[one.hit.id], LEAST) for one in found]
    assert in_order(found)
    flat = (await think(log, None, where)).ranked()
    assert {one.hit.id for one in found} == {one.hit.id for one in flat}


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    candidates=st.integers(1, 12),
    fails_at=st.none() | st.integers(1, 3),
    draw=st.data(),
)
async def test_bounded_batches_rank_what_was_read_above_what_was_not(
    seed: int, candidates: int, fails_at: int | None, draw: st.DataObject
) -> None:
    log = grow(seed, 40)
    deserved = deserts(log, draw, st.floats(0, 1))
    judge = Told(deserved, fails_at)
    walk = await think(log, judge, None, WalkRules(), candidates)
    found = walk.ranked()
    read = [number for batch in judge.batches for number in batch]
    assert len(read) == len(set(read))
    assert all(0 < len(batch) <= candidates for batch in judge.batches)
    assert len(judge.batches) <= walk.frontier.rounds + 1
    lowest = max(min(round(deserved[number], 9) for number in read), LEAST)
    assert all(one.score <= lowest for one in found if one.hit.id not in read)
    assert [one.reranked is not None for one in found] == [one.hit.id in read for one in found]
    assert in_order(found)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32), where=filters)
async def test_a_judge_that_is_down_leaves_the_answers_of_find(seed: int, where: Filter) -> None:
    log = grow(seed, 40)
    walk = await think(log, Told({}, fails_at=0), where)
    assert walk.ranked() == (await think(log, None, where)).ranked()
    is_told = walk.notes == ["not reranked: the reranker is down"]
    assert is_told == bool(walk.ranked())
    holes = Told({int(change.id): None for change in log})
    assert (await think(log, holes, where)).ranked() == walk.ranked()


async def test_thinking_finds_what_only_the_judge_likes_where_find_stopped_looking() -> None:
    """The judge likes a file, so its directory is opened, and so its neighbour is read."""
    log: list[Change] = []
    for number in range(40):
        uri = f"viking://resources/d{number:02}/a.md"
        record = make_record(len(log) + 1, uri, Level.DETAIL)
        log.append(make_change(len(log) + 1, record, ["rollback"], [3]))
    hidden = make_record(len(log) + 1, "viking://resources/d33/hidden.md", Level.DETAIL)
    log.append(make_change(len(log) + 1, hidden, ["nothing alike"], [5]))
    deserved: dict[int, float | None] = {int(change.id): 0.1 for change in log}
    deserved[34], deserved[int(hidden.id)] = 0.8, 0.9
    rules = WalkRules(candidates=40)
    walk = await think(log, Told(deserved), None, rules, candidates=40)
    assert [one.hit.uri.text for one in walk.ranked(2)] == [
        "viking://resources/d33/hidden.md",
        "viking://resources/d33/a.md",
    ]
    assert walk.frontier.opened[0].uri.name == "d33"
