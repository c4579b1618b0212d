"""Every engine behind the `SearchIndex` port, held to `matches`, `Scope.allows` and BM25 by hand."""

import math
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contextfind.adapters.embedded.index import EmbeddedIndex
from contextfind.adapters.embedded.standing import StandingIndex
from contextfind.adapters.memory.index import MemoryIndex
from contextfind.adapters.postgres.place import Place
from contextfind.domain.errors import InvalidArgumentError
from contextfind.domain.filters import (
    And,
    Contains,
    Everything,
    Not,
    Numbered,
    OneOf,
    Or,
    Tagged,
    Used,
    matches,
)
from contextfind.domain.records import Level, RecordId
from contextfind.domain.scope import Scope
from contextfind.domain.uri import ROOT, Uri
from contextfind.ports.index import SUPPORTERS, Dialogue, Hit, Probe, SearchIndex
from contextfind.ports.store import Change
from tests import databases
from tests.builders import (
    DIMENSION,
    make_change,
    make_passages,
    make_record,
    make_removal,
    unit,
)
from tests.clusters import SERVER, engine_index, miserly_index, server_index
from tests.fakes import SimpleTokenizer
from tests.indexes import MISERLY, postgres_indexes
from tests.strategies import last_changes, logs, probes

MakeIndex = Callable[[], Awaitable[SearchIndex]]
ANN = Scope("acme", "ann", (ROOT,))


async def _memory() -> SearchIndex:
    return MemoryIndex(SimpleTokenizer(), DIMENSION)


async def _embedded() -> SearchIndex:
    return await EmbeddedIndex.open(None, DIMENSION, "tests", SimpleTokenizer())


async def _standing() -> SearchIndex:
    """Return one that took the place of another."""

    async def opening(_: Path) -> EmbeddedIndex:
        return await EmbeddedIndex.open(None, DIMENSION, "tests", SimpleTokenizer())

    async def log(after: int, limit: int) -> Sequence[Change]:
        raise AssertionError(f"there is no log after {after}, of {limit}")

    async def step(position: int) -> None:
        raise AssertionError(f"there is no position {position}")

    index = await StandingIndex.open(Path("nowhere"), opening)
    await index.rebuild(log, step)
    return index


ENGINES: dict[str, MakeIndex] = {
    "embedded": _embedded,
    "memory": _memory,
    "qdrant": miserly_index,
    "qdrant engine": engine_index,
    "standing": _standing,
}
if SERVER:
    ENGINES["qdrant server"] = server_index
SLOW = {"qdrant engine", "qdrant server"}  # 15 s on a quiet machine


POSTGRES = {"postgres": None, "postgres miserly": MISERLY}


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    """Return one schema for all tests, which takes longer to make than most of them."""
    made = databases.place()
    yield made
    databases.drop(made.schema)


OTHERS = [
    pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in sorted(ENGINES)
]


@pytest.fixture(params=[*OTHERS, *sorted(POSTGRES)])
async def make_index(request: pytest.FixtureRequest, place: Place) -> AsyncIterator[MakeIndex]:
    if request.param in ENGINES:
        yield ENGINES[request.param]
        return
    async with postgres_indexes(place, POSTGRES[request.param]) as make:
        yield make


@pytest.fixture
async def index(make_index: MakeIndex) -> AsyncIterator[SearchIndex]:
    made = await make_index()
    yield made
    await made.aclose()


def ask(
    *terms: str,
    seed: int | None = None,
    limit: int = 10,
    scope: Scope = ANN,
    tag: str | None = None,
) -> Probe:
    where = Everything() if tag is None else Tagged(tag)
    return Probe(scope, where, limit, None if seed is None else unit(seed), terms)


async def answer(index: SearchIndex, probe: Probe) -> list[Hit]:
    [hits] = await index.search([probe])
    return list(hits)


@dataclass(frozen=True)
class Expected:
    change: Change
    passage: int
    cosine: float | None
    words: float
    known: float
    support: float | None
    phrases: float


