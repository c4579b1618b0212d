"""A real HTTP server with `/v1/chat/completions` on the loopback: scripted answers, and faults to order."""

import json
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.stubs.loopback import Loopback, Reply, refuse, whole


@dataclass(frozen=True)
class Asked:
    """A request as it came."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, object]

    @property
    def messages(self) -> list[tuple[str, str]]:
        """The messages as (role, content)."""
        sent = self.body["messages"]
        assert isinstance(sent, list)
        return [(one["role"], one["content"]) for one in sent]

    @property
    def prompt(self) -> str:
        """All messages in one text."""
        return "\n".join(text for _, text in self.messages)

    @property
    def form(self) -> str:
        """The kind of `response_format`, empty without one."""
        asked = self.body.get("response_format")
        return str(asked["type"]) if isinstance(asked, Mapping) else ""


@dataclass(frozen=True)
class Turn:
    """What one request gets.

    content: the message's content, a string or a list of parts. status, reason, headers: a refusal.
    message: instead of the whole message. raw: these bytes as the body. delay: seconds before
    anything is sent; a server that is closed stops waiting. cut: the connection is reset after so many bytes.
    """

    content: object = "ok"
    status: int = 200
    reason: str = "made to fail"
    headers: Mapping[str, str] = field(default_factory=dict)
    message: object = None
    raw: bytes | None = None
    delay: float = 0.0
    cut: int | None = None


HANG = Turn(delay=600.0)
FENCED = Turn('Here you are:\n```json\n{"abstract": "fenced", "overview": "- fenced"}\n```\n')
PROSE = Turn("I would rather talk about the weather.")
CUT = Turn('{"abstract": "cut off", "overview": "- this goes on and')
EMPTY = Turn("")
WRONG_KEYS = Turn('{"summary": "not what was asked for"}')
BROKEN = Turn(status=500)
BUSY = Turn(status=429, headers={"Retry-After": "1"})
FORBIDDEN = Turn(status=403, reason="this key may not")
Script = Callable[[Asked], Turn]


def say(value: object) -> Turn:
    """Return a turn that answers a value as JSON."""
    return Turn(json.dumps(value, ensure_ascii=False))


class StubChat(Loopback):
    """Answers what it is told to.

    turns: used up in order, one a request. always: then, and for ever, this one; a function of the
    request, or a turn. forms: the kinds of `response_format` it takes, others are refused with 400.
    """

    def __init__(self, always: Script | Turn = Turn()) -> None:
        self.turns: deque[Turn] = deque()
        self.always = always
        self.forms: frozenset[str] = frozenset({"", "json_schema", "json_object"})
        self.requests: list[Asked] = []
        self.asked = threading.Event()  # set with the first request
        super().__init__()

    @property
    def calls(self) -> int:
        """How many requests came."""
        return len(self.requests)

    def take(
        self, path: str, headers: Mapping[str, str], content: bytes
    ) -> tuple[float, Callable[[], Reply]]:
        """Note the request and the turn that it gets."""
        asked = Asked(path, headers, json.loads(content))
        self.requests.append(asked)
        self.asked.set()
        turn = self.turns.popleft() if self.turns else self._usual(asked)
        return turn.delay, lambda: whole(self._given(asked, turn), turn.cut)

    def _usual(self, asked: Asked) -> Turn:
        return self.always if isinstance(self.always, Turn) else self.always(asked)

    def _given(self, asked: Asked, turn: Turn) -> Reply:
        if turn.raw is not None:
            return turn.status, turn.headers, turn.raw
        if turn.status != 200:
            return refuse(turn.status, turn.reason, turn.headers)
        if asked.form not in self.forms:
            return refuse(400, f"response_format {asked.form} is not supported")
        message = turn.message or {"role": "assistant", "content": turn.content}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return 200, {}, json.dumps({"object": "chat.completion", "choices": [choice]}).encode()


@contextmanager
def stub_chat(always: Script | Turn = Turn()) -> Iterator[StubChat]:
    """Yield a server that is closed afterwards."""
    stub = StubChat(always)
    try:
        yield stub
    finally:
        stub.close()
