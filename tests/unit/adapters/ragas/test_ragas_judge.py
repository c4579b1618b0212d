"""The judge with the real library, where the extra is installed, and a stub for the model."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest

from contextfind.adapters.ragas.judge import INSTALLED, MEASURES, Judged, RagasJudge, Reader
from tests.stubs.chat import BROKEN, PROSE, Asked, StubChat, Turn, say, stub_chat

pytestmark = [
    pytest.mark.skipif(not INSTALLED, reason="the extra `ragas` is not installed"),
    pytest.mark.filterwarnings("default"),  # other people's libraries
]
HERON = Judged(
    "Where does the heron sleep?",
    ["The heron sleeps by the river.", "The kettle is in the kitchen."],
    "The heron sleeps by the river. It snores.",
    "By the river.",
)
NOTE = {"statement": "s", "reason": "r"}
# By the name of the form that is asked for: of two statements one holds, every context is of use.
FORMS: Mapping[str, object] = {
    "StatementGeneratorOutput": {"statements": ["It sleeps by the river.", "It snores."]},
    "NLIStatementOutput": {"statements": [NOTE | {"verdict": 1}, NOTE | {"verdict": 0}]},
    "ContextPrecisionOutput": {"reason": "r", "verdict": 1},
    "ContextRecallOutput": {"classifications": [NOTE | {"attributed": 1}]},
    "ClaimDecompositionOutput": {"claims": ["It sleeps by the river.", "It snores."]},
}


def reads(asked: Asked) -> Turn:
    rules = asked.messages[0][1]
    return say(next(form for name, form in FORMS.items() if f'"title": "{name}"' in rules))


@pytest.fixture
def chat() -> Iterator[StubChat]:
    with stub_chat(reads) as stub:
        yield stub


def judge(chat: StubChat) -> RagasJudge:
    return RagasJudge(Reader("m", chat.base_url, "", 5.0))


async def test_each_measure_has_a_score_and_the_model_reads_what_it_judges(chat: StubChat) -> None:
    one = judge(chat)
    grades = await one.grade(HERON)
    await one.aclose()
    assert grades.faults == {}
    assert set(grades.scores) == set(MEASURES)
    assert grades.scores["faithfulness"] == 0.5
    assert grades.scores["context_precision"] == pytest.approx(1.0)
    assert grades.scores["context_recall"] == 1.0
    assert 0 < grades.scores["factual_correctness"] < 1
    told = "".join(asked.prompt for asked in chat.requests)
    assert all(text in told for text in (HERON.question, HERON.answer, *HERON.contexts))


async def test_without_the_truth_only_what_needs_none_is_judged(chat: StubChat) -> None:
    one = judge(chat)
    grades = await one.grade(replace(HERON, truth=None))
    await one.aclose()
    assert set(grades.scores) == set(MEASURES[:2])


async def test_a_model_that_fails_or_talks_is_a_fault_of_each_measure(chat: StubChat) -> None:
    one = judge(chat)
    for always in (BROKEN, PROSE):
        chat.always = always
        grades = await one.grade(HERON)
        assert grades.scores == {}
        assert set(grades.faults) == set(MEASURES)
    await one.aclose()


async def test_an_answer_without_a_statement_is_a_fault_and_no_nan(chat: StubChat) -> None:
    chat.always = lambda asked: (
        say({"statements": []}) if "StatementGenerator" in asked.prompt else reads(asked)
    )
    one = judge(chat)
    grades = await one.grade(replace(HERON, truth=None))
    await one.aclose()
    assert set(grades.scores) == {"context_precision"}
    assert "no statement" in grades.faults["faithfulness"]