def _words(probe: Probe, seen: Sequence[Change]) -> tuple[Callable[[str], float], float]:
    bags = [SimpleTokenizer().terms(p.indexed_text) for c in seen for p in c.passages]
    terms = set(probe.terms)
    idf = {}
    known = 0.0
    for term in terms:
        df = len([bag for bag in bags if term in bag])
        idf[term] = math.log(1 + (len(bags) - df + 0.5) / (df + 0.5))
        known += idf[term] if df else 0.0

    def score(text: str) -> float:
        bag = SimpleTokenizer().terms(text)
        norm = 0.7 * (0.6 + 0.4 * len(bag) * len(bags) / max(sum(map(len, bags)), 1))
        gains = [idf[t] * bag.count(t) / (bag.count(t) + norm) for t in sorted(terms) if t in bag]
        return sum(gains) / sum(idf.values()) if gains else 0.0

    return score, known / sum(idf.values()) if known else 0.0


def _phrases(change: Change, probe: Probe, seen: Sequence[Change]) -> float:
    """Say the definition again: pairs of neighbours in the question that are neighbours in a passage."""
    bags = [SimpleTokenizer().terms(p.indexed_text) for c in seen for p in c.passages]

    def idf(term: str) -> float:
        df = len([bag for bag in bags if term in bag])
        return math.log(1 + (len(bags) - df + 0.5) / (df + 0.5))

    def pairs(terms: Sequence[str]) -> set[frozenset[str | None]]:
        spaced = [term if term.isascii() else None for term in terms]  # all others here are Han
        return {frozenset(p) for p in pairwise(spaced) if None not in p and len(set(p)) > 1}

    asked = pairs(probe.terms)
    held = [asked & pairs(SimpleTokenizer().terms(p.indexed_text)) for p in change.passages]
    worth = [sum(sum(idf(t or "") for t in pair) / 2 for pair in some) for some in held]
    return max(worth) / sum(idf(term) for term in sorted(set(probe.terms)))


def expected(log: Sequence[Change], probe: Probe) -> dict[RecordId, Expected]:
    """Score everything allowed and matching, in float64, without an index."""
    kept = [c for c in last_changes(log).values() if c.record is not None]
    seen = [
        c
        for c in kept
        if c.record is not None
        and c.record.account == probe.scope.account
        and c.record.owner in ("", probe.scope.user)
    ]
    score, known = _words(probe, seen)
    found = {}
    for change in seen:
        record = change.record
        assert record is not None
        if not (probe.scope.allows(record) and matches(probe.where, record) and change.passages):
            continue
        words = [score(p.indexed_text) for p in change.passages]
        cosines = None
        if probe.vector is not None and change.vectors is not None:
            cosines = [float(np.dot(v.astype(np.float64), probe.vector)) for v in change.vectors]
        sums = np.round(np.add(words, cosines or 0.0), 9)
        found[change.id] = Expected(
            change,
            int(np.argmax(sums)),
            None if cosines is None else max(cosines),
            max(words),
            known,
            None if cosines is None else float(np.mean(sorted(cosines)[-SUPPORTERS:])),
            _phrases(change, probe, seen) if known else 0.0,
        )
    return found


def _place(change: Change) -> tuple[str, str, int]:
    assert change.record is not None
    parent = change.record.parent
    return (parent.folder if parent else "", change.record.name, int(change.record.level))


def chosen(found: dict[RecordId, Expected], limit: int) -> set[RecordId]:
    near = [e for e in found.values() if e.cosine is not None]
    near.sort(key=lambda e: (-round(e.cosine or 0.0, 6), _place(e.change)))
    telling = [e for e in found.values() if e.words > 0]
    telling.sort(key=lambda e: (-round(e.words, 9), _place(e.change)))
    return {e.change.id for e in (*near[:limit], *telling[:limit])}


def check(hits: Sequence[Hit], log: Sequence[Change], probe: Probe) -> None:
    found = expected(log, probe)
    assert {hit.id for hit in hits} == chosen(found, probe.limit)
    order = [_place(found[hit.id].change) for hit in hits]
    assert order == sorted(order)
    assert len(set(order)) == len(order)
    for hit in hits:
        want = found[hit.id]
        assert want.change.record is not None
        assert (hit.uri, hit.level) == (want.change.record.uri, want.change.record.level)
        assert hit.passage == want.passage
        assert hit.words == pytest.approx(want.words, abs=1e-5)
        assert hit.known == pytest.approx(want.known, abs=1e-9)
        assert hit.cosine == (None if want.cosine is None else pytest.approx(want.cosine, abs=1e-5))
        assert hit.support == (
            None if want.support is None else pytest.approx(want.support, abs=1e-5)
        )
        assert hit.phrases == pytest.approx(want.phrases, abs=1e-9)
        best = want.change.passages[want.passage].indexed_text
        assert hit.shared == set(probe.terms) & set(SimpleTokenizer().terms(best))


