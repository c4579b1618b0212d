"""search: from the conversation to a plan, from the plan to hits."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count

import pytest

from contextfind.domain.conversation import Conversation, SessionMessage
from contextfind.domain.errors import PermissionDeniedError, UnavailableError
from contextfind.domain.filters import OneOf
from contextfind.domain.identity import Identity, RequestContext
from contextfind.domain.images import RemoteImage
from contextfind.domain.queries import FindQuestion, QueryPlan, RetrieverMode, TypedQuery
from contextfind.domain.records import ContextType
from contextfind.domain.results import FindResult
from contextfind.domain.uri import Uri
from contextfind.retrieval.finder import Finder
from contextfind.retrieval.intent import IntentAnalyzer, IntentRules
from contextfind.retrieval.plans import LEANING
from contextfind.retrieval.reranking import Panel
from contextfind.retrieval.searcher import Searcher
from tests.builders import NOON
from tests.fakes import FakeChat, FakeEmbedder, FakeReranker
from tests.households import ANN, Household, household

ME = RequestContext(ANN, "r")
FILES = {
    "ops/atlas.md": "# Going back\n\nAtlas: put the former build into service when the canary fails.\n",
    "ops/backup.md": "# Backup\n\nThe database is copied every night at two.\n",
    "dev/editor.md": "# Editor\n\nUndo with the key u.\n",
}
SAID = ("The canary of Atlas fails.", "It is over its limit.", "The former build was fine.")
UNDO = "how do we undo it?"


def conversation(*texts: str, summary: str = "") -> Conversation:
    said = [
        SessionMessage(f"m{at}", "user" if at % 2 == 0 else "assistant", (), text, 1, NOON)
        for at, text in enumerate(texts)
    ]
    return Conversation(summary, tuple(said))


class Sessions:
    """What is left of the sessions of one user."""

    def __init__(self, told: Mapping[str, Conversation]) -> None:
        self.told = told
        self.asked: list[tuple[Identity, str]] = []
        self.down: UnavailableError | None = None

    async def recollect(self, identity: Identity, session_id: str) -> Conversation:
        self.asked.append((identity, session_id))
        if self.down is not None:
            raise self.down
        return self.told.get(session_id, Conversation())


class Planner(FakeChat):
    """Is asked for plans."""

    def __init__(self, answer: object) -> None:
        super().__init__(answer, "planner", tokens=None)

    @property
    def calls(self) -> int:
        return len(self.asked)


SESSIONS = Sessions({"s": conversation(*SAID)})


def searcher(
    house: Household,
    model: Planner | None = None,
    sessions: Sessions = SESSIONS,
    finder: Finder | None = None,
) -> Searcher:
    analyzer = (
        None if model is None else IntentAnalyzer(model, house.store, IntentRules(seconds=1.0))
    )
    ticks = count()
    return Searcher(
        finder or house.finder, lambda: float(next(ticks)), sessions.recollect, analyzer
    )


def asked(found: FindResult) -> list[str]:
    assert found.query_plan is not None
    return [typed.query for typed in found.query_plan.queries]


def names(found: FindResult) -> list[str]:
    hits = [*found.memories, *found.resources, *found.skills]
    return [hit.uri.name for hit in sorted(hits, key=lambda hit: (-hit.score, hit.uri))]


FILES_ONLY = OneOf("level", frozenset("2"))


async def test_without_a_model_what_points_back_is_resolved_by_the_conversation():
    async with household() as house:
        await house.add(FILES)
        question = FindQuestion(UNDO, where=FILES_ONLY)
        assert names(await house.finder.find(ME, question))[0] == "editor.md"
        found = await searcher(house).search(ME, question, "s")
    assert names(found)[0] == "atlas.md"
    assert asked(found) == [f"{UNDO} canary Atlas fails former build fine", UNDO]
    assert found.timings["plan_ms"] == 1000.0
    assert "search_ms" in found.timings


async def test_what_the_original_finds_stays_on_the_list():
    async with household() as house:
        await house.add(FILES)
        question = FindQuestion(UNDO, where=FILES_ONLY)
        plain = await house.finder.find(ME, question)
        found = await searcher(house).search(ME, question, "s")
    editor = {hit.uri.name: hit for hit in found.resources}["editor.md"]
    assert editor.score == round(LEANING * plain.resources[0].score, 4)
    assert editor.match_reason == plain.resources[0].match_reason


async def test_a_model_plans_and_the_best_hit_is_that_of_its_query():
    planned = {"query": "put the former build of Atlas into service", "context_type": "resource"}
    model = Planner({"reasoning": "Atlas shall go back.", "queries": [planned]})
    async with household() as house:
        await house.add(FILES)
        found = await searcher(house, model).search(ME, FindQuestion(UNDO, where=FILES_ONLY), "s")
    assert names(found)[0] == "atlas.md"
    assert found.query_plan == QueryPlan(
        (
            TypedQuery(planned["query"], ContextType.RESOURCE, "", 3, weight=0.98),
            TypedQuery(UNDO, priority=5, weight=LEANING),
        ),
        "Atlas shall go back.",
    )
    assert model.calls == 1


async def test_an_empty_plan_answers_nothing_and_says_why():
    model = Planner({"reasoning": "Thanks need no answer.", "queries": []})
    embedder = FakeEmbedder()
    async with household(embedder) as house:
        await house.add(FILES)
        embedder.calls.clear()
        found = await searcher(house, model).search(ME, FindQuestion("thanks, Atlas"), "s")
        talk = await searcher(house).search(ME, FindQuestion("thanks!"), "s")
    assert found.total == talk.total == 0
    assert found.query_plan == QueryPlan((), "Thanks need no answer.")
    assert talk.query_plan == QueryPlan((), "Small talk: there is nothing to look up.")
    assert embedder.calls == []


async def test_an_empty_plan_names_the_targets_that_do_not_exist():
    gone = Uri("viking://resources/gone")
    async with household() as house:
        await house.add(FILES)
        targets = [gone, Uri("viking://resources/docs")]
        found = await searcher(house).search(ME, FindQuestion("thanks!", targets=targets), "s")
    assert (found.total, list(found.unknown_targets)) == (0, [gone])


@pytest.mark.parametrize("answer", [UnavailableError("it answers 500"), {"wrong": "keys"}, None])
async def test_a_planner_that_fails_costs_the_plan_only(answer):
    async with household() as house:
        await house.add(FILES)
        question = FindQuestion(UNDO)
        plain = await house.finder.find(ME, question)
        found = await searcher(house, Planner(answer)).search(ME, question, "s")
    assert found.resources == plain.resources
    assert asked(found) == [UNDO]
    assert found.query_plan.reasoning.startswith(
        "The query is searched as it was asked, because nothing could be planned: "
    )
    (note,) = found.notes
    assert note.startswith("not planned: ")
    assert note.removeprefix("not planned: ") in found.query_plan.reasoning


async def test_sessions_that_do_not_answer_cost_the_plan_only():
    sessions = Sessions({})
    sessions.down = UnavailableError("the database is busy")
    async with household() as house:
        await house.add(FILES)
        found = await searcher(house, sessions=sessions).search(ME, FindQuestion(UNDO), "s")
    assert asked(found) == [UNDO]
    assert found.notes == ["not planned: the database is busy"]
    assert found.total > 0


async def test_a_session_is_asked_for_by_its_owner_and_only_where_one_is_named():
    sessions = Sessions({})
    async with household() as house:
        await searcher(house, sessions=sessions).search(ME, FindQuestion(UNDO), "s")
        await searcher(house, sessions=sessions).search(ME, FindQuestion(UNDO))
    assert sessions.asked == [(ANN, "s")]


async def test_an_unknown_session_is_one_without_messages():
    async with household() as house:
        await house.add(FILES)
        found = await searcher(house).search(ME, FindQuestion("thanks!"), "unknown")
    assert asked(found) == ["thanks!"]


async def test_with_nothing_to_plan_no_model_is_asked():
    model = Planner({"queries": []})
    async with household() as house:
        await house.add(FILES)
        blank = FindQuestion(" ", where=FILES_ONLY, selective=True)
        found = await searcher(house, model).search(ME, blank, "s")
        assert found.total == 3
        assert found.query_plan == QueryPlan((), "No query: the conditions alone select.")
        foreign = FindQuestion(UNDO, targets=[Uri("viking://user/ben/memories")])
        with pytest.raises(PermissionDeniedError):
            await searcher(house, model).search(ME, foreign, "s")
    assert model.calls == 0


class Listening:
    """A finder that notes what it is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[FindQuestion, Sequence[TypedQuery]]] = []

    async def find(
        self, context: RequestContext, question: FindQuestion, queries: Sequence[TypedQuery] = ()
    ) -> FindResult:
        assert context == ME
        self.asked.append((question, queries))
        return FindResult((), (), ())


