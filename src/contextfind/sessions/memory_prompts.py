"""What a language model is told to find memories by: a window of the conversation, and what is known."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.resources import files

from contextfind.domain.conversation import SessionMessage
from contextfind.domain.plain_text import plain_text
from contextfind.domain.tokens import estimated_tokens, shortened
from contextfind.domain.uri import Uri
from contextfind.ports import Message
from contextfind.sessions.excerpt import in_chinese
from contextfind.sessions.memory_files import Memory
from contextfind.sessions.messages import readable

_PROMPTS = files("contextfind.sessions") / "prompts"
_FRAME = 60  # tokens of JSON around a message, at most: its time, its role, its speaker
_SPEAKERS = frozenset({"user", "assistant"})
_ASIDE = 4  # what a tool said is seldom worth a memory: it gets that part of the room of a speaker


@dataclass(frozen=True, slots=True)
class WindowRules:
    """What one extraction may cost.

    tokens: told of the conversation in one call; with the prompt, what is known, and the answer this
        fits into a model that reads 16,000. message_tokens: told of one message; of a longer one
        beginning and end, so that a window holds five at the least. windows: calls for one archive; 8
        hold 48,000 tokens, and clients commit at some 10,000.
    """

    tokens: int = 6_000
    message_tokens: int = 1_000
    windows: int = 8


@dataclass(frozen=True, slots=True)
class Window:
    """Messages that are read together, oldest first, as they are told."""

    messages: Sequence[SessionMessage]
    said: Sequence[Mapping[str, str]]

    @property
    def day(self) -> date:
        """Return the day of the last message."""
        return self.messages[-1].created_at.date()

    @property
    def place(self) -> str:
        """Return which messages of the session these are, in words."""
        return f"messages {self.messages[0].ordinal} to {self.messages[-1].ordinal}"

    @property
    def of_the_user(self) -> Sequence[str]:
        """What the user said, newest first; what anybody said where the user said nothing."""
        mine = [one["text"] for one in self.said if one["role"] == "user"]
        return (mine or [one["text"] for one in self.said])[::-1]


class MemoryPrompts:
    """Tells the model in the language of the conversation; all that others wrote is data."""

    def __init__(self) -> None:
        self._prompts = {
            chinese: (_PROMPTS / name).read_text("utf-8")
            for chinese, name in ((False, "memories_en.md"), (True, "memories_zh.md"))
        }

    def question(self, window: Window, known: Sequence[tuple[Uri, Memory]]) -> list[Message]:
        """Return the messages to the model; `known` memories are offered to be updated."""
        told = {
            "known": [_known(uri, memory) for uri, memory in known],
            "messages": list(window.said),
        }
        return [
            Message("system", self._prompts[in_chinese(window.messages)]),
            Message("user", json.dumps(told, ensure_ascii=False)),
        ]


def windows(
    messages: Sequence[SessionMessage], rules: WindowRules
) -> tuple[Sequence[Window], Sequence[SessionMessage]]:
    """Return the windows, oldest first, and the messages that found no room: the oldest.

    The JSON of each window is within `rules.tokens`, as `estimated_tokens` counts. Messages without
    text are passed over.
    """
    found: list[Window] = []
    group: list[tuple[SessionMessage, Mapping[str, str]]] = []
    room = rules.tokens
    telling = [(message, text) for message in messages if (text := _spoken(message))]
    for index in reversed(range(len(telling))):  # so that what finds no room is the oldest
        message, text = telling[index]
        said = _said(message, text, rules)
        cost = estimated_tokens(json.dumps(said, ensure_ascii=False)) + 1
        if group and cost > room:
            found.append(_window(group))
            group, room = [], rules.tokens
            if len(found) == rules.windows:
                return found[::-1], [left for left, _ in telling[: index + 1]]
        group.append((message, said))
        room -= cost
    if group:
        found.append(_window(group))
    return found[::-1], ()


def _window(newest_first: Sequence[tuple[SessionMessage, Mapping[str, str]]]) -> Window:
    pairs = newest_first[::-1]
    return Window([message for message, _ in pairs], [said for _, said in pairs])


def _spoken(message: SessionMessage) -> str:
    """Return what was said; of a message that says something, not what was looked up on the way.

    Else a memory that was recalled would be learnt again, from every conversation it helped in.
    """
    said = readable([part for part in message.parts if part.get("type") == "text"])
    return said.strip() or plain_text(message.text).strip()


def _said(message: SessionMessage, text: str, rules: WindowRules) -> Mapping[str, str]:
    limit = min(rules.message_tokens, rules.tokens // 2 - _FRAME)  # JSON may double it: quotes
    if message.role not in _SPEAKERS:
        limit //= _ASIDE
    said = {"at": f"{message.created_at:%Y-%m-%d %H:%M}", "role": plain_text(message.role[:20])}
    peer = message.extra.get("peer_id")
    if isinstance(peer, str) and peer.strip():
        said["who"] = plain_text(peer.strip()[:40])
    return said | {"text": shortened(text, limit)}


def _known(uri: Uri, memory: Memory) -> Mapping[str, str]:
    day = {} if memory.day is None else {"date": memory.day.isoformat()}
    return {"address": uri.text, "title": memory.title, **day, "text": memory.text}
