"""From what a caller says to a message of a session."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from contextfind.domain.conversation import SessionMessage
from contextfind.domain.plain_text import plain_text
from contextfind.domain.tokens import estimated_tokens
from contextfind.ports import IdMaker

# Fields of a part that say something, whatever its type; the rest are ids, addresses and states.
_READABLE = ("text", "content", "abstract", "tool_name", "tool_input", "tool_output")


@dataclass(frozen=True, slots=True)
class Said:
    """A message as a caller gives it.

    parts: JSON objects, each with a `type`. id, created_at: None where the caller names none.
    """

    role: str
    parts: Sequence[Mapping[str, object]]
    id: str | None = None
    created_at: datetime | None = None
    extra: Mapping[str, object] = field(default_factory=dict)


def message_of(said: Said, now: datetime, new_id: IdMaker) -> SessionMessage:
    """Return the message, with what is missing filled in."""
    text = readable(said.parts)
    return SessionMessage(
        id=f"msg_{new_id()}" if said.id is None else said.id,
        role=said.role,
        parts=said.parts,
        text=text,
        tokens=estimated_tokens(text),
        created_at=now if said.created_at is None else said.created_at,
        extra=said.extra,
    )


def readable(parts: Sequence[Mapping[str, object]]) -> str:
    """Return what can be read in the parts, a line or more each; no control characters."""
    lines = [_line(part[name]) for part in parts for name in _READABLE if name in part]
    return plain_text("\n".join(line for line in lines if line))


def _line(value: object) -> str:
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, Mapping | list):
        return json.dumps(value, ensure_ascii=False) if value else ""
    return ""
