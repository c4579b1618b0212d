"""Short texts about files and directories, quoted from what is there: no model is asked."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from contextfind.domain.documents import ABSTRACT_LENGTH, OVERVIEW_LENGTH, Document
from contextfind.domain.languages import is_cjk
from contextfind.ingestion.salience import salient
from contextfind.ingestion.telling import (
    first_text,
    joined,
    opening_line,
    plain,
    sentences,
    telling_words,
)
from contextfind.ingestion.words import content_words

_SKILL = "skill.md"
_DOORS = re.compile(r"(?:readme|_?index|overview|about)(?:[._-][\w-]+)?\.\w+|readme", re.IGNORECASE)
_LOOKED_AT = 200  # children whose words are counted; more would not change the answer
_NAMES = 12  # names in an abstract
_WORDS = 6
_LINE = 200  # characters of a child's abstract in an overview
_SHORT_LINE = 80  # where there are many children: so that more of them find room
_FRAME = 30  # characters of a line beside the abstract: a usual name, and marks
_LONGEST_NAME = 100
_SCANNED = 1_000  # characters of a text without a sentence that are looked at
_LEAD = 160  # characters of a README in an abstract
_GIST = 72  # characters of what one child says
_FEW = 12  # children that speak one by one
_HOLDS = 100  # characters that numbers and names may claim before what the children say
_FOOT = (
    250  # characters of an overview kept free for the heading and the count of what is not named
)
_TITLE = re.compile(r"\A#\s[^\n]*(?:\n|\Z)")
_COLON = re.compile(r"(:\s|：)")
_TITLE_WORDS = 2
_ROW = re.compile(r"[^\s,]+,[^\s,]+,")
_STOPS = re.compile(r"[.!?](?=\s)|[。！？；]")
_COUNTS = re.compile(r"\d+ (?:files?|folders?|个文件|个目录)|empty$")
_BREAKS = re.compile(r"[\s,;，；、。！？]")


@dataclass(frozen=True, slots=True)
class ChildNote:
    """What a directory knows of something it lists."""

    name: str
    abstract: str
    is_directory: bool


def file_abstract(document: Document, name: str) -> str:
    """Return at most ABSTRACT_LENGTH characters about a file.

    Its own description if it has one (behind the name, for a skill); else the title and the sentences
    that say most; else what it is divided into; else how it begins; else its name. Code adds the
    names it defines.
    """
    title = plain(document.title) or opening_line(document)
    headings = ("、" if is_cjk(document.text[:_SCANNED]) else ", ").join(_headings(document))
    if document.description and name.lower() == _SKILL:
        return shorten(_headed(title, document.description), ABSTRACT_LENGTH)
    if document.description:
        defines = headings if any(section.verbatim for section in document.sections[-1:]) else ""
        return shorten(f"{document.description} {defines}", ABSTRACT_LENGTH)
    said = joined(salient(list(sentences(document)), title, ABSTRACT_LENGTH - len(title) - 2))
    if said:
        return shorten(_headed(title, said), ABSTRACT_LENGTH)
    text = headings or first_text(document)
    return shorten(_headed(title or name, text) if text else title or name, ABSTRACT_LENGTH)


def directory_abstract(name: str, children: Iterable[ChildNote]) -> str:
    """Return at most ABSTRACT_LENGTH characters about a directory; the order given does not matter.

    A skill speaks for its directory alone. Else come the first sentences of its README, the words that
    its children share, without a README what they say of themselves, and what it holds: numbers and
    names, in Chinese where the children are.
    """
    listed = in_reading_order(children)
    skill = skill_of(listed)
    if skill is not None:
        return shorten(skill.abstract, ABSTRACT_LENGTH)
    chinese = _are_chinese(listed)
    holds = _holds(listed, chinese=chinese)
    door = _door(listed)
    room = ABSTRACT_LENGTH - len(name) - min(len(holds), _HOLDS)
    said = _lead(door.abstract) if door else _gists(name, listed, room, chinese=chinese)
    parts = [part for part in (said, _themes(listed, said, chinese=chinese), holds) if part]
    text = ("" if chinese else " ").join(parts)
    return shorten(text if door else _headed(name, text), ABSTRACT_LENGTH)


def in_reading_order(children: Iterable[ChildNote]) -> list[ChildNote]:
    """Return directories first, then by name."""
    return sorted(children, key=lambda child: (not child.is_directory, child.name, child.abstract))


def skill_of(children: Iterable[ChildNote]) -> ChildNote | None:
    """Return the SKILL.md that describes its directory; None where there is none."""
    return next((one for one in children if one.name.lower() == _SKILL and one.abstract), None)


def directory_overview(name: str, children: Iterable[ChildNote]) -> str:
    """Return at most OVERVIEW_LENGTH characters of Markdown: heading, lead, a line per child."""
    listed = in_reading_order(children)
    chinese = _are_chinese(listed)
    lead = directory_abstract(name, listed)
    lines = [f"# {shorten(name, _LONGEST_NAME)}", "", lead, ""]
    return _listing(lines, listed, listed, chinese=chinese)


def overview_from(text: str, name: str, children: Iterable[ChildNote]) -> str:
    """Return what somebody wrote about a directory as its overview, at most OVERVIEW_LENGTH characters.

    The heading is the house's own; children that the text does not name are listed behind it.
    """
    listed = in_reading_order(children)
    body = _TITLE.sub("", text.strip()).strip()
    lines = [f"# {shorten(name, _LONGEST_NAME)}", "", _cut(body, OVERVIEW_LENGTH - _FOOT), ""]
    missing = [child for child in listed if child.name not in body]
    return _listing(lines, missing, listed, chinese=_are_chinese(listed))


def _listing(
    lines: Sequence[str],
    shown: Sequence[ChildNote],
    listed: Sequence[ChildNote],
    *,
    chinese: bool,
) -> str:
    """Return the lines and one per child shown, as many as there is room for, then how many more."""
    room = (
        OVERVIEW_LENGTH
        - sum(len(line) + 1 for line in lines)
        - len(_more(len(listed), chinese=chinese))
    )
    said = max(_SHORT_LINE, min(_LINE, room // max(len(shown), 1) - _FRAME))
    entries: list[str] = []
    for child in shown:
        entry = _entry(child, said)
        room -= len(entry) + 1
        if room < 0:
            break
        entries.append(entry)
    if len(entries) < len(shown):
        entries.append(_more(len(shown) - len(entries), chinese=chinese))
    return "\n".join([*lines, *entries]).rstrip() + "\n"


def _cut(text: str, limit: int) -> str:
    """Return the text, cut behind a line where it is longer than `limit`."""
    if len(text) <= limit:
        return text
    cut = text[: limit - 2]
    end = cut.rfind("\n")
    return (cut[:end] if end > limit / 2 else cut).rstrip() + "\n…"


def shorten(text: str, limit: int) -> str:
    """Return the text on one line, cut behind a word with `…` where it is longer than `limit`."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    cut = line[: limit - 1]
    if _BREAKS.match(line[limit - 1]) is None and not is_cjk(cut[-8:]):
        end = max((match.end() for match in _BREAKS.finditer(cut)), default=0)
        cut = cut[:end] if end > limit / 2 else cut
    return cut.rstrip(" ,;，；、") + "…"


