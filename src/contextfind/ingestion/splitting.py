"""Texts too long for one passage, cut where a reader would cut them; nothing is lost."""

import re
from collections.abc import Sequence

# Scripts in which one character is about one token of the embedder; four Latin ones are.
_DENSE = re.compile(
    "[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]+"
)

# Each cuts behind its match; the blank that ends a piece stays with it.
_SENTENCES = re.compile(
    r"(?<=[。！？；])(?![。！？；」』”’）])|(?<=[。！？；][」』”’）])"
    r"|(?<=[.!?…]\s)(?=\S)|(?<=[.!?…][\"')\]]\s)(?=\S)"
)
_PARAGRAPHS = re.compile(r"(?<=\n)(?=[ \t]*\n)")
_LINES = re.compile(r"(?<=\n)")
_SPACES = re.compile(r"(?<=\s)(?=\S)")

PROSE = (_SENTENCES, _LINES, _SPACES)
VERBATIM = (_PARAGRAPHS, _LINES, _SPACES)
ITEMS = (re.compile(r"(?<=\n)(?=\S)"), _LINES, _SENTENCES, _SPACES)

_TABLE_RULE = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*")
_ITEM = re.compile(r"\s{0,3}(?:[-*+]|\d{1,9}[.)])\s")


def weight(text: str) -> int:
    """Return the length in Latin characters: a CJK character counts as two."""
    return len(text) if text.isascii() else len(text) + sum(map(len, _DENSE.findall(text)))


def pieces(text: str, limit: int, cuts: Sequence[re.Pattern[str]]) -> list[str]:
    """Return consecutive pieces of about equal weight, each at most `limit`, that join to `text`.

    cuts: places to cut at, best first; the later ones only inside of what is still too long.
    """
    atoms = [text]
    for cut in cuts:
        atoms = [part for atom in atoms for part in _parts(atom, limit, cut)]
    atoms = [part for atom in atoms for part in _hard(atom, limit)]
    total = weight(text)
    aim = total / max(-(-total // limit), 1)
    return _gathered(atoms, aim, limit)


def head(text: str, limit: int) -> str:
    """Return the beginning of a text that weighs at most `limit`."""
    return next(iter(_hard(text, limit)), "")


def table_pieces(text: str, limit: int) -> list[str] | None:
    """Return a Markdown table in groups of rows, each with the header; None when it is no table."""
    lines = text.split("\n")
    if len(lines) < 3 or "|" not in lines[0] or not _TABLE_RULE.fullmatch(lines[1][:2_000]):  # noqa: PLR2004 - header, rule, a row
        return None
    header = "\n".join(lines[:2]) + "\n"
    room = limit - weight(header)
    if room < limit / 2:  # a header that fills half a passage is not worth repeating
        return None
    body = pieces("\n".join(lines[2:]), room, (_LINES, _SPACES))
    return [header + rows for rows in body]


def is_list(text: str) -> bool:
    """Whether the text begins with a list item."""
    return _ITEM.match(text) is not None


def _parts(atom: str, limit: int, cut: re.Pattern[str]) -> list[str]:
    return [part for part in cut.split(atom) if part] if weight(atom) > limit else [atom]


def _hard(atom: str, limit: int) -> list[str]:
    size = weight(atom)
    if size <= limit:
        return [atom]
    step = limit if size == len(atom) else max(limit // 2, 1)
    return [atom[start : start + step] for start in range(0, len(atom), step)]


def _gathered(atoms: Sequence[str], aim: float, limit: int) -> list[str]:
    """Join neighbours; a piece ends where it is nearest to `aim`."""
    found: list[str] = []
    group: list[str] = []
    size = 0
    for atom in atoms:
        more = weight(atom)
        if group and (size + more > limit or size + more / 2 > aim):
            found.append("".join(group))
            group, size = [], 0
        group.append(atom)
        size += more
    return [*found, "".join(group)]