async def test_a_picture_is_searched_by_itself():
    model, finder = Planner({"queries": []}), Listening()
    picture = FindQuestion(UNDO, image=RemoteImage("https://example.org/a.png"))
    async with household() as house:
        searching = searcher(house, model, finder=finder)  # type: ignore[arg-type]
        found = await searching.search(ME, picture, "s")
    assert model.calls == 0
    assert finder.asked == [
        (replace(picture, mode=RetrieverMode.THINKING), (TypedQuery(UNDO, priority=1),))
    ]
    assert found.query_plan.reasoning == "A picture is searched by itself: nothing is planned."


async def test_R130_the_plan_never_widens_what_the_caller_may_see_or_asked_for():  # noqa: N802 - a case
    wide = [
        {"query": "kettle", "context_type": kind, "priority": 1, "intent": "viking://user/ben"}
        for kind in ("memory", "resource", "skill")
    ]
    model = Planner({"reasoning": "all of it", "queries": wide})
    places = {
        "viking://user/ann/memories/k.md": ContextType.MEMORY,
        "viking://resources/docs/k.md": ContextType.RESOURCE,
        "viking://agent/skills/k/SKILL.md": ContextType.SKILL,
    }
    ben = Identity("acme", "ben")
    async with household() as house:
        for place in places:
            await house.writer.write(ANN, Uri(place), f"kettle {place}", "create")
        await house.writer.write(ben, Uri("viking://user/ben/memories/k.md"), "kettle", "create")
        await house.settled()
        searching = searcher(house, model)

        async def seen(who: Identity = ANN, **fields: object) -> set[str]:
            question = FindQuestion("boil it", limit=100, **fields)  # type: ignore[arg-type]
            found = await searching.search(RequestContext(who, "r"), question, "s")
            files = [*found.memories, *found.resources, *found.skills]
            return {hit.uri.text for hit in files if hit.level == 2}

        assert await seen() == set(places)
        assert await seen(ben) == set(places) - {"viking://user/ann/memories/k.md"} | {
            "viking://user/ben/memories/k.md"
        }
        assert await seen(Identity("bolt", "ann")) == set()
        for place, kind in places.items():
            only = OneOf("context_type", frozenset({kind.value}))
            assert await seen(where=only) == {place}
            assert await seen(targets=[Uri(place)]) == {place}


