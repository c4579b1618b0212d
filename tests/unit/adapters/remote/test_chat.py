import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field

import pytest

from contextfind.adapters.remote.breaker import FAILURES, Breaker
from contextfind.adapters.remote.chat import ChatSettings, OpenAIChat
from contextfind.adapters.remote.endpoint import EndpointSettings, Patience
from contextfind.adapters.remote.failures import ProviderError
from contextfind.domain.errors import UnavailableError
from contextfind.domain.json_answer import json_in
from contextfind.ports import Message
from tests.stubs.chat import (
    BROKEN,
    BUSY,
    CUT,
    EMPTY,
    FENCED,
    FORBIDDEN,
    HANG,
    PROSE,
    StubChat,
    Turn,
    say,
    stub_chat,
)  # fmt: skip

KEY = "sk-secret-1234"
HELLO = (Message("system", "Be brief."), Message("user", "Hello"))
SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}


@dataclass
class Line:
    """A stub, chat models that talk to it, and how long they would have slept."""

    stub: StubChat
    waits: list[float] = field(default_factory=list)
    opened: list[OpenAIChat] = field(default_factory=list)

    def model(self, timeout: float = 5, *, breaker: Breaker | None = None) -> OpenAIChat:
        endpoint = EndpointSettings(self.stub.base_url, timeout, 2, KEY)
        patience = Patience(self._sleep, lambda: 1.0)
        self.opened.append(OpenAIChat(ChatSettings("m", 0.2), endpoint, breaker, patience))
        return self.opened[-1]

    async def _sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        await asyncio.sleep(0)


@pytest.fixture
def stub() -> Iterator[StubChat]:
    with stub_chat() as stub:
        yield stub


@pytest.fixture
async def line(stub: StubChat) -> AsyncIterator[Line]:
    line = Line(stub)
    yield line
    for model in line.opened:
        await model.aclose()


async def test_the_request_names_model_messages_and_limits(line: Line) -> None:
    assert await line.model().complete(HELLO, 100) == "ok"
    (asked,) = line.stub.requests
    assert asked.path == "/v1/chat/completions"
    assert asked.headers["Authorization"] == f"Bearer {KEY}"
    assert asked.body == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hello"},
        ],
        "max_tokens": 100,
        "temperature": 0.2,
    }


async def test_a_base_url_may_name_the_route(line: Line) -> None:
    endpoint = EndpointSettings(f"{line.stub.base_url}/chat/completions", 5, 1)
    model = OpenAIChat(ChatSettings("m"), endpoint)
    line.opened.append(model)
    assert await model.complete(HELLO, 9) == "ok"
    assert line.stub.requests[0].path == "/v1/chat/completions"


async def test_a_schema_is_asked_for(line: Line) -> None:
    line.stub.always = say({"a": "b"})
    assert json_in(await line.model().complete(HELLO, 100, SCHEMA)) == {"a": "b"}
    assert line.stub.requests[0].body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "strict": True, "schema": SCHEMA},
    }


@pytest.mark.parametrize(
    ("takes", "forms"),
    [({"json_object", ""}, ["json_schema", "json_object"]),
     ({""}, ["json_schema", "json_object", ""])],
)  # fmt: skip
async def test_what_the_endpoint_refuses_is_left_out_and_that_is_remembered(
    line: Line, takes: set[str], forms: list[str]
) -> None:
    line.stub.forms = frozenset(takes)
    line.stub.always = say({"a": "b"})
    model = line.model()
    for _ in range(2):
        assert await model.complete(HELLO, 100, SCHEMA) == '{"a": "b"}'
    assert [asked.form for asked in line.stub.requests] == [*forms, forms[-1]]
    system, user = line.stub.requests[-1].messages
    assert system[0] == "system"
    assert system[1].startswith("Be brief.")
    assert '"additionalProperties": false' in system[1]  # it is told in words
    assert user == ("user", "Hello")


@pytest.mark.parametrize(
    ("reason", "gone", "there"),
    [("Use 'max_completion_tokens' instead of 'max_tokens'.", "max_tokens", "max_completion_tokens"),
     ("temperature: only the default (1) is supported", "temperature", "max_tokens")],
)  # fmt: skip
async def test_a_limit_the_model_does_not_know_is_replaced(
    line: Line, reason: str, gone: str, there: str
) -> None:
    line.stub.turns.append(Turn(status=400, reason=reason))
    assert await line.model().complete(HELLO, 100) == "ok"
    first, second = line.stub.requests
    assert gone in first.body
    assert gone not in second.body
    assert there in second.body


