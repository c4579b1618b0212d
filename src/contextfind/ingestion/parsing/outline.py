"""Sections from headings that were found in lines of text."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from contextfind.domain.documents import Section

_NEWLINE = re.compile(r"\r\n?|\n")
_BLANK_LINES = re.compile(r"\n[ \t\f\v]*(?:\n[ \t\f\v]*)+")
_LONGEST_HEADING = 120  # characters; what is longer is a paragraph in disguise


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading in lines `start` to `end` (not included); rank 1 is outermost."""

    start: int
    end: int
    rank: int
    title: str


def lines_of(text: str) -> list[str]:
    """Return the lines without their ends; a carriage return ends a line too."""
    return _NEWLINE.split(text)


def paragraphs(text: str) -> tuple[str, ...]:
    """Return the stretches between blank lines, indentation kept, without blank ones."""
    return tuple(part.rstrip() for part in _BLANK_LINES.split(text) if part.strip())


def short_heading(title: str) -> str:
    """Return a heading on one line, cut where it is too long to be one."""
    line = " ".join(title.split())
    return line if len(line) <= _LONGEST_HEADING else line[: _LONGEST_HEADING - 1].rstrip() + "…"


def outline(
    starts: Sequence[int], lines: Sequence[str], headings: Sequence[Heading]
) -> tuple[Section, ...]:
    """Return sections in reading order; together their blocks hold every line.

    starts: the first line of each block, ascending; a block reaches to the next start.
    headings: ascending; each is also the first block of its section, so its line stays in the text.
    """
    by_line = {heading.start: heading for heading in headings}
    bounds = sorted({0, *starts, *by_line, *(heading.end for heading in headings)})
    sections: list[Section] = []
    path: list[Heading] = []
    blocks: list[str] = []
    for start, end in zip(bounds, [*bounds[1:], len(lines)], strict=True):
        heading = by_line.get(start)
        if heading is not None:
            _close(sections, path, blocks)
            path = [*(above for above in path if above.rank < heading.rank), heading]
            blocks = []
        block = "\n".join(lines[start:end]).strip("\n").rstrip()
        if block.strip():
            blocks.append(block)
    _close(sections, path, blocks)
    return tuple(sections)


def _close(sections: list[Section], path: Sequence[Heading], blocks: Sequence[str]) -> None:
    if blocks:
        titles = (short_heading(heading.title) for heading in path)
        sections.append(Section(tuple(title for title in titles if title), tuple(blocks)))
