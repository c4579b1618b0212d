import json

from hypothesis import given, settings
from hypothesis import strategies as st

from contextfind.domain.conversation import SessionMessage
from contextfind.domain.tokens import estimated_tokens
from contextfind.sessions.transcript import LAST_WHOLE, told_within
from tests.builders import make_message


def talk(*texts: str) -> list[SessionMessage]:
    roles = ("user", "assistant")
    return [make_message(f"m{at}", text, roles[at % 2]) for at, text in enumerate(texts)]


def price(told: object) -> int:
    return estimated_tokens(json.dumps(told, ensure_ascii=False))


def test_what_fits_is_told_whole_and_in_order() -> None:
    assert told_within(talk("How do I brew tea?", "  ", "With water."), 1_000) == [
        {"who": "user", "at": "2026-03-01", "said": "How do I brew tea?"},
        {"who": "user", "at": "2026-03-01", "said": "With water."},
    ]


def test_R139_of_two_thousand_messages_beginning_quotes_and_the_last_ones_are_told() -> None:  # noqa: N802 - a case
    texts = [f"Message {at} speaks of lamp {at}. " + "word " * 95 for at in range(2_000)]
    told = told_within(talk(*texts), 6_000)
    assert price(told) <= 6_000
    assert str(told[0]["said"]).startswith("Message 0 ")
    gap = next(at for at, one in enumerate(told) if "left_out" in one)
    assert told[gap]["left_out"] == 2_000 - (len(told) - 1)
    assert told[gap]["quotes"]
    last = [str(one["said"])[:13] for one in told[-LAST_WHOLE:]]
    assert last == [f"Message {at} "[:13] for at in range(1_995, 2_000)]


def test_of_a_message_that_is_too_long_beginning_and_end_are_told() -> None:
    told = told_within(talk("begins " + "x" * 50_000 + " ends"), 1_200)
    said = str(told[0]["said"])
    assert said.startswith("begins x")
    assert said.endswith("x ends")
    assert " […] " in said
    assert price(told) <= 1_200


@given(
    texts=st.lists(
        st.one_of(
            st.text(max_size=400),
            st.text(alphabet='"\\\n\u4e2d a.', min_size=300, max_size=2_000),
        ),
        max_size=60,
    ),
    budget=st.integers(1_000, 3_000),
)
@settings(max_examples=150, deadline=None)
def test_the_budget_holds_and_the_last_messages_are_there(texts: list[str], budget: int) -> None:
    messages = talk(*texts)
    told = told_within(messages, budget)
    assert price(told) <= budget
    telling = [message for message in messages if message.text.strip()]
    last = telling[-LAST_WHOLE:]
    assert [one["who"] for one in told[len(told) - len(last) :]] == [one.role for one in last]
    hidden = sum(int(str(one["left_out"])) for one in told if "left_out" in one)
    assert hidden + sum("said" in one for one in told) == len(telling)
