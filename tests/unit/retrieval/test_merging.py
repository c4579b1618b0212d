"""Several queries of one request: one call of the embedder, one list, one order."""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from contextfind.domain.errors import UnavailableError
from contextfind.domain.filters import OneOf
from contextfind.domain.identity import Identity, RequestContext
from contextfind.domain.queries import FindQuestion, RetrieverMode, TypedQuery
from contextfind.domain.records import ContextType
from contextfind.domain.results import FindResult, MatchedContext
from contextfind.domain.uri import Uri
from contextfind.retrieval.finder import LONGEST_QUERY, Finder
from contextfind.retrieval.reranking import Panel
from tests.fakes import FakeEmbedder
from tests.households import ANN, BEN, Household, household

ME = RequestContext(ANN, "r")
FILES = {
    "ops/rollback.md": "# Rollback\n\nStop the canary, then put the former build back.\n",
    "ops/backup.md": "# Backup\n\nThe database is copied every night at two.\n",
    "dev/style.md": "# Style\n\nTabs are two spaces wide, lines are short.\n",
}
BOTH = (TypedQuery("former build"), TypedQuery("database copied"))


def hits(found: FindResult) -> list[MatchedContext]:
    every = [*found.memories, *found.resources, *found.skills]
    return sorted(every, key=lambda hit: (-hit.score, hit.uri))


async def ask(
    house: Household, queries: Sequence[TypedQuery], who: Identity = ANN, **fields: object
) -> FindResult:
    question = FindQuestion("undo", where=OneOf("level", frozenset("2")), **fields)  # type: ignore[arg-type]
    return await house.finder.find(RequestContext(who, "r"), question, queries)


def walking() -> list[str]:
    """Return the queries that are still under way."""
    names = [getattr(task.get_coro(), "__qualname__", "") for task in asyncio.all_tasks()]
    return [name for name in names if "Inquirer" in name]


async def scores(house: Household, query: str, **fields: object) -> dict[str, float]:
    found = await house.find(query, where=OneOf("level", frozenset("2")), **fields)
    return {hit.uri.text: hit.score for hit in found}


async def test_all_queries_are_embedded_in_one_call_each_text_once():
    embedder = FakeEmbedder()
    async with household(embedder) as house:
        await house.add(FILES)
        embedder.calls.clear()
        await ask(house, [*BOTH, BOTH[0]])
    assert embedder.calls == [("query", ("former build", "database copied"))]


async def test_a_hit_has_the_best_score_that_any_query_gives_it():
    async with household() as house:
        await house.add(FILES)
        one, other = [await scores(house, typed.query) for typed in BOTH]
        merged = {hit.uri.text: hit.score for hit in hits(await ask(house, BOTH))}
    assert merged == {uri: max(one[uri], other[uri]) for uri in one}
    assert one["viking://resources/docs/ops/rollback.md"] > 0.5
    assert other["viking://resources/docs/ops/backup.md"] > 0.5


async def test_one_query_is_a_find_of_it_byte_for_byte():
    async with household() as house:
        await house.add(FILES)
        question = FindQuestion("former build")
        plain = await house.finder.find(ME, question)
        alone = await house.finder.find(ME, question, [TypedQuery("former build", priority=5)])
    assert replace(alone, timings={}) == replace(plain, timings={})


async def test_a_weight_lowers_the_shown_score_and_the_order_follows():
    async with household() as house:
        await house.add(FILES)
        one, other = [await scores(house, typed.query) for typed in BOTH]
        light = (BOTH[0], replace(BOTH[1], weight=0.5))
        merged = hits(await ask(house, light))
    assert merged[0].uri.name == "rollback.md"
    backup = "viking://resources/docs/ops/backup.md"
    shown = {hit.uri.text: hit.score for hit in merged}
    assert shown[backup] == max(one[backup], round(0.5 * other[backup], 4))


async def test_the_threshold_is_tested_on_the_shown_score():
    async with household() as house:
        await house.add(FILES)
        light = (replace(BOTH[0], weight=0.5),)
        everything = hits(await ask(house, light))
        floor = everything[0].score
        assert [hit.uri.name for hit in hits(await ask(house, light, score_threshold=floor))] == [
            "rollback.md"
        ]
        assert hits(await ask(house, light, score_threshold=floor + 0.0001)) == []


async def test_the_limit_is_that_of_the_whole_list_and_is_filled():
    async with household() as house:
        await house.add(FILES)
        assert [hit.uri.name for hit in hits(await ask(house, BOTH, limit=2))] == [
            hit.uri.name for hit in hits(await ask(house, BOTH))[:2]
        ]


async def test_equal_scores_stand_in_the_order_of_addresses():
    places = ["q/kettle.md", "r/kettle.md", "s/kettle.md"]
    async with household(collapse_duplicates=False) as house:
        await house.add(dict.fromkeys(reversed(places), "teapot"))
        found = await ask(house, [TypedQuery("teapot"), TypedQuery("kettle teapot")])
    shown = [hit.uri.text.removeprefix("viking://resources/docs/") for hit in found.resources]
    assert shown == places
    assert len({hit.score for hit in found.resources}) == 1


async def test_copies_that_different_queries_found_share_one_place():
    copies = {"a/one.md": "the former build", "b/two.md": "the former build"}
    inside = "viking://resources/docs/"
    async with household() as house:
        await house.add({**copies, "a/x.md": "kettle", "b/x.md": "teapot"})
        merged = hits(await ask(house, [TypedQuery("build kettle"), TypedQuery("build teapot")]))
    assert len({Uri.parse(inside + name) for name in copies} & {hit.uri for hit in merged}) == 1


