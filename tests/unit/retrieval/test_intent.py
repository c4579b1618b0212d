"""A language model plans: what it is told, what of its answer is taken, what its faults become."""

import asyncio
import json
from collections.abc import Mapping, Sequence

import pytest

from contextfind.adapters.memory.store import MemoryRecordStore
from contextfind.domain.conversation import Conversation, SessionMessage
from contextfind.domain.errors import PermissionDeniedError, UnavailableError
from contextfind.domain.filters import And, Everything, OneOf, Or, Tagged
from contextfind.domain.identity import Identity, RequestContext
from contextfind.domain.queries import FindQuestion, QueryPlan, TypedQuery
from contextfind.domain.records import ContextType, Level
from contextfind.domain.uri import Uri
from contextfind.ports import Commit, Message, RecordDraft
from contextfind.retrieval.intent import IntentAnalyzer, IntentRules
from contextfind.retrieval.plans import LEANING
from tests.builders import NOON

ME = RequestContext(Identity("acme", "ann"), "r")
OPS = Uri("viking://resources/ops")
ROLL = {
    "query": "roll back an Atlas release",
    "context_type": "resource",
    "intent": "steps",
    "priority": 1,
}
PLAN = {"reasoning": "The release shall go back.", "queries": [ROLL]}
TALK = Conversation(
    "Atlas was released.", (SessionMessage("m", "user", (), "The canary fails.", 1, NOON),)
)
UNDO = FindQuestion("how do we undo it?")


class Scripted:
    """A `ChatModel` that says one thing, raises it, or says nothing ever."""

    name = "scripted"

    def __init__(self, answer: object = None) -> None:
        self.answer = answer
        self.asked: list[tuple[Sequence[Message], Mapping[str, object] | None]] = []
        self.entered = asyncio.Event()
        self.cancelled = False

    async def complete(
        self,
        messages: Sequence[Message],
        max_tokens: int,
        schema: Mapping[str, object] | None = None,
    ) -> str:
        assert max_tokens > 0
        self.asked.append((messages, schema))
        self.entered.set()
        if isinstance(self.answer, UnavailableError):
            raise self.answer
        if self.answer is None:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.cancelled = True
                raise
        return self.answer if isinstance(self.answer, str) else json.dumps(self.answer)

    async def aclose(self) -> None:
        pass


async def plan(
    answer: object,
    question: FindQuestion = UNDO,
    talk: Conversation = TALK,
    context: RequestContext = ME,
) -> QueryPlan:
    model = Scripted(answer)
    analyzer = IntentAnalyzer(model, MemoryRecordStore(), IntentRules(seconds=0.05))
    planned = await analyzer.plan(context, question, talk)
    assert len(model.asked) == 1
    return planned


def queries(*items: object) -> dict[str, object]:
    return {"reasoning": "because", "queries": list(items)}


async def test_the_models_queries_are_asked_and_the_original():
    planned = await plan(PLAN)
    assert planned.reasoning == "The release shall go back."
    assert list(planned.queries) == [
        TypedQuery("roll back an Atlas release", ContextType.RESOURCE, "steps", 1),
        TypedQuery("how do we undo it?", priority=5, weight=LEANING),
    ]


async def test_a_query_that_stands_by_itself_stays_the_most_urgent():
    alone = FindQuestion("rollback procedure of the Atlas planner")
    planned = await plan(PLAN, alone)
    assert planned.queries[0] == TypedQuery(alone.query, priority=1)
    nothing_said = await plan(PLAN, UNDO, Conversation())
    assert nothing_said.queries[0] == TypedQuery(UNDO.query, priority=1)


async def test_r029_the_prompt_holds_the_summary_the_last_five_messages_and_the_query():
    said = [SessionMessage(f"m{n}", "user", (), f"message {n}.", 1, NOON) for n in range(7)]
    model = Scripted(PLAN)
    analyzer = IntentAnalyzer(model, MemoryRecordStore(), IntentRules())
    await analyzer.plan(ME, UNDO, Conversation("Atlas was released.", tuple(said)))
    ((system, user), schema) = model.asked[0]
    assert "Atlas was released." in user.text
    assert [n for n in range(7) if f"message {n}." in user.text] == [2, 3, 4, 5, 6]
    assert "how do we undo it?" in user.text
    assert "Answer with one JSON object" in system.text
    assert schema is not None
    assert schema["required"] == ["reasoning", "queries"]


