import re

import pytest

from contextfind.domain.conversation import Conversation, SessionMessage
from contextfind.domain.tokens import estimated_tokens
from contextfind.retrieval.prompting import Briefing, Place, Prompter
from tests.builders import NOON

PROMPTER = Prompter("Plan in English.", "用中文规划。", 1_000)


def conversation(*texts: str, summary: str = "") -> Conversation:
    said = [
        SessionMessage(f"m{at}", "user" if at % 2 == 0 else "assistant", (), text, 1, NOON)
        for at, text in enumerate(texts)
    ]
    return Conversation(summary, tuple(said))


def told(briefing: Briefing, prompter: Prompter = PROMPTER) -> str:
    return prompter.messages(briefing)[1].text


def test_all_that_is_known_is_told_once_with_its_heading():
    briefing = Briefing(
        "how do we undo it?",
        conversation("The canary fails.", "Then go back.", summary="Atlas was released."),
        ["memory", "resource"],
        [Place("viking://resources/ops", "how the service is run")],
    )
    assert told(briefing) == (
        "## Summary of what was said before\nAtlas was released.\n\n"
        "## Last messages\n[user] The canary fails.\n[assistant] Then go back.\n\n"
        "## Limited to these kinds\nmemory, resource\n\n"
        "## Limited to these places\nviking://resources/ops how the service is run\n\n"
        "## New message\nhow do we undo it?"
    )


def test_what_there_is_not_is_said():
    assert told(Briefing("undo", Conversation())) == (
        "## Summary of what was said before\n(none)\n\n## Last messages\n(none)\n\n"
        "## New message\nundo"
    )


def test_R029_exactly_the_last_five_messages_are_inside():  # noqa: N802 - a case
    text = told(Briefing("undo", conversation(*(f"said {n}." for n in range(7)))))
    assert re.findall(r"said (\d)", text) == ["2", "3", "4", "5", "6"]


@pytest.mark.parametrize("length", [50, 5_000, 500_000])
@pytest.mark.parametrize("letter", ["x", "字"])
def test_R139_the_prompt_stays_within_its_budget_and_loses_nothing(length, letter):  # noqa: N802 - a case
    filling = letter * length
    said = conversation(
        *(f"begin{n} {filling} end{n}" for n in range(9)), summary=f"summary {filling} so far"
    )
    places = [Place(f"viking://resources/{n}", filling) for n in range(3)]
    briefing = Briefing(f"query {filling} mark", said, ["memory"], places)
    messages = PROMPTER.messages(briefing)
    assert sum(estimated_tokens(message.text) for message in messages) <= 1_000
    for n in range(4, 9):
        assert f"begin{n} " in messages[1].text
        assert f" end{n}" in messages[1].text
    for word in ("summary ", " so far", "query ", " mark", "viking://resources/2"):
        assert word in messages[1].text
    assert "begin3" not in messages[1].text


@pytest.mark.parametrize(
    ("query", "said", "language"),
    [
        ("how do we undo it?", "怎么了", "Plan in English."),
        ("那怎么回滚？", "what is it", "用中文规划。"),
        ("TKX-7741 怎么了", "", "用中文规划。"),
        ("7741?", "怎么了", "用中文规划。"),
        ("7741?", "what is it", "Plan in English."),
        ("どうやって戻す", "怎么了", "Plan in English."),
        ("?", "", "Plan in English."),
    ],
)
def test_the_language_is_that_of_the_query_or_of_the_last_messages(query, said, language):
    system, user = PROMPTER.messages(Briefing(query, conversation(said)))
    assert (system.role, system.text, user.role) == ("system", language, "user")
    assert user.text.startswith("## 此前对话的摘要" if "中" in language else "## Summary")


def test_characters_that_cannot_be_sent_are_not():
    text = told(Briefing("un\x00do \ud800", conversation("a\x07b", summary="\udfff")))
    assert text.isprintable() or set(text) - {"\n"} <= set(map(chr, range(32, 0x10000)))
    assert "\x00" not in text
    text.encode()


def test_of_a_huge_text_both_ends_are_told():
    huge = f"begin {'x' * 5_000_000} end"
    text = told(Briefing(huge, conversation(huge, summary=huge)))
    assert text.count("begin x") == text.count("x end") == 3
    assert estimated_tokens(text) < 1_000