async def test_a_reworded_query_is_named_in_the_reason_the_original_is_not():
    async with household() as house:
        await house.add(FILES)
        found = await ask(house, [TypedQuery("undo"), BOTH[0]])
        reasons = {hit.uri.name: hit.match_reason for hit in hits(found)}
        alone = await house.finder.find(ME, FindQuestion("former build"))
    assert reasons["rollback.md"].endswith(", asked as 'former build'")
    assert all("asked as" not in hit.match_reason for hit in hits(alone))


async def test_a_typed_query_keeps_to_its_shelf_within_what_the_caller_asks_for():
    """Case R130."""
    memory = Uri("viking://user/ann/memories/m.md")
    async with household() as house:
        await house.add(FILES)
        await house.writer.write(ANN, memory, "the former build is Ann's", "create")
        await house.settled()
        mine = (replace(BOTH[0], context_type=ContextType.MEMORY),)
        assert [hit.uri for hit in hits(await ask(house, mine))] == [memory]
        assert hits(await ask(house, mine, who=BEN)) == []
        assert hits(await ask(house, mine, targets=[Uri("viking://resources")])) == []
        resources = OneOf("context_type", frozenset({"resource"}))
        question = FindQuestion("undo", where=resources)
        assert hits(await house.finder.find(ME, question, mine)) == []


async def test_provenance_tells_each_query_by_its_own_scores_and_its_weight():
    async with household() as house:
        await house.add(FILES)
        light = (BOTH[0], replace(BOTH[1], weight=0.5))
        found = await ask(house, light, include_provenance=True)
        other = await scores(house, BOTH[1].query)
    assert [one.query for one in found.query_results] == list(light)
    told = {hit.uri.text: hit.score for hit in found.query_results[1].matched_contexts}
    assert told == other
    weights = [
        [line for line in one.trace.formulas if "count" in line] for one in found.query_results
    ]
    assert weights == [[], ["on the list of all queries the scores of this one count 0.50"]]


async def test_what_was_done_without_is_said_once():
    embedder = FakeEmbedder()
    async with household(embedder) as house:
        await house.add(FILES)
        embedder.down = UnavailableError("it is down")
        found = await ask(house, BOTH)
        assert hits(found)[0].uri.name in ("rollback.md", "backup.md")
        long = [TypedQuery("kettle " * LONGEST_QUERY), TypedQuery("teapot " * LONGEST_QUERY)]
        cut = await ask(house, long)
    assert found.notes == ["searched by words only: it is down"]
    assert len(cut.notes) == 2
    assert cut.notes[0] == f"of the query the first {LONGEST_QUERY} characters were searched"


async def test_an_index_that_fails_is_one_fault_of_ours_and_leaves_no_task():
    async with household() as house:
        await house.add(FILES)

        async def fail(_probes: object) -> None:
            raise UnavailableError("the index is gone")

        house.index.search = fail  # type: ignore[method-assign, assignment]
        with pytest.raises(UnavailableError, match="the index is gone"):
            await ask(house, BOTH)
        assert walking() == []


async def test_a_caller_who_leaves_takes_all_queries_with_him():
    entered = asyncio.Event()
    async with household() as house:
        await house.add(FILES)

        async def hang(_probes: object) -> None:
            entered.set()
            await asyncio.Event().wait()

        house.index.search = hang  # type: ignore[method-assign, assignment]
        asking = asyncio.create_task(ask(house, BOTH))
        await entered.wait()
        assert len(walking()) == 2
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert walking() == []


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("limit", [1, 7, 100])
async def test_the_list_is_that_of_the_single_finds_weighed_and_sorted(seed, limit):
    chance = random.Random(seed)  # noqa: S311 - the same files every time
    words = [f"word{n}" for n in range(12)]
    files = {f"{n % 4}/{n}.md": " ".join(chance.choices(words, k=9)) for n in range(40)}
    queries = [
        TypedQuery(" ".join(chance.choices(words, k=3)), weight=chance.choice([1.0, 0.96, 0.7]))
        for _ in range(4)
    ]
    async with household() as house:
        await house.add(files)
        expected: dict[str, float] = {}
        for typed in queries:
            for uri, score in (await scores(house, typed.query, limit=100)).items():
                weighed = round(typed.weight * score, 4)
                expected[uri] = max(expected.get(uri, 0.0), weighed)
        found = await ask(house, queries, limit=limit)
    shown = [(hit.uri.text, hit.score) for hit in found.resources]
    best = sorted(expected.items(), key=lambda pair: (-pair[1], pair[0]))
    assert shown == best[:limit]


class Moody:
    """A reranker that gives everything little, and fails for one query."""

    def __init__(self, fails: str) -> None:
        self.fails = fails

    async def rerank(self, query: str, documents: Sequence[str]) -> Sequence[float | None]:
        if query == self.fails:
            raise UnavailableError("too many requests")
        return [0.03 + 0.01 * ("canary" in text) for text in documents]


async def test_hits_of_a_query_that_the_reranker_failed_stand_below_what_it_judged():
    async with household() as house:
        await house.add(FILES)
        panel = Panel(Moody(BOTH[1].query), house.store)
        finder = Finder(replace(house.reading, panel=panel), house.finder._retriever)
        question = FindQuestion(
            "undo", where=OneOf("level", frozenset("2")), mode=RetrieverMode.THINKING
        )
        found = await finder.find(ME, question, BOTH)
        other = await scores(house, BOTH[1].query)
    shown = {hit.uri.name: hit.score for hit in found.resources}
    assert shown["rollback.md"] == 0.04
    assert shown["backup.md"] == shown["style.md"] == 0.03
    assert other["viking://resources/docs/ops/backup.md"] > 0.5
    assert found.notes == ["not reranked: too many requests"]