async def test_a_chinese_conversation_gets_the_chinese_prompt():
    model = Scripted(PLAN)
    analyzer = IntentAnalyzer(model, MemoryRecordStore(), IntentRules())
    await analyzer.plan(ME, FindQuestion("那怎么回滚？"), Conversation())
    (system, user), _ = model.asked[0]
    assert "只回答一个 JSON 对象" in system.text
    assert "那怎么回滚？" in user.text


async def test_the_limits_of_the_search_are_told():
    store = MemoryRecordStore()
    draft = RecordDraft(OPS, Level.ABSTRACT, ContextType.RESOURCE, "how the service is run", ())
    await store.commit(Commit("acme", NOON, put=[draft]))
    model = Scripted(PLAN)
    question = FindQuestion(
        "undo",
        targets=[OPS, Uri("viking://resources/none")],
        where=And((Tagged("a=b"), OneOf("context_type", frozenset({"skill", "resource"})))),
    )
    await IntentAnalyzer(model, store, IntentRules()).plan(ME, question, Conversation())
    text = model.asked[0][0][1].text
    assert "## Limited to these kinds\nresource, skill\n" in text
    assert "viking://resources/ops how the service is run\nviking://resources/none\n" in text


async def test_a_target_in_another_users_tree_is_refused_before_the_model_is_asked():
    model = Scripted(PLAN)
    analyzer = IntentAnalyzer(model, MemoryRecordStore(), IntentRules())
    foreign = FindQuestion("undo", targets=[Uri("viking://user/ben/memories")])
    with pytest.raises(PermissionDeniedError):
        await analyzer.plan(ME, foreign, Conversation())
    assert model.asked == []


async def test_no_queries_are_a_plan_with_its_reason():
    assert await plan({"reasoning": "It is thanks.", "queries": []}) == QueryPlan(
        (), "It is thanks."
    )
    unexplained = await plan({"queries": []})
    assert unexplained == QueryPlan((), "The language model finds nothing to look up.")


@pytest.mark.parametrize(
    "form",
    [
        "```json\n{}\n```",
        "Here you are:\n```\n{}\n```\nGood luck!",
        "The plan is {} as you asked.",
        "\ufeff{}",
    ],
)
async def test_json_in_a_fence_or_among_prose_is_read(form):
    planned = await plan(form.replace("{}", json.dumps(PLAN)))
    assert planned.queries[0].query == "roll back an Atlas release"


@pytest.mark.parametrize(
    "answer",
    [
        "I would rather talk about the weather.",
        '{"reasoning": "cut off", "queries": [{"query": "roll',
        "",
        "null",
        "[]",
        "7",
        '"queries"',
        {"summary": "wrong keys"},
        {"reasoning": "x", "queries": None},
        {"reasoning": "x", "queries": {"query": "not a list"}},
        {"reasoning": "x", "queries": "not a list"},
    ],
)
async def test_r132_an_answer_that_is_no_plan_is_a_fault(answer):
    with pytest.raises(UnavailableError):
        await plan(answer)


async def test_items_are_checked_one_by_one_and_bad_ones_are_named():
    planned = await plan(queries(ROLL, None, {"query": "  "}, {"q": "x"}, {"query": 7}, "text"))
    assert [typed.query for typed in planned.queries] == [ROLL["query"], UNDO.query]
    assert planned.reasoning == (
        "because Of the planned queries: "
        + "; ".join(f"queries[{n}] has no text and is left out" for n in range(1, 6))
        + "."
    )


async def test_a_plan_of_bad_items_only_is_a_fault():
    with pytest.raises(UnavailableError, match=r"queries\[0\] has no text"):
        await plan(queries({"query": ""}))