def _headed(title: str, text: str) -> str:
    """Put the title in front, unless the text begins with it."""
    if not title or text.casefold().startswith(title.casefold()):
        return text
    return f"{title}：{text}" if is_cjk(title) else f"{title}: {text}"


def _headings(document: Document) -> list[str]:
    """Return what a file is divided into: of code and data the outermost names only."""
    found = dict.fromkeys(
        section.headings[0] if section.verbatim else section.headings[-1]
        for section in document.sections
        if section.headings
    )
    return [heading for heading in found if heading != document.title]


def _door(listed: Sequence[ChildNote]) -> ChildNote | None:
    """Return the README, else another file that speaks for the directory."""
    doors = [
        child
        for child in listed
        if not child.is_directory and child.abstract and _DOORS.fullmatch(child.name)
    ]
    return min(doors, key=lambda c: (not c.name.lower().startswith("readme"), c.name), default=None)


def _are_chinese(listed: Sequence[ChildNote]) -> bool:
    return is_cjk(" ".join(f"{child.name} {child.abstract}" for child in listed[:_LOOKED_AT]))


def _lead(abstract: str) -> str:
    """Return the first sentences of a README, so many that there is room for what else is there."""
    ends = [match.end() for match in _STOPS.finditer(abstract)]
    return abstract[: max((end for end in ends if end <= _LEAD), default=len(abstract))].rstrip()


