"""What of a language model's answer is taken as memories: item by item, the good ones only."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from contextfind.domain.errors import UnavailableError
from contextfind.domain.json_answer import json_in
from contextfind.domain.plain_text import plain_text, visible_text
from contextfind.sessions.memory_files import Memory, MemoryKind

_TITLE = 100  # characters; the longest title that is no text
_TEXT = 2_000  # characters; some three times what the prompt asks for
_ITEMS = (
    30  # of one answer; a model that finds more in a few thousand tokens copies the conversation
)
_SHOWN = 40  # characters of a wrong value that a complaint quotes
_GAP = re.compile(r"\n\s*\n")
_SAID = re.compile(r"[^\W_]")
# What models call them although they were told better.
_KINDS = {kind.value: kind for kind in MemoryKind} | {
    "preferences": MemoryKind.PREFERENCE,
    "facts": MemoryKind.FACT,
    "profile": MemoryKind.FACT,
    "entity": MemoryKind.FACT,
    "entities": MemoryKind.FACT,
    "events": MemoryKind.EVENT,
    "cases": MemoryKind.CASE,
}
_FIELDS = ("kind", "title", "text", "date", "updates")
_ITEM = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in _FIELDS}
    | {"kind": {"type": "string", "enum": [kind.value for kind in MemoryKind]}},
    "required": list(_FIELDS),
    "additionalProperties": False,
}
SCHEMA: Mapping[str, object] = {
    "type": "object",
    "properties": {"memories": {"type": "array", "items": _ITEM}},
    "required": ["memories"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Item:
    """A memory as the model said it; `memory.day` is None where it named none.

    kind: of the memory. updates: what it says is the address of a memory that this one replaces; may
    be anything.
    """

    kind: MemoryKind
    memory: Memory
    updates: str = ""


def items_in(answer: str) -> tuple[Sequence[Item], Sequence[str]]:
    """Return the items that can be kept, and a line about each that cannot.

    Raises:
        UnavailableError: the answer holds no list of memories.

    """
    value = json_in(answer)
    listed = value.get("memories") if isinstance(value, Mapping) else value
    if not isinstance(listed, list):
        raise UnavailableError("the model's answer lacks `memories`", {"retryable": False})
    items: list[Item] = []
    complaints: list[str] = []
    for number, given in enumerate(listed[:_ITEMS], 1):
        found = _item(given)
        if isinstance(found, Item):
            items.append(found)
        else:
            complaints.append(f"memory {number} of the answer: {found}")
    if len(listed) > _ITEMS:
        complaints.append(f"of {len(listed)} memories in one answer only {_ITEMS} were looked at")
    return items, complaints


def _item(given: object) -> Item | str:
    """Return an item, or what is wrong with it."""
    if not isinstance(given, Mapping):
        return f"{_quoted(given)} is no object"
    kind = _KINDS.get(_line(given.get("kind")).casefold())
    if kind is None:
        known = ", ".join(MemoryKind)
        return f"`kind` is {_quoted(given.get('kind'))}; expected one of {known}"
    title, text = _line(given.get("title")), _paragraphs(given.get("text"))
    for name, said in (("title", title), ("text", text)):
        if not _SAID.search(said):
            return f"`{name}` is {_quoted(given.get(name))}; expected words"
    memory = Memory(kind, _cut(title, _TITLE), _cut(text, _TEXT), _day(given.get("date")))
    return Item(kind, memory, _line(given.get("updates")))


def _line(value: object) -> str:
    return " ".join(_clean(value).split())


def _paragraphs(value: object) -> str:
    """Return a text whose paragraphs stand one empty line apart."""
    parts = (part.strip() for part in _GAP.split(_clean(value)))
    return "\n\n".join(part for part in parts if part)


def _clean(value: object) -> str:
    """Return a text without what cannot be seen; empty for anything else."""
    if not isinstance(value, str):
        return ""
    return unicodedata.normalize("NFC", visible_text(value))


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def _day(value: object) -> date | None:
    """Return the day a text begins with; None for everything else, which is no fault of the memory."""
    try:
        return date.fromisoformat(_line(value)[:10])
    except ValueError:
        return None


def _quoted(value: object) -> str:
    if value is None:
        return "missing"
    text = repr(value) if isinstance(value, str) else type(value).__name__
    return plain_text(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")