@pytest.mark.parametrize(
    ("said", "taken"),
    [
        ("memory", ContextType.MEMORY),
        (" Skill ", ContextType.SKILL),
        (None, None),
        ("document", None),
        (3, None),
        (["memory"], None),
    ],
)
async def test_an_unknown_kind_means_all_kinds(said, taken):
    planned = await plan(queries({**ROLL, "context_type": said}))
    assert planned.queries[0].context_type is taken
    complaint = "queries[0] names no kind of records and is put to all"
    assert (complaint in planned.reasoning) == (said is not None and taken is None)


@pytest.mark.parametrize(
    ("where", "kept"),
    [
        (Everything(), True),
        (OneOf("context_type", frozenset({"resource", "memory"})), True),
        (OneOf("context_type", frozenset({"memory"})), False),
        (And((Tagged("a=b"), OneOf("context_type", frozenset({"skill"})))), False),
        (Or((OneOf("context_type", frozenset({"skill"})), Tagged("a=b"))), True),
        (
            And(
                (
                    OneOf("context_type", frozenset({"skill", "resource"})),
                    OneOf("context_type", frozenset({"skill", "memory"})),
                )
            ),
            False,
        ),
    ],
)
async def test_a_kind_that_the_caller_excludes_gives_way_to_his(where, kept):
    planned = await plan(PLAN, FindQuestion(UNDO.query, where=where))
    assert planned.queries[0].context_type is (ContextType.RESOURCE if kept else None)


@pytest.mark.parametrize(
    ("said", "taken"),
    [
        *((1, 1), (5, 5), (0, 1), (-3, 1), (9, 5), (2.6, 3), (1e300, 5), ("2", 2), ("999", 5)),
        *((None, 3), (True, 3), ("high", 3), ([1], 3), ("", 3)),
    ],
)
async def test_a_priority_lies_between_one_and_five(said, taken):
    planned = await plan(queries({**ROLL, "priority": said}))
    assert planned.queries[0].priority == taken


async def test_more_than_five_become_the_five_most_urgent():
    many = [{**ROLL, "query": f"query {n}", "priority": 5 - n % 3} for n in range(9)]
    planned = await plan(queries(*many))
    assert [typed.query for typed in planned.queries] == [
        *("query 2", "query 5", "query 8", "query 1", "query 4"),
        UNDO.query,
    ]


async def test_texts_are_bounded_clean_and_on_one_line():
    long = "word\n\x00" * 1_000
    planned = await plan(
        {"reasoning": long, "queries": [{"query": long, "intent": long, "priority": 1}]}
    )
    for text in (planned.reasoning, planned.queries[0].query, planned.queries[0].intent):
        assert len(text) == 500
        assert text.startswith("word word")


async def test_a_model_that_hangs_is_given_up_and_let_go():
    model = Scripted()
    analyzer = IntentAnalyzer(model, MemoryRecordStore(), IntentRules(seconds=0.02))
    with pytest.raises(UnavailableError, match=r"did not answer within 0\.02 s"):
        await analyzer.plan(ME, UNDO, TALK)
    assert model.cancelled


async def test_planning_takes_half_of_what_a_request_has_left():
    model = Scripted()
    analyzer = IntentAnalyzer(model, MemoryRecordStore(), IntentRules(seconds=1_000))
    deadline = asyncio.get_running_loop().time() + 0.1
    with pytest.raises(UnavailableError, match=r"did not answer within 0\.0"):
        await analyzer.plan(RequestContext(ME.identity, "r", deadline), UNDO, TALK)


async def test_a_caller_who_leaves_takes_the_question_with_him():
    model = Scripted()
    analyzer = IntentAnalyzer(model, MemoryRecordStore(), IntentRules())
    asking = asyncio.create_task(analyzer.plan(ME, UNDO, TALK))
    await model.entered.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert model.cancelled


async def test_of_many_bad_items_only_some_are_named():
    planned = await plan(queries(ROLL, *([None] * 9_000)))
    assert planned.reasoning.endswith("queries[5] has no text and is left out; and 8995 more.")