async def test_a_refusal_about_something_else_is_the_callers(line: Line) -> None:
    line.stub.always = Turn(status=400, reason="this content is not allowed")
    with pytest.raises(ProviderError, match="not allowed"):
        await line.model().complete(HELLO, 100, SCHEMA)
    assert line.stub.calls == 1


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("  plain \n", "plain"),
        ([{"type": "text", "text": "in "}, {"type": "text", "text": "parts"}], "in parts"),
        ("<think>Hm.\n<b>So</b></think>\n\nThe answer", "The answer"),
        ("the template opened it</think>The answer", "The answer"),
        ("null\x00 and \ud800", "null  and \ufffd"),
    ],
)
async def test_the_text_is_taken_out_of_the_answer(line: Line, content: object, text: str) -> None:
    line.stub.always = Turn(content)
    assert await line.model().complete(HELLO, 100) == text


@pytest.mark.parametrize(
    "turn",
    [
        EMPTY,
        Turn(None),
        Turn("<think>and then the tokens ran out"),
        Turn("<think>all</think> \n"),
        Turn(message={"role": "assistant", "content": None, "refusal": "I will not."}),
        Turn(raw=b'{"choices": []}'),
        Turn(raw=b'{"choices": [null]}'),
        Turn(raw=b"[]"),
        Turn(raw=b"no json"),
    ],
)
async def test_no_answer_is_an_error(line: Line, turn: Turn) -> None:
    line.stub.always = turn
    with pytest.raises(UnavailableError):
        await line.model().complete(HELLO, 100)


@pytest.mark.parametrize("turn", [FENCED, PROSE, CUT])
async def test_what_is_said_is_handed_on_as_it_is(line: Line, turn: Turn) -> None:
    line.stub.always = turn
    assert await line.model().complete(HELLO, 100, SCHEMA) == str(turn.content).strip()


async def test_any_text_may_be_sent(line: Line) -> None:
    await line.model().complete([Message("user", "a\x00b\ud800")], 9)
    assert line.stub.requests[0].messages == [("user", "a b\ufffd")]


async def test_a_passing_failure_is_tried_again_as_late_as_was_asked(line: Line) -> None:
    line.stub.turns.extend([BUSY, BROKEN])
    assert await line.model().complete(HELLO, 100) == "ok"
    assert line.stub.calls == 3
    assert line.waits[0] == 1


async def test_nobody_waits_longer_than_the_time_of_one_request(line: Line) -> None:
    line.stub.always = Turn(status=429, headers={"Retry-After": "20"})
    with pytest.raises(ProviderError, match="429"):
        await line.model(timeout=5).complete(HELLO, 100)
    assert line.stub.calls == 1
    line.stub.always = HANG
    with pytest.raises(ProviderError, match="no answer within"):
        await line.model(timeout=0.2).complete(HELLO, 100)
    assert line.stub.calls == 2


async def test_what_is_forbidden_is_not_tried_again(line: Line) -> None:
    line.stub.always = FORBIDDEN
    with pytest.raises(ProviderError, match="this key may not") as caught:
        await line.model().complete(HELLO, 100)
    assert caught.value.details["retryable"] is False
    assert line.stub.calls == 1


async def test_a_model_that_is_down_is_left_alone(line: Line) -> None:
    line.stub.always = BROKEN
    model = line.model(breaker=Breaker())
    for _ in range(FAILURES + 3):
        with pytest.raises(ProviderError):
            await model.complete(HELLO, 100)
    assert line.stub.calls == FAILURES


async def test_no_more_than_allowed_are_asked_at_once(line: Line) -> None:
    line.stub.always = Turn(delay=0.05)
    model = line.model()
    await asyncio.gather(*(model.complete(HELLO, 100) for _ in range(6)))
    assert line.stub.calls == 6
    assert line.stub.busiest == 2


async def test_the_key_is_never_shown(line: Line) -> None:
    line.stub.always = Turn(status=401, reason=f"bad key {KEY}")
    model = line.model()
    with pytest.raises(ProviderError) as caught:
        await model.complete(HELLO, 100)
    assert KEY not in str(caught.value)
    assert KEY not in repr(caught.value.details)
    assert KEY not in repr(vars(model))
