"""Texts without a grammar: paragraphs, and headings where they are plain to see."""

import re
from collections.abc import Callable, Sequence

from contextfind.domain.documents import Document, Section
from contextfind.ingestion.parsing.outline import Heading, lines_of, outline, paragraphs

Headings = Callable[[Sequence[str]], list[Heading]]

_UNDERLINE = re.compile(r"([=\-~^\"*+#])\1{2,}")
_LONGEST_TITLE = 120  # characters; what is underlined and longer is a table or a separator
_PREFIXED = {
    "adoc": re.compile(r"(={1,6})\s+(\S.*)"),
    "org": re.compile(r"(\*{1,8})\s+(\S.*)"),
}
_TEX = re.compile(r"\s*\\(part|chapter|section|subsection|subsubsection|paragraph)\*?\{(.+)\}")
_TEX_RANKS = ("part", "chapter", "section", "subsection", "subsubsection", "paragraph")


def read_plain(_path: str, text: str) -> Document:
    """Return paragraphs, below underlined headings where there are such."""
    return _headed(text, underlined)


def read_asciidoc(_path: str, text: str) -> Document:
    """Return paragraphs below `= Title`, `== Section` and so on."""
    return _headed(text, lambda lines: _prefixed(lines, _PREFIXED["adoc"]))


def read_org(_path: str, text: str) -> Document:
    """Return paragraphs below `* Heading`, `** Heading` and so on."""
    return _headed(text, lambda lines: _prefixed(lines, _PREFIXED["org"]))


def read_tex(_path: str, text: str) -> Document:
    r"""Return paragraphs below `\section{…}` and the like."""
    return _headed(text, _tex)


def read_log(_path: str, text: str) -> Document:
    """Return a text whose lines each mean something by themselves."""
    blocks = paragraphs("\n".join(lines_of(text)))
    return Document("", text, (Section((), blocks, verbatim=True),))


def underlined(lines: Sequence[str]) -> list[Heading]:
    """Return headings with a row of one punctuation mark below them, as reStructuredText has them.

    The mark seen first ranks highest; a row above the heading as well makes it another mark.
    """
    found: list[Heading] = []
    ranks: dict[str, int] = {}
    for number in range(1, len(lines)):
        mark = _underline_of(lines, number)
        if mark is None:
            continue
        over = number > 1 and lines[number - 2].strip() == lines[number].strip()
        rank = ranks.setdefault(mark * (1 + over), len(ranks) + 1)
        start = number - 2 if over else number - 1
        found.append(Heading(start, number + 1, rank, lines[number - 1]))
    return found


def _underline_of(lines: Sequence[str], number: int) -> str | None:
    row, title = lines[number].rstrip(), lines[number - 1].rstrip()
    if not 0 < len(title) <= _LONGEST_TITLE or len(row) < len(title) or _UNDERLINE.fullmatch(title):
        return None
    above = lines[number - 2].strip() if number > 1 else ""
    if above and above != row:  # the last line of a paragraph, or a row of a table
        return None
    match = _UNDERLINE.fullmatch(row)
    return match[1] if match else None


def _headed(text: str, find: Headings) -> Document:
    lines = lines_of(text)
    headings = find(lines)
    starts = [number + 1 for number, line in enumerate(lines[:-1]) if not line.strip()]
    title = " ".join(headings[0].title.split()) if headings else ""
    return Document(title, text, outline(starts, lines, headings))


def _prefixed(lines: Sequence[str], pattern: re.Pattern[str]) -> list[Heading]:
    matches = ((number, pattern.fullmatch(line.rstrip())) for number, line in enumerate(lines))
    return [
        Heading(number, number + 1, len(match[1]), match[2]) for number, match in matches if match
    ]


def _tex(lines: Sequence[str]) -> list[Heading]:
    matches = ((number, _TEX.match(line[:1_000])) for number, line in enumerate(lines))
    return [
        Heading(number, number + 1, _TEX_RANKS.index(match[1]), match[2])
        for number, match in matches
        if match
    ]
