"""Planning by rules: what points back, and what it points to."""

import pytest

from contextfind.domain.conversation import Conversation, SessionMessage
from contextfind.domain.queries import TypedQuery
from contextfind.retrieval.ellipsis import leans, planned
from contextfind.retrieval.plans import LEANING
from tests.builders import NOON

TALK = (
    ("user", "The canary of the Atlas release fails."),
    ("assistant", "Then the captain decides."),
    ("user", "She says the release must go back."),
    ("assistant", "Understood."),
)


def conversation(*said: tuple[str, str], summary: str = "") -> Conversation:
    messages = [
        SessionMessage(f"m{at}", role, (), text, 1, NOON, ordinal=at)
        for at, (role, text) in enumerate(said)
    ]
    return Conversation(summary, tuple(messages))


def added(query: str, talk: Conversation) -> str:
    """Return what the resolved query has beyond the original one, empty where there is none."""
    plan = planned(query, talk)
    return plan.queries[0].query.removeprefix(query).strip() if plan.queries else ""


@pytest.mark.parametrize(
    "query",
    [
        *("how do we undo it?", "undo that release", "what about Hangzhou?", "and for Atlas 2?", "why?"),
        *("the same for the billing service", "is that safe?", "how do I deploy?", "tell me more"),
        *("what comes then?", "which one?", "who wrote this?", "does it work with Python 3.12?", "what is its limit?"),
        *("那怎么回滚？", "怎么回滚", "它多久跑一次", "杭州呢？", "继续", "接下来怎么办？", "这个怎么处理？", "谁负责"),
        *("what does she say?", "what should I do first?", "for IT: how do we undo it?"),
    ],
)  # fmt: skip
def test_a_short_query_that_points_back_leans_on_the_conversation(query):
    assert leans(query)


@pytest.mark.parametrize(
    "query",
    [
        *("rollback", "rollback procedure of Atlas", "docs that mention rollback", "what is TKX-7741?"),
        *("IT support contacts", "How does Mei like her answers?", "drain_with_backoff", "how to restore TKX-7741"),
        "Is it safe to delete the old logs of the planner workers?",
        "What share of the depots gets the Atlas canary, and for how long?",
        *("数据库备份多久做一次，保留多少天？", "怎么备份数据库", "还原数据库", "应该先停止导入任务吗", "回滚步骤"),
    ],
)  # fmt: skip
def test_a_query_that_says_what_it_means_does_not(query):
    assert not leans(query)


@pytest.mark.parametrize(
    "query",
    ["what is the token?", "how fast is delivery?", "多久重试一次？", "输出什么格式？"],
)
def test_a_short_question_is_also_asked_with_a_subject_that_it_may_lack(query):
    plan = planned(query, conversation(*TALK))
    assert not leans(query)
    original, resolved = plan.queries
    assert original == TypedQuery(query, priority=1)
    assert resolved.query == f"{query} canary Atlas release fails"
    assert resolved.weight == pytest.approx(0.85 * 0.99)
    assert "may point back" in plan.reasoning


def test_words_in_the_script_of_the_query_come_first():
    talk = conversation(
        ("user", "the kettle leaks at the valve"), ("user", "水壶 阀门 漏水 昨晚 换过 三次")
    )
    assert added("how do we fix it?", talk) == "kettle leaks valve 水壶 阀门 漏水"
    assert added("那怎么修？", talk) == "水壶 阀门 漏水 昨晚 换过 三次"


def test_it_is_asked_with_the_words_of_the_last_user_turns_and_as_it_is():
    plan = planned("how do we undo it?", conversation(*TALK))
    resolved, original = plan.queries
    assert resolved.query == "how do we undo it? canary Atlas release fails"
    assert (resolved.context_type, resolved.priority, resolved.weight) == (None, 1, 1.0)
    assert original == TypedQuery("how do we undo it?", priority=5, weight=LEANING)
    assert plan.reasoning.startswith("By rules: the query points back to the conversation")
    assert "canary Atlas release" in plan.reasoning


def test_chinese_is_cut_at_its_function_words():
    talk = conversation(("user", "我们把新的地图瓦片发布到杭州仓库了"))
    assert added("那怎么回滚？", talk) == "地图瓦片发布到杭州仓库"


def test_later_and_repeated_words_come_before_others():
    early = " ".join(f"early{n}" for n in range(9))
    late = "late1 late2 late3 late4 late5"
    talk = conversation(("user", f"{early} kettle"), ("user", f"kettle {late}"))
    assert added("and it?", talk) == f"kettle {late}"


def test_the_assistant_confirms_words_but_brings_none():
    talk = conversation(
        ("user", "one1 two2 three3 four4 five5 six6 seven7"),
        ("assistant", "seven7 is meant, not eight8"),
    )
    assert added("why is it?", talk) == "one1 two2 three3 four4 five5 seven7"


def test_only_the_last_five_messages_count():
    said = [("user", f"topic{n}") for n in range(7)]
    assert added("why is it?", conversation(*said)) == "topic2 topic3 topic4 topic5 topic6"


def test_the_query_itself_is_not_what_it_is_about():
    """Many clients add the message to the session before they search for it."""
    talk = conversation(("user", "kettle descaling"), ("user", "how often is it needed? "))
    assert added("how often is it needed?", talk) == "kettle descaling"


def test_the_summary_speaks_where_no_user_does():
    talk = conversation(("assistant", "Hello."), summary="The kettle was descaled.")
    assert added("why is it?", talk) == "kettle descaled"


@pytest.mark.parametrize("query", ["thanks!", "好的", "hi"])
def test_small_talk_in_a_conversation_needs_no_retrieval(query):
    plan = planned(query, conversation(*TALK))
    assert (plan.queries, plan.reasoning) == ((), "Small talk: there is nothing to look up.")


@pytest.mark.parametrize("query", ["thanks!", "好的", "how do we undo it?", "it"])
def test_without_a_conversation_everything_is_searched_as_it_was_asked(query):
    plan = planned(query, Conversation())
    assert list(plan.queries) == [TypedQuery(query, priority=1)]
    assert plan.reasoning.startswith("No language model plans searches here")


@pytest.mark.parametrize(
    ("query", "talk", "why"),
    [
        ("rollback of Atlas", TALK, "does not point back"),
        ("What is done in the first two weeks of a colleague?", TALK, "does not point back"),
        ("how do we undo it?", (("assistant", "Hello."),), "names no subject"),
        ("how do we undo it?", (("user", "hello, please undo"),), "names no subject"),
    ],
)
def test_what_cannot_be_resolved_is_searched_as_it_was_asked(query, talk, why):
    plan = planned(query, conversation(*talk))
    assert list(plan.queries) == [TypedQuery(query, priority=1)]
    assert why in plan.reasoning


def test_what_is_long_is_not_looked_at():
    assert not leans("it " * 200)
    plan = planned("how " * 200, conversation(*TALK))
    assert [typed.query for typed in plan.queries] == ["how " * 200]


def test_a_digest_is_no_word():
    assert added("why is it?", conversation(("user", f"kettle {'0a' * 32}"))) == "kettle"
