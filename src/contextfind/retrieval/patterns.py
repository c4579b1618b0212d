"""Patterns that callers write: regular expressions over lines, wildcards over addresses.

Both are matched by RE2, whose time grows with the text and with nothing else: no pattern can hold anybody up.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import re2

from contextfind.domain.errors import InvalidArgumentError

LONGEST_PATTERN = 1_000  # characters
# Of a compiled pattern. Nothing else runs while one is made: 30 ms at most with this much, 150 with the usual 8 MB.
# Patterns that would be larger are no shorter than sixty letters of any script in a row.
_PATTERN_BYTES = 2 * 1024 * 1024
_BY_LINES = "(?m)"  # in front of a pattern: ^ and $ are those of a line
_SHOWN_LINE = (
    2_000  # bytes of a line that are shown, with the match in them: files of one line exist
)
_BEFORE = 200  # of these before the match, where a line is longer


class Span(Protocol):
    """Where something was found, in bytes."""

    def start(self) -> int:
        """Return the first byte of it."""
        ...

    def end(self) -> int:
        """Return the first byte behind it."""
        ...


class Pattern(Protocol):
    """A compiled pattern over UTF-8; several threads may share it."""

    def search(self, text: bytes, pos: int = 0) -> Span | None:
        """Return the first match at or behind `pos`."""
        ...

    def fullmatch(self, text: bytes) -> Span | None:
        """Return the match of all of the text."""
        ...


@dataclass(frozen=True, slots=True)
class FoundLine:
    """A line that matches: its number, from 1, and its text."""

    number: int
    text: str


def line_pattern(text: str, *, ignore_case: bool) -> Pattern:
    """Return a regular expression that is matched against one line at a time.

    Raises:
        InvalidArgumentError: it cannot be read: also what looks around or refers back, which RE2 has not.

    """
    options = re2.Options()
    options.never_nl = True
    options.log_errors = False
    options.case_sensitive = not ignore_case
    options.max_mem = _PATTERN_BYTES
    _check_length(text)
    try:
        made: Pattern = re2.compile(_BY_LINES + text, options)
    except re2.error as fault:
        told = fault.args[0].decode("utf-8", "replace") if fault.args else "cannot be read"
        told = told.replace(_BY_LINES, "", 1)
        raise InvalidArgumentError(
            f"pattern is {text!r}; expected a regular expression of RE2 (without look-around and "
            f"back-references): {told}",
            {"field": "pattern", "value": text},
        ) from None
    return made


def lines_with(pattern: Pattern, body: bytes, most: int) -> Iterator[FoundLine]:
    """Give at most `most` lines of a text that match, each once."""
    body = body.replace(b"\r\n", b"\n")
    position, number, counted = 0, 1, 0
    for _ in range(most):
        found = pattern.search(body, position)
        if found is None or (found.start() == len(body) and body.endswith(b"\n")):
            return  # behind the last line end there is no line
        start = body.rfind(b"\n", 0, found.start()) + 1
        end = body.find(b"\n", start)
        end = len(body) if end < 0 else end
        number += body.count(b"\n", counted, start)
        counted = start
        yield FoundLine(number, _shown(body[start:end], found.start() - start))
        position = end + 1
        if position > len(body):
            return


def path_pattern(text: str) -> Pattern:
    """Return what a path below a directory has to look like.

    `*` and `?` stand for characters of one name, `**` for any number of directories, `[…]` for one
    of some characters, `[!…]` for any other.

    Raises:
        InvalidArgumentError: it is empty, too long, or a bracket is open or empty.

    """
    _check_length(text)
    options = re2.Options()
    options.log_errors = False
    try:
        made: Pattern = re2.compile("(?s)" + _translated(text.strip("/")), options)
    except re2.error:
        raise InvalidArgumentError(
            f"pattern is {text!r}; expected wildcards *, **, ?, [abc], [a-z] or [!abc]",
            {"field": "pattern", "value": text},
        ) from None
    return made


def _check_length(text: str) -> None:
    if not text.strip() or len(text) > LONGEST_PATTERN:
        raise InvalidArgumentError(
            f"pattern has {len(text)} characters; expected 1 to {LONGEST_PATTERN}, and not blanks alone",
            {"field": "pattern"},
        )


def _translated(text: str) -> str:
    """Return a path pattern as a regular expression."""
    made, rest = "", text
    while rest:
        if rest.startswith("**/"):
            made, rest = made + "(?:.*/)?", rest[3:]
        elif rest.startswith("**"):
            made, rest = made + ".*", rest[2:]
        elif rest[0] == "[" and "]" in rest[2:]:
            inside, rest = _bracket(rest)
            made += inside
        else:
            wild = {"*": "[^/]*", "?": "[^/]"}
            made, rest = made + wild.get(rest[0], re2.escape(rest[0])), rest[1:]
    return made


def _bracket(text: str) -> tuple[str, str]:
    """Return a set of characters as a regular expression, and what follows it."""
    end = text.index("]", 2)
    body = text[1:end].replace("\\", r"\\").replace("[", r"\[").replace("^", r"\^")
    negated = body.startswith("!")
    made = f"[^/{body[1:]}]" if negated else f"[{body}]"
    return made, text[end + 1 :]


def _shown(line: bytes, at: int) -> str:
    """Return a line as text; of a long one a piece with what was found at `at`."""
    if len(line) > _SHOWN_LINE:
        begin = max(at - _BEFORE, 0)
        line = line[begin : begin + _SHOWN_LINE]
    return line.decode("utf-8", "ignore")