async def check_definition(
    make_index: MakeIndex, log: list[Change], questions: list[Probe]
) -> None:
    index = await make_index()
    try:
        await index.follow(log)
        answers = await index.search(questions)
        assert len(answers) == len(questions)
        for hits, probe in zip(answers, questions, strict=True):
            check(hits, log, probe)
    finally:
        await index.aclose()


logs_and_questions = given(log=logs(), questions=st.lists(probes(), min_size=1, max_size=4))
_one_maker = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.parametrize("make_index", OTHERS, indirect=True)
@logs_and_questions
@settings(_one_maker, max_examples=50)
async def test_hits_are_those_of_the_definition(
    make_index: MakeIndex, log: list[Change], questions: list[Probe]
) -> None:
    await check_definition(make_index, log, questions)


@pytest.mark.parametrize("make_index", POSTGRES, indirect=True)
@logs_and_questions
@settings(_one_maker, max_examples=15)  # each of them makes tables
async def test_hits_in_postgres_are_those_of_the_definition(
    make_index: MakeIndex, log: list[Change], questions: list[Probe]
) -> None:
    await check_definition(make_index, log, questions)


@pytest.mark.slow
@pytest.mark.parametrize("make_index", [*OTHERS, *POSTGRES], indirect=True)
@logs_and_questions
@settings(_one_maker, max_examples=300)
async def test_hits_of_very_many_are_those_of_the_definition(
    make_index: MakeIndex, log: list[Change], questions: list[Probe]
) -> None:
    await check_definition(make_index, log, questions)


async def test_an_empty_index_finds_nothing(index: SearchIndex) -> None:
    assert await index.position() == 0
    assert await answer(index, ask("cache", seed=1)) == []
    assert list(await index.search([])) == []


async def test_a_probe_without_vector_and_terms_finds_nothing(index: SearchIndex) -> None:
    await index.follow([make_change(1, make_record(), ["cache"], [1])])
    assert await answer(index, ask()) == []


async def test_a_filter_that_allows_no_level_finds_nothing(index: SearchIndex) -> None:
    await index.follow(
        [make_change(i, make_record(i, f"viking://resources/{i}.md"), ["cache"]) for i in (1, 2, 3)]
    )
    nothing = OneOf("level", frozenset())
    for asked in (ask("cache"), ask("cache", seed=1)):
        assert await answer(index, replace(asked, where=nothing)) == []


async def test_both_channels_put_records_forward_and_both_are_scored(index: SearchIndex) -> None:
    await index.follow(
        [
            make_change(1, make_record(1, "viking://resources/b.md"), ["cache"], [2]),
            make_change(2, make_record(2, "viking://resources/a.md"), ["deploy"], [1]),
            make_change(3, make_record(3, "viking://resources/c.md"), ["deploy"], [3]),
        ]
    )
    hits = await answer(index, ask("cache", seed=1, limit=1))
    assert [hit.id for hit in hits] == [2, 1]
    assert hits[0].cosine == pytest.approx(1.0, abs=1e-6)
    assert hits[0].words == 0.0
    assert hits[1].cosine == pytest.approx(float(unit(1) @ unit(2)), abs=1e-6)
    assert hits[1].words > 0


async def test_ties_go_to_the_earlier_one_in_tree_order(index: SearchIndex) -> None:
    uris = ["viking://resources/z.md", "viking://resources/a/z.md", "viking://resources/b.md"]
    await index.follow(
        [make_change(i, make_record(i, uri), ["cache"], [1]) for i, uri in enumerate(uris, 1)]
    )
    hits = await answer(index, ask("cache", seed=1, limit=2))
    assert [hit.uri.text for hit in hits] == [
        "viking://resources/b.md",
        "viking://resources/z.md",
    ]


