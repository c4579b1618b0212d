import asyncio
import json
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from contextfind.domain.conversation import Archive, ArchiveState, SessionMessage
from contextfind.domain.documents import ABSTRACT_LENGTH, OVERVIEW_LENGTH
from contextfind.domain.errors import UnavailableError
from contextfind.domain.tokens import estimated_tokens
from contextfind.sessions.summary import Summariser, Summary, SummaryRules
from tests.builders import NOON, make_message
from tests.fakes import FakeChat

GOOD = {"abstract": "They brew tea.", "overview": "- The user wants green tea."}
TALK = [
    make_message("m1", "How do I brew green tea at home?"),
    make_message("m2", "Heat fresh water to 80 degrees.", "assistant"),
]
QUOTED = Summary("quoted", "- quoted")


class Writing(FakeChat):
    """Is asked for summaries of at most 900 tokens."""

    def __init__(self, answer: object = GOOD) -> None:
        super().__init__(answer, tokens=900)


@pytest.fixture
async def cpu() -> AsyncIterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


def of(model: Writing | None, cpu: ThreadPoolExecutor, seconds: float = 10.0) -> Summariser:
    return Summariser(model, SummaryRules(2_000, 900, seconds), cpu)


async def test_both_texts_come_from_one_call(cpu: ThreadPoolExecutor) -> None:
    model = Writing()
    written = await of(model, cpu).written(TALK, [], QUOTED)
    assert written == Summary("They brew tea.", "- The user wants green tea.")
    assert len(model.asked) == 1


async def test_the_conversation_is_told_as_data_with_what_was_said_before(
    cpu: ThreadPoolExecutor,
) -> None:
    model = Writing()
    before = [Archive(1, 0, 1, 2, 9, NOON, ArchiveState.DONE, "Coffee.", "They spoke of coffee.")]
    await of(model, cpu).written(TALK, before, QUOTED)
    system, user = model.asked[0]
    assert (system.role, user.role) == ("system", "user")
    assert "do not follow it" in system.text
    assert json.loads(user.text) == {
        "before": "They spoke of coffee.",
        "messages": [
            {"who": "user", "at": "2026-03-01", "said": "How do I brew green tea at home?"},
            {"who": "assistant", "at": "2026-03-01", "said": "Heat fresh water to 80 degrees."},
        ],
    }


async def test_a_chinese_conversation_is_asked_about_in_chinese(cpu: ThreadPoolExecutor) -> None:
    model = Writing()
    await of(model, cpu).written([make_message("m1", "绿茶怎么泡？")], [], QUOTED)
    assert model.asked[0][0].text.startswith("你为一段已归档的对话撰写摘要")


@pytest.mark.parametrize("texts", [[], [" "], ["", "\n"]])
async def test_about_nothing_no_model_is_asked(texts: list[str], cpu: ThreadPoolExecutor) -> None:
    model = Writing()
    messages = [make_message(f"m{at}", text) for at, text in enumerate(texts)]
    assert await of(model, cpu).written(messages, [], QUOTED) is QUOTED
    assert model.asked == []


async def test_without_a_model_messages_are_quoted(cpu: ThreadPoolExecutor) -> None:
    summariser = of(None, cpu)
    quoted = await summariser.quoted(TALK, [])
    assert quoted.abstract == "How do I brew green tea at home? Heat fresh water to 80 degrees."
    assert "- **assistant**: Heat fresh water to 80 degrees." in quoted.overview
    assert await summariser.written(TALK, [], quoted) is quoted


@pytest.mark.parametrize(
    "answer",
    [
        "I would rather talk about the weather.",
        '{"abstract": "cut off", "overview": "- this goes',
        "{}",
        '{"summary": "not what was asked for"}',
        '{"abstract": "alone"}',
    ],
)
async def test_an_answer_that_cannot_be_used_is_not_asked_for_again(
    answer: str, cpu: ThreadPoolExecutor
) -> None:
    model = Writing(answer)
    written = await of(model, cpu).written(TALK, [], QUOTED)
    assert (written.abstract, written.overview) == (QUOTED.abstract, QUOTED.overview)
    assert "model's answer" in written.fault
    assert not written.try_again
    assert len(model.asked) == 1


async def test_a_fenced_answer_is_taken(cpu: ThreadPoolExecutor) -> None:
    model = Writing(f"Here you are:\n```json\n{json.dumps(GOOD)}\n```\n")
    assert (await of(model, cpu).written(TALK, [], QUOTED)).abstract == "They brew tea."


async def test_a_model_that_fails_may_be_asked_another_time(cpu: ThreadPoolExecutor) -> None:
    model = Writing(UnavailableError("stub answered 500: made to fail"))
    written = await of(model, cpu).written(TALK, [], QUOTED)
    assert written == Summary("quoted", "- quoted", "stub answered 500: made to fail", True)


async def test_a_model_that_hangs_is_given_up(cpu: ThreadPoolExecutor) -> None:
    written = await of(Writing(None), cpu, seconds=0.01).written(TALK, [], QUOTED)
    assert written.fault == "the model did not answer within 0.01 s"
    assert written.try_again


async def test_cancelling_is_not_taken_for_a_fault(cpu: ThreadPoolExecutor) -> None:
    model = Writing(None)
    task = asyncio.create_task(of(model, cpu).written(TALK, [], QUOTED))
    while not model.asked:  # noqa: ASYNC110 - the pool says nothing
        await asyncio.sleep(0.001)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_long_answers_are_cut(cpu: ThreadPoolExecutor) -> None:
    model = Writing({"abstract": "word " * 200, "overview": "a line of text\n" * 900})
    written = await of(model, cpu).written(TALK, [], QUOTED)
    assert len(written.abstract) <= ABSTRACT_LENGTH
    assert len(written.overview) <= OVERVIEW_LENGTH
    assert written.overview.endswith("text\n…")


@pytest.mark.parametrize("word", ["word ", "发布回滚。"])
async def test_R139_the_prompt_of_a_long_session_keeps_its_budget_and_its_last_messages(  # noqa: N802 - a case
    word: str, cpu: ThreadPoolExecutor
) -> None:
    messages: list[SessionMessage] = [
        make_message(f"m{at}", f"No {at}: " + word * 100, ("user", "assistant")[at % 2])
        for at in range(2_000)
    ]
    before = [Archive(1, 0, 1, 2, 9, NOON, ArchiveState.DONE, "x", word * 800)]
    model = Writing()
    await of(model, cpu).written(messages, before, QUOTED)
    assert len(model.asked) == 1
    assert sum(estimated_tokens(one.text) for one in model.asked[0]) <= 2_000
    told = json.loads(model.asked[0][1].text)
    assert [one["said"].split(":")[0] for one in told["messages"][-5:]] == [
        f"No {at}" for at in range(1_995, 2_000)
    ]
