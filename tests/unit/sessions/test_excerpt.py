from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextfind.domain.conversation import Archive, ArchiveState, SessionMessage
from contextfind.domain.documents import ABSTRACT_LENGTH
from contextfind.sessions.excerpt import excerpt, in_chinese, quotes
from tests.builders import NOON, make_message

ENGLISH = [
    ("user", "Hi there!"),
    ("user", "We deploy the billing service with Argo Rollouts on the Atlas cluster"),
    ("assistant", "Use a canary: 10% of traffic first.\n\n```yaml\nkind: Rollout\n```"),
    ("user", "Thanks!"),
    ("user", "The canary failed last night. Marta from SRE paged me."),
]
CHINESE = [
    ("user", "你好"),
    ("user", "我们的计费服务部署在 Atlas 集群上，数据库是 Postgres 16。"),
    ("assistant", "建议使用金丝雀发布：先放 10% 的流量。"),
    ("user", "昨晚发布失败了，值班的王敏给我打了电话。"),
]


def talk(said: list[tuple[str, str]]) -> list[SessionMessage]:
    return [make_message(f"m{at}", text, role) for at, (role, text) in enumerate(said)]


def test_a_short_conversation_is_quoted_whole_without_greetings_and_code() -> None:
    said = [(one.who, one.said) for one in quotes(talk(ENGLISH), 2_000)]
    assert said == [
        ("user", "We deploy the billing service with Argo Rollouts on the Atlas cluster"),
        ("assistant", "Use a canary: 10% of traffic first."),
        ("user", "The canary failed last night."),
        ("user", "Marta from SRE paged me."),
    ]


@pytest.mark.parametrize(
    "text",
    ["Hey Mel!", "Thanks!", "OK", "Wow, Caroline!", "That's really cool.", "你好", "好的，谢谢！"],
)
def test_pleasantries_are_not_quoted_beside_something_else(text: str) -> None:
    said = quotes(talk([("user", text), ("user", "use postgres")]), 2_000)
    assert [one.said for one in said] == ["use postgres"]
    assert [one.said for one in quotes(talk([("user", text)]), 2_000)] == [text]


@pytest.mark.parametrize(
    "word", ["hey, ", "hey ", "good ", "明白了", "你好", "好的", "that's cool "]
)
def test_the_time_for_pleasantries_without_end_is_bounded(word: str) -> None:
    assert quotes(talk([("user", word * 400 + "9")]), 100)


@pytest.mark.parametrize(
    "text", ["Use Postgres", "No canary today", "好的，用金丝雀发布", "可以回滚"]
)
def test_what_is_short_and_says_something_is_quoted(text: str) -> None:
    assert quotes(talk([("user", text), *ENGLISH]), 2_000)[0].said == text


def test_the_abstract_begins_with_what_the_user_wants() -> None:
    abstract, overview = excerpt(talk(ENGLISH), [], 2_000)
    assert abstract.startswith("We deploy the billing service with Argo Rollouts")
    assert overview.startswith(
        "Conversation of 2026-03-01, 5 messages by user, assistant.\n\n- **user**: We deploy"
    )
    assert "Before that" not in overview


def test_a_chinese_conversation_is_told_of_in_chinese() -> None:
    messages = talk(CHINESE)
    assert in_chinese(messages)
    assert not in_chinese(talk(ENGLISH))
    abstract, overview = excerpt(messages, [], 2_000)
    assert abstract.startswith("我们的计费服务部署在 Atlas 集群上")
    assert overview.splitlines()[0] == "2026-03-01 的对话，共 4 条消息（用户、助手）。"
    assert "- **用户**: 昨晚发布失败了，值班的王敏给我打了电话。" in overview


def test_japanese_is_no_chinese() -> None:
    assert not in_chinese(talk([("user", "データベースをロールバックする手順を教えてください。")]))


def test_speakers_keep_their_names() -> None:
    ann = make_message("a", "I moved to Lisbon in May and found a flat near the river.")
    named = [SessionMessage(ann.id, "user", (), ann.text, 9, NOON, {"peer_id": "Caroline"})]
    overview = excerpt(named, [], 2_000)[1]
    assert "1 message by Caroline." in overview
    assert "- **Caroline**: I moved to Lisbon" in overview


def test_the_overview_says_what_was_said_before() -> None:
    before = [
        Archive(2, 2, 3, 2, 9, NOON + timedelta(days=1), ArchiveState.DONE, "Tea.", "x"),
        Archive(1, 0, 1, 2, 9, NOON, ArchiveState.DONE, "Coffee.", "x"),
    ]
    overview = excerpt(talk(ENGLISH), before, 2_000)[1]
    assert overview.endswith("Before that:\n\n- 2026-03-01: Coffee.\n- 2026-03-02: Tea.")


def test_what_tools_said_is_left_out_where_people_speak() -> None:
    tool = ("tool", "The listing of the directory contains seventeen large files.")
    assert "seventeen" not in excerpt(talk([*ENGLISH, tool]), [], 2_000)[1]
    assert "seventeen" in excerpt(talk([tool]), [], 2_000)[1]


def test_a_long_conversation_is_quoted_from_beginning_to_end() -> None:
    said = [
        ("user", f"Ticket {at} concerns the colour of lamp {at} in hall {at}.") for at in range(600)
    ]
    found = [int(one.said.split()[1]) for one in quotes(talk(said), 1_200)]
    assert found == sorted(found)
    assert found[0] < 100
    assert found[-1] >= 500
    assert sum(len(one.said) for one in quotes(talk(said), 1_200)) <= 1_200


@given(
    said=st.lists(
        st.tuples(st.sampled_from(["user", "assistant", "tool", "x"]), st.text(max_size=80)),
        max_size=30,
    ),
    room=st.integers(0, 400),
)
@settings(max_examples=100, deadline=None)
def test_any_conversation_has_an_abstract_of_one_line(
    said: list[tuple[str, str]], room: int
) -> None:
    abstract, overview = excerpt(talk(said), [], room)
    assert 0 < len(abstract) <= ABSTRACT_LENGTH
    assert len(abstract.splitlines()) == 1
    assert overview