async def test_levels_of_a_directory_are_listed_in_its_parent(index: SearchIndex) -> None:
    await index.follow(
        [
            make_change(1, make_record(1, "viking://resources/d/f.md"), ["cache"]),
            make_change(2, make_record(2, "viking://resources/d", Level.OVERVIEW), ["cache"]),
            make_change(3, make_record(3, "viking://resources/d", Level.ABSTRACT), ["cache"]),
            make_change(4, make_record(4, "viking://resources", Level.ABSTRACT), ["cache"]),
        ]
    )
    assert [hit.id for hit in await answer(index, ask("cache"))] == [4, 3, 2, 1]
    below = Scope("acme", "ann", (Uri.parse("viking://resources/d"),))
    assert [hit.id for hit in await answer(index, ask("cache", scope=below))] == [3, 2, 1]


async def test_a_record_is_found_by_its_best_passage(index: SearchIndex) -> None:
    await index.follow([make_change(1, make_record(), ["deploy", "cache", "cache"], [3, 1, 1])])
    [hit] = await answer(index, ask("cache", seed=1))
    assert hit.passage == 1
    assert hit.cosine == pytest.approx(1.0, abs=1e-6)


async def test_its_best_four_passages_support_a_record(index: SearchIndex) -> None:
    await index.follow([make_change(1, make_record(), ["a", "b", "c", "d", "e"], [1, 2, 1, 3, 1])])
    await index.follow([make_change(2, make_record(2, "viking://resources/one.md"), ["f"], [2])])
    others = sorted(float(unit(1) @ unit(seed)) for seed in (2, 3))
    many, one = await answer(index, ask(seed=1))
    assert many.support == pytest.approx((3 * 1.0 + others[1]) / 4, abs=1e-6)
    assert one.support == one.cosine


async def test_words_side_by_side_are_a_phrase_in_either_order(index: SearchIndex) -> None:
    texts = {"deploy cache": 1, "cache deploy": 1, "deploy the cache": 0, "deploy": 0}
    await index.follow(
        [
            make_change(i, make_record(i, f"viking://resources/{i}.md"), [text])
            for i, text in enumerate(texts, 1)
        ]
    )
    hits = await answer(index, ask("deploy", "cache"))
    idf = {"deploy": math.log(1 + 0.5 / 4.5), "cache": math.log(1 + 1.5 / 3.5)}
    whole = (idf["deploy"] + idf["cache"]) / 2 / sum(idf.values())
    assert [hit.phrases for hit in hits] == pytest.approx([whole * n for n in texts.values()])


async def test_a_phrase_puts_nothing_forward(index: SearchIndex) -> None:
    await index.follow(
        [
            make_change(1, make_record(1, "viking://resources/1.md"), ["deploy x cache cache"]),
            make_change(2, make_record(2, "viking://resources/2.md"), ["deploy cache x x"]),
        ]
    )
    assert [hit.id for hit in await answer(index, ask("deploy", "cache", limit=1))] == [1]


async def test_records_without_vectors_are_found_by_words_only(index: SearchIndex) -> None:
    await index.follow([make_change(1, make_record(), ["cache"])])
    assert await answer(index, ask(seed=1)) == []
    [hit] = await answer(index, ask("cache", seed=1))
    assert hit.cosine is None


async def test_unknown_terms_count_with_the_largest_idf(index: SearchIndex) -> None:
    await index.follow([make_change(1, make_record(), ["cache"])])
    [alone] = await answer(index, ask("cache"))
    [diluted] = await answer(index, ask("cache", "unheard"))
    known, unknown = math.log(1 + 0.5 / 1.5), math.log(1 + 1.5 / 0.5)
    assert diluted.words == pytest.approx(alone.words * known / (known + unknown))


async def test_repeated_terms_are_ignored(index: SearchIndex) -> None:
    await index.follow([make_change(1, make_record(), ["cache deploy"])])
    assert await answer(index, ask("cache", "cache", "deploy")) == await answer(
        index, ask("deploy", "cache")
    )


