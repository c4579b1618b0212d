"""A memory: what is kept of a conversation, where it lies in the tree, and how its file is written."""

import re
import unicodedata
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from contextfind.domain.identity import Identity
from contextfind.domain.uri import Uri

_FILE = re.compile(
    r"# (?P<title>[^\n]+)\n\n(?:(?P<date>\d{4}-\d\d-\d\d)\n\n)?(?P<text>.+)", re.DOTALL
)
_KEPT = frozenset("LMN")  # letters, the marks on them, numbers: what a name is made of


class MemoryKind(StrEnum):
    """What a memory is about.

    PREFERENCE: how the user likes things to be. FACT: what is so, about the user, others, and things.
    EVENT: what happened, or will, on a day. CASE: a problem, and what solved it.
    """

    PREFERENCE = "preference"
    FACT = "fact"
    EVENT = "event"
    CASE = "case"


FOLDERS = {
    MemoryKind.PREFERENCE: "preferences",
    MemoryKind.FACT: "facts",
    MemoryKind.EVENT: "events",
    MemoryKind.CASE: "cases",
}


@dataclass(frozen=True, slots=True)
class Memory:
    """One thing worth knowing later.

    kind: None for a file that lies elsewhere than memories are put. title: one line. text: paragraphs.
    day: of an event, the day it happens; else the day it was said. None where nobody knows.
    """

    kind: MemoryKind | None
    title: str
    text: str
    day: date | None


def memories_uri(identity: Identity) -> Uri:
    """Return the directory of all memories of a user."""
    return Uri(f"viking://user/{identity.user}/memories")


def memory_uri(identity: Identity, kind: MemoryKind, title: str, day: date) -> Uri:
    """Return where a memory lies: the same kind and title (of an event, the same day too) is the same.

    Made of our own names and of the letters and digits of the title, so it never leaves the directory
    of its kind.
    """
    name = slug(title)
    if kind is MemoryKind.EVENT:
        name = f"{day.isoformat()}-{name}"
    return memories_uri(identity).child(FOLDERS[kind]).child(f"{name}.md")


def slug(title: str) -> str:
    """Return the letters and digits of a title, in lower case, joined by hyphens; of any script."""
    plain = unicodedata.normalize("NFKC", title).casefold()
    kept = "".join(one if unicodedata.category(one)[0] in _KEPT else " " for one in plain)
    return "-".join(unicodedata.normalize("NFC", kept).split())


def folded(text: str) -> str:
    """Return what two texts that say the same in the same words have in common."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(plain.split()).rstrip(" .。!")


def paragraphs(text: str) -> list[str]:
    """Return the parts between empty lines."""
    return [part for part in text.split("\n\n") if part.strip()]


def as_file(memory: Memory) -> str:
    """Return the memory as Markdown: its title, its day, its text."""
    day = () if memory.day is None else (memory.day.isoformat(),)
    return "\n\n".join([f"# {memory.title}", *day, memory.text]) + "\n"


def of_file(uri: Uri, body: str) -> Memory:
    """Return the memory that a file holds; one in another form is all text, titled by its name."""
    kinds = [kind for kind, folder in FOLDERS.items() if folder == uri.segments[3]]
    kind = kinds[0] if kinds and len(uri.segments) > 4 else None  # noqa: PLR2004 - user/NAME/memories/FOLDER/FILE
    found = _FILE.fullmatch(body)
    if found is None:
        return Memory(kind, uri.name.removesuffix(".md"), body.strip(), None)
    return Memory(kind, found["title"], found["text"].strip(), _day(found["date"]))


def _day(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text or "")
    except ValueError:
        return None