async def test_R014_the_same_search_gives_the_same_answer():  # noqa: N802 - a case
    async with household() as house:
        await house.add({f"n{n}.md": f"canary build {n % 7}" for n in range(60)})
        question = FindQuestion(UNDO, include_provenance=True)
        answers = [await searcher(house).search(ME, question, "s") for _ in range(4)]
    for found in answers:
        assert replace(found, timings={}) == replace(answers[0], timings={})
    assert len(answers[0].query_results) == 2


async def test_every_typed_query_is_reranked_by_its_own_text():
    judge = FakeReranker({})
    async with household() as house:
        await house.add(FILES)
        reading = replace(house.reading, panel=Panel(judge, house.store))
        finder = Finder(reading, house.finder._retriever)
        await searcher(house, finder=finder).search(ME, FindQuestion(UNDO), "s")
    assert {query for query, _ in judge.calls} == {
        f"{UNDO} canary Atlas fails former build fine",
        UNDO,
    }


async def test_R032_ten_searches_in_one_session_answer_side_by_side():  # noqa: N802 - a case
    async with household() as house:
        await house.add(FILES)
        searching = searcher(house)
        found = await asyncio.gather(
            *(searching.search(ME, FindQuestion(UNDO, where=FILES_ONLY), "s") for _ in range(10))
        )
    assert [names(one)[0] for one in found] == ["atlas.md"] * 10


async def test_a_reranker_that_hangs_costs_all_queries_one_budget_and_one_note():
    class Hanging:
        calls = 0

        async def rerank(self, query: str, documents: Sequence[str]) -> Sequence[float | None]:
            assert query
            assert documents
            self.calls += 1
            await asyncio.Event().wait()
            raise AssertionError

    judge = Hanging()
    async with household() as house:
        await house.add(FILES)
        reading = replace(house.reading, panel=Panel(judge, house.store, seconds=0.05))
        finder = Finder(reading, house.finder._retriever)
        found = await searcher(house, finder=finder).search(ME, FindQuestion(UNDO), "s")
        plain = await searcher(house).search(ME, FindQuestion(UNDO), "s")
    assert judge.calls == 2
    assert found.notes == ["not reranked: the reranker needed more than 0.05 seconds"]
    assert found.resources == plain.resources