async def test_other_tenants_and_users_are_never_found_and_move_no_score(
    index: SearchIndex,
) -> None:
    await index.follow(
        [
            make_change(1, make_record(1), ["cache the deploy"], [1]),
            make_change(2, make_record(2, "viking://user/ann/x.md"), ["cache"], [2]),
        ]
    )
    before = await answer(index, ask("cache", "deploy", seed=1))
    foreign = [
        make_change(3 + i, make_record(3 + i, uri, account=account), ["cache deploy " * 9], [1])
        for i, (account, uri) in enumerate(
            [
                ("bolt", "viking://resources/a.md"),
                ("bolt", "viking://user/ann/x.md"),
                ("acme", "viking://user/ben/x.md"),
            ]
        )
    ]
    await index.follow(foreign)
    assert await answer(index, ask("cache", "deploy", seed=1)) == before


async def test_targets_do_not_move_scores(index: SearchIndex) -> None:
    await index.follow(
        [
            make_change(1, make_record(1, "viking://resources/a/x.md"), ["cache deploy"]),
            make_change(2, make_record(2, "viking://resources/b/x.md"), ["cache the the the"]),
        ]
    )
    everywhere = await answer(index, ask("cache"))
    narrow = Scope("acme", "ann", (Uri.parse("viking://resources/a"),))
    assert await answer(index, ask("cache", scope=narrow)) == everywhere[:1]


async def test_deleted_records_are_gone_and_counted_no_more(index: SearchIndex) -> None:
    first = make_change(1, make_record(1), ["cache"], [1])
    await index.follow([first])
    before = await answer(index, ask("cache", seed=1))
    await index.follow([make_change(2, make_record(2, "viking://resources/b"), ["cache"], [1])])
    assert len(await answer(index, ask("cache", seed=1))) == 2
    await index.follow([make_removal(3, 2), make_removal(4, 99)])
    assert await answer(index, ask("cache", seed=1)) == before
    assert await index.position() == 4


async def test_an_update_replaces_text_vectors_and_tags(index: SearchIndex) -> None:
    record = make_record(1, tags=("lang=en",))
    await index.follow([make_change(1, record, ["cache"], [1])])
    await index.follow([make_change(2, replace(record, tags=("lang=zh",)), ["cache"], [1])])
    assert await answer(index, ask("cache", tag="lang=en")) == []
    assert len(await answer(index, ask("cache", tag="lang=zh"))) == 1
    await index.follow([make_change(3, record, ["deploy"])])
    assert await answer(index, ask("cache", seed=1)) == []
    assert len(await answer(index, ask("deploy", seed=1, tag="lang=en"))) == 1


async def test_a_record_loses_its_passages(index: SearchIndex) -> None:
    await index.follow([make_change(1, make_record(), ["cache"], [1])])
    await index.follow([make_change(2, make_record())])
    assert await answer(index, ask("cache", seed=1)) == []


async def test_the_line_of_context_is_indexed_with_the_text(index: SearchIndex) -> None:
    passages = make_passages("body", context="resources > cache")
    await index.follow([Change(1, RecordId(1), make_record(), passages)])
    assert len(await answer(index, ask("cache"))) == 1


async def test_following_again_changes_nothing(index: SearchIndex) -> None:
    log = [
        make_change(1, make_record(1), ["cache"], [1]),
        make_change(2, make_record(2, "viking://resources/b"), ["cache"], [2]),
        make_change(5, make_record(1), ["deploy"], [3]),
        make_removal(7, 2),
    ]
    await index.follow(log)
    before = await answer(index, ask("cache", "deploy", seed=1))
    await index.follow(log)
    await index.follow(log[:2])
    assert await answer(index, ask("cache", "deploy", seed=1)) == before
    assert await index.position() == 7


@pytest.mark.parametrize(
    "vector",
    [
        unit(1, DIMENSION + 1),
        unit(1, DIMENSION).reshape(1, -1),
        np.full(DIMENSION, np.nan, np.float32),
        np.full(DIMENSION, np.inf, np.float32),
    ],
    ids=["too long", "a matrix", "nan", "inf"],
)
async def test_a_vector_that_is_none_is_refused(
    index: SearchIndex, vector: np.ndarray[tuple[int, ...], np.dtype[np.float32]]
) -> None:
    await index.follow([make_change(1, make_record(), ["cache"], [1])])
    with pytest.raises(InvalidArgumentError):
        await index.search([ask("cache"), Probe(ANN, Everything(), 5, vector)])