def _themes(listed: Sequence[ChildNote], said: str, *, chinese: bool) -> str:
    """Return the words that several children share and that were not said yet, with a stop."""
    words = telling_words(
        [f"{child.name} {child.abstract}" for child in listed[:_LOOKED_AT]], _WORDS
    )
    new = [word for word in words if word not in said.casefold()]
    joint, stop = ("、", "。") if chinese else (", ", ".")
    return joint.join(new) + stop if len(new) > 1 else ""  # one word alone says nothing


def _gists(name: str, listed: Sequence[ChildNote], room: int, *, chinese: bool) -> str:
    """Return what the children say of themselves, as many as there is room for.

    Of many children that would be a few at random; what they share says more.
    """
    if len(listed) > _FEW:
        return ""
    joint, stop = ("；", "。") if chinese else ("; ", ".")
    longest = max(_GIST, min(_LEAD, room // max(len(listed), 1)))
    said: list[str] = []
    for gist in dict.fromkeys(_gist(child, name) for child in listed):
        short = shorten(gist, longest).rstrip(".!。！")
        if short and len(short) + len(joint) <= room:
            said.append(short)
            room -= len(short) + len(joint)
    text = joint.join(said)
    return text + stop if text and not text.endswith("…") else text


def _gist(child: ChildNote, within: str) -> str:
    """Return what one child is about: its title, else the first thing it says.

    A title that only repeats the name of the file or of the directory is passed over; so is what
    only counts, and rows of data.
    """
    if child.is_directory:
        said = _COLON.split(child.abstract, 1)[-1] if _is_headed(child) else child.abstract
        pieces = [] if _COUNTS.match(said) else re.split("[;；]", said)
    else:
        title, said = _title_and_rest(child.abstract)
        if said and _bare(title) not in _bare(child.name) and _bare(title) not in _bare(within):
            return title
        pieces = [] if _ROW.match(said) else [said or title]
    sentences_of = (one.strip() for piece in pieces for one in _STOPS.split(piece))
    return next((one for one in sentences_of if one), "")


def _is_headed(child: ChildNote) -> bool:
    return child.abstract.startswith((f"{child.name}: ", f"{child.name}："))


def _title_and_rest(abstract: str) -> tuple[str, str]:
    """Split at the colon behind the title; one of a single word (`Runbook: failover`) takes the next too."""
    title, colon, rest = (
        _COLON.split(abstract, 1) if _COLON.search(abstract) else (abstract, "", "")
    )
    again = _COLON.search(rest)
    if again is not None and len(list(content_words(title))) < _TITLE_WORDS:
        return f"{title}{colon}{rest[: again.start()]}", rest[again.end() :]
    return title, rest


def _bare(name: str) -> str:
    """Return letters and digits alone: `next-steps.md` says what `Next steps` says."""
    return "".join(filter(str.isalnum, name.casefold()))


def _holds(listed: Sequence[ChildNote], *, chinese: bool) -> str:
    """Return how many files and folders there are, and their names."""
    folders = sum(child.is_directory for child in listed)
    counted = _counted(len(listed) - folders, folders, chinese=chinese)
    if not listed:
        return counted
    names = [child.name + "/" * child.is_directory for child in listed]
    joint, colon = ("、", "：") if chinese else (", ", ": ")
    shown = joint.join(names[:_NAMES]) + ("…" if len(names) > _NAMES else "")
    return f"{counted}{colon}{shown}"


def _counted(files: int, folders: int, *, chinese: bool) -> str:
    if chinese:
        parts = [f"{files} 个文件" * (files > 0), f"{folders} 个目录" * (folders > 0)]
        return "、".join(part for part in parts if part)
    parts = [_plural(files, "file") * (files > 0), _plural(folders, "folder") * (folders > 0)]
    return ", ".join(part for part in parts if part) or "empty"


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _entry(child: ChildNote, length: int) -> str:
    name = shorten(child.name, _LONGEST_NAME) + "/" * child.is_directory
    said = shorten(child.abstract, length)
    return f"- **{name}** — {said}" if said else f"- **{name}**"


def _more(count: int, *, chinese: bool) -> str:
    return f"- … 以及另外 {count} 项" if chinese else f"- … and {count} more"
