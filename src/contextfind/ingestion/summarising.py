"""Short texts about files and directories, made from what is there: no model is asked."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from contextfind.domain.documents import ABSTRACT_LENGTH, OVERVIEW_LENGTH, Document
from contextfind.ingestion.telling import (
    first_sentences,
    first_text,
    is_chinese,
    plain,
    telling_words,
)

_SKILL = "skill.md"
_DOORS = re.compile(r"(?:readme|_?index|overview|about)(?:[._-][\w-]+)?\.\w+|readme", re.IGNORECASE)
_LOOKED_AT = 200  # children whose words are counted; more would not change the answer
_NAMES = 12  # names in an abstract
_WORDS = 6
_LINE = 200  # characters of a child's abstract in an overview
_LONGEST_NAME = 100
_SCANNED = 1_000  # characters of a text without a sentence that are looked at
_BREAKS = re.compile(r"[\s,;，；、。！？]")


@dataclass(frozen=True, slots=True)
class ChildNote:
    """What a directory knows of something it lists."""

    name: str
    abstract: str
    is_directory: bool


def file_abstract(document: Document, name: str) -> str:
    """Return at most ABSTRACT_LENGTH characters about a file.

    Its own description if it has one (behind the name, for a skill); else the title and the first
    sentences that say something; else what it is divided into; else how it begins; else its name.
    Code adds the names it defines.
    """
    title = plain(document.title)
    headings = ("、" if is_chinese(document.text[:_SCANNED]) else ", ").join(_headings(document))
    if document.description and name.lower() == _SKILL:
        return shorten(_headed(title, document.description), ABSTRACT_LENGTH)
    if document.description:
        defines = headings if any(section.verbatim for section in document.sections[-1:]) else ""
        return shorten(f"{document.description} {defines}", ABSTRACT_LENGTH)
    said = _sentences(document, ABSTRACT_LENGTH - len(title))
    if said:
        return shorten(_headed(title, said), ABSTRACT_LENGTH)
    text = headings or first_text(document)
    return shorten(_headed(title or name, text) if text else title or name, ABSTRACT_LENGTH)


def directory_abstract(name: str, children: Iterable[ChildNote]) -> str:
    """Return at most ABSTRACT_LENGTH characters about a directory; the order given does not matter.

    A skill or a README speaks for its directory; then comes what it holds: numbers, names and the
    words that most of the children share, in Chinese where the children are.
    """
    listed = _sorted(children)
    skill = next((child for child in listed if child.name.lower() == _SKILL), None)
    if skill is not None and skill.abstract:
        return shorten(skill.abstract, ABSTRACT_LENGTH)
    door = _door(listed)
    holds = _holds(listed)
    if door is None:
        return shorten(_headed(name, holds), ABSTRACT_LENGTH)
    lead = shorten(door.abstract, ABSTRACT_LENGTH)
    return shorten(f"{lead} {holds}", ABSTRACT_LENGTH) if len(lead) < ABSTRACT_LENGTH / 2 else lead


def directory_overview(name: str, children: Iterable[ChildNote]) -> str:
    """Return at most OVERVIEW_LENGTH characters of Markdown: heading, lead, a line per child."""
    listed = _sorted(children)
    chinese = _are_chinese(listed)
    lead = directory_abstract(name, listed)
    lines = [f"# {shorten(name, _LONGEST_NAME)}", "", lead, ""]
    entries = [_entry(child) for child in listed]
    room = (
        OVERVIEW_LENGTH
        - sum(len(line) + 1 for line in lines)
        - len(_more(len(entries), chinese=chinese))
    )
    shown: list[str] = []
    for entry in entries:
        room -= len(entry) + 1
        if room < 0:
            break
        shown.append(entry)
    if len(shown) < len(entries):
        shown.append(_more(len(entries) - len(shown), chinese=chinese))
    return "\n".join([*lines, *shown]).rstrip() + "\n"


def shorten(text: str, limit: int) -> str:
    """Return the text on one line, cut behind a word with `…` where it is longer than `limit`."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    cut = line[: limit - 1]
    if _BREAKS.match(line[limit - 1]) is None and not is_chinese(cut[-8:]):
        end = max((match.end() for match in _BREAKS.finditer(cut)), default=0)
        cut = cut[:end] if end > limit / 2 else cut
    return cut.rstrip(" ,;，；、") + "…"


def _headed(title: str, text: str) -> str:
    """Put the title in front, unless the text begins with it."""
    if not title or text.casefold().startswith(title.casefold()):
        return text
    return f"{title}：{text}" if is_chinese(title) else f"{title}: {text}"


def _sentences(document: Document, room: int) -> str:
    said = ""
    for sentence in first_sentences(document):
        joint = "" if not said or is_chinese(said[-2:]) else " "
        if said and len(said) + len(sentence) > room:
            break
        said += joint + sentence
        if len(said) > room / 2:
            break
    return said


def _headings(document: Document) -> list[str]:
    """Return what a file is divided into: of code and data the outermost names only."""
    found = dict.fromkeys(
        section.headings[0] if section.verbatim else section.headings[-1]
        for section in document.sections
        if section.headings
    )
    return [heading for heading in found if heading != document.title]


def _sorted(children: Iterable[ChildNote]) -> list[ChildNote]:
    return sorted(children, key=lambda child: (not child.is_directory, child.name, child.abstract))


def _door(listed: Sequence[ChildNote]) -> ChildNote | None:
    """Return the README, else another file that speaks for the directory."""
    doors = [
        child
        for child in listed
        if not child.is_directory and child.abstract and _DOORS.fullmatch(child.name)
    ]
    return min(doors, key=lambda c: (not c.name.lower().startswith("readme"), c.name), default=None)


def _are_chinese(listed: Sequence[ChildNote]) -> bool:
    return is_chinese(" ".join(f"{child.name} {child.abstract}" for child in listed[:_LOOKED_AT]))


def _holds(listed: Sequence[ChildNote]) -> str:
    """Return how many files and folders there are, their names, and their common words."""
    chinese = _are_chinese(listed)
    folders = sum(child.is_directory for child in listed)
    counted = _counted(len(listed) - folders, folders, chinese=chinese)
    if not listed:
        return counted
    names = [child.name + "/" * child.is_directory for child in listed]
    joint, colon, stop = ("、", "：", "。") if chinese else (", ", ": ", ". ")
    words = telling_words(
        [f"{child.name} {child.abstract}" for child in listed[:_LOOKED_AT]], _WORDS
    )
    about = joint.join(words) + stop if words else ""
    shown = joint.join(names[:_NAMES]) + ("…" if len(names) > _NAMES else "")
    return f"{about}{counted}{colon}{shown}"


def _counted(files: int, folders: int, *, chinese: bool) -> str:
    if chinese:
        parts = [f"{files} 个文件" * (files > 0), f"{folders} 个目录" * (folders > 0)]
        return "、".join(part for part in parts if part)
    parts = [_plural(files, "file") * (files > 0), _plural(folders, "folder") * (folders > 0)]
    return ", ".join(part for part in parts if part) or "empty"


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _entry(child: ChildNote) -> str:
    name = shorten(child.name, _LONGEST_NAME) + "/" * child.is_directory
    said = shorten(child.abstract, _LINE)
    return f"- **{name}** — {said}" if said else f"- **{name}**"


def _more(count: int, *, chinese: bool) -> str:
    return f"- … 以及另外 {count} 项" if chinese else f"- … and {count} more"