async def test_stored_vectors_of_another_dimension_are_refused_and_nothing_moves(
    index: SearchIndex,
) -> None:
    change = make_change(1, make_record(), ["cache"], [1])
    with pytest.raises(InvalidArgumentError):
        await index.follow([replace(change, vectors=unit(1, DIMENSION + 3)[None, :])])
    assert await index.position() == 0
    assert await answer(index, ask("cache")) == []


async def test_what_only_the_store_knows_is_refused_and_never_answered_wrongly(
    index: SearchIndex,
) -> None:
    await index.follow([make_change(1, make_record(1), ["cache"], [1])])
    for condition in (Used(1, None), Contains("abstract", "a")):
        for where in (condition, Not(condition), And((Everything(), Or((condition,))))):
            with pytest.raises(InvalidArgumentError, match="search index cannot answer"):
                await index.search([Probe(ANN, where, 5, None, ("cache",))])


async def test_records_by_number_are_found_whatever_else_is_named(index: SearchIndex) -> None:
    records = [make_record(i, f"viking://resources/{9 - i}.md") for i in range(1, 9)]
    await index.follow([make_change(r.id, r, ["cache"], [1]) for r in records])
    await index.follow([make_removal(20, 3)])
    ids = [RecordId(number) for number in (7, 2, 3, 2, 0, 2**62)]
    for where, found in (
        (Numbered.of(ids), {2, 7}),
        (Not(Numbered.of(ids)), {1, 4, 5, 6, 8}),
        (Numbered.of([]), set()),
    ):
        hits = await answer(index, Probe(ANN, where, 50, unit(1), ("cache",)))
        assert {hit.id for hit in hits} == found


async def test_a_substring_of_a_name_or_a_tag_has_its_case(index: SearchIndex) -> None:
    records = [
        make_record(1, "viking://resources/Auth.md", tags=("lang=en", "team=ops")),
        make_record(2, "viking://resources/auth/b.md", tags=("lang=zh",)),
    ]
    await index.follow([make_change(r.id, r, ["cache"], [1]) for r in records])
    for where, found in (
        (Contains("name", "Auth"), {1}),
        (Contains("name", "auth"), set()),
        (Contains("name", ".m"), {1, 2}),
        (Contains("tags", "lang="), {1, 2}),
        (Contains("tags", "enteam"), set()),
        (Contains("tags", "=o"), {1}),
    ):
        hits = await answer(index, Probe(ANN, where, 50, unit(1), ()))
        assert {hit.id for hit in hits} == found


async def test_each_probe_is_explained_and_no_figure_counts_what_is_others(
    index: SearchIndex,
) -> None:
    mine = [
        make_change(i, make_record(i, f"viking://resources/{i}.md"), ["cache"], [i])
        for i in (1, 2, 3)
    ]
    others = [
        make_change(i, make_record(i, f"viking://resources/{i}.md", account="bolt"), ["cache"], [i])
        for i in range(4, 50)
    ]
    await index.follow([*mine, *others])
    wide, narrow = ask("cache", seed=3), ask("cache", seed=3, tag="no=where")
    told, nothing = await index.explain([wide, narrow])
    assert told.startswith("exact scan of 3 ")
    assert "3" not in nothing
    assert await index.explain([]) == []


async def test_a_dialogue_gets_the_hits_of_every_question_and_gives_what_it_returns(
    index: SearchIndex,
) -> None:
    await index.follow(
        [make_change(n, make_record(n, f"viking://resources/{n}.md"), [f"w{n}"]) for n in (1, 2)]
    )

    def dialogue() -> Dialogue[list[list[int]]]:
        (first,) = yield [ask("w1")]
        second, third = yield [ask("w2"), ask("none")]
        return [hits.ids.tolist() for hits in (first, second, third)]

    assert await index.converse(dialogue()) == [[1], [2], []]


async def test_what_goes_wrong_in_a_dialogue_comes_out(index: SearchIndex) -> None:
    def stumbling() -> Dialogue[None]:
        yield [ask("w1")]
        raise ValueError("stumbled")

    def asking_wrongly() -> Dialogue[None]:
        yield [replace(ask("w1"), vector=unit(1, DIMENSION + 1))]

    await index.follow([make_change(1, make_record(1), ["w1"])])
    with pytest.raises(ValueError, match="stumbled"):
        await index.converse(stumbling())
    with pytest.raises(InvalidArgumentError):
        await index.converse(asking_wrongly())
