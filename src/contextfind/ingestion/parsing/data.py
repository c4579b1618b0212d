"""Data files as text: a section per top-level key, rows with their header."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from contextfind.domain.documents import Document, Section
from contextfind.ingestion.parsing.outline import Heading, lines_of, outline, paragraphs

_ESCAPE = re.compile(r"(?<!\\)((?:\\\\)*)((?:\\u[0-9a-fA-F]{4})+)")
_STAYS_ESCAPED = frozenset('"\\')  # as themselves they would end the string
_LONG_LINE = 1_000  # characters; written by a program: laid out again for reading
_MAX_LAYOUT = 5_000_000  # characters that are laid out; the values take about ten times that
_JSON_KEY = re.compile(r'( {1,8}|\t)"((?:[^"\\]|\\.){1,100})"\s*:')
_YAML_KEY = re.compile(r"()([^\s#:\-][^#:]{0,100}?)\s*:(?:\s|$)")
_SECTION = re.compile(r"()\[\[?\s*([^\[\]]{1,200}?)\s*\]\]?\s*(?:[#;].*)?")
_ROWS = 600  # characters of rows below one header: a passage of the usual size
_LONGEST_HEADER = 300  # characters; repeated with every group, so half a passage at most


def read_json(_path: str, text: str) -> Document:
    r"""Return JSON by its top-level keys; `\uXXXX` is shown as the character it stands for.

    `text` of the document stays as written; JSON in one line is laid out in the sections only.
    """
    shown = unescaped(_laid_out(text))
    return replace(_keyed(shown, _JSON_KEY), text=text)


def read_json_lines(_path: str, text: str) -> Document:
    """Return one JSON value per line."""
    lines = [line for line in lines_of(unescaped(text)) if line.strip()]
    return Document("", text, (Section((), tuple(lines), verbatim=True),))


def read_yaml(_path: str, text: str) -> Document:
    """Return YAML by its top-level keys."""
    return _keyed(text, _YAML_KEY)


def read_sections(_path: str, text: str) -> Document:
    """Return TOML, INI and the like by their `[sections]`."""
    return _keyed(text, _SECTION)


def read_csv(_path: str, text: str) -> Document:
    """Return groups of rows, each with the header row in front (the first row is taken for it)."""
    lines = [line for line in lines_of(text) if line.strip()]
    return Document("", text, (Section((), tuple(_row_groups(lines)), verbatim=True),))


def unescaped(text: str) -> str:
    r"""Return JSON text with `\uXXXX` as characters; lone surrogates become U+FFFD."""
    return _ESCAPE.sub(lambda match: match[1] + _characters(match[2]), text)


def _characters(escapes: str) -> str:
    codes = [int(code, 16) for code in escapes.split("\\u")[1:]]
    units = b"".join(code.to_bytes(2, "big") for code in codes)
    decoded = units.decode("utf-16-be", "replace")
    return "".join(
        character
        if character.isprintable() and character not in _STAYS_ESCAPED
        else _again(character)
        for character in decoded
    )


def _again(character: str) -> str:
    return "\ufffd" if character == "\x00" else json.dumps(character)[1:-1]


def _laid_out(text: str) -> str:
    if len(text) > _MAX_LAYOUT or max(map(len, lines_of(text))) <= _LONG_LINE:
        return text
    try:
        return json.dumps(json.loads(text), ensure_ascii=True, indent=2)
    except (ValueError, RecursionError):
        return text


def _keyed(text: str, key: re.Pattern[str]) -> Document:
    """Return a section per key that stands as far out as the first one."""
    lines = lines_of(text)
    headings: list[Heading] = []
    indent: str | None = None
    for number, line in enumerate(lines):
        match = key.match(line[:300])
        if match and indent in (None, match[1]):
            indent = match[1]
            headings.append(Heading(number, number, 1, match[2]))
    parts = outline([], lines, headings)
    sections = (
        Section(part.headings, paragraphs("\n".join(part.blocks)), verbatim=True) for part in parts
    )
    return Document("", text, tuple(sections))


def _row_groups(lines: Sequence[str]) -> Iterator[str]:
    if not lines:
        return
    repeated = lines[0] if len(lines[0]) <= _LONGEST_HEADER else ""
    group, size = [lines[0]], 0
    for line in lines[1:]:
        if size and size + len(line) > _ROWS:
            yield "\n".join(group)
            group, size = [repeated] if repeated else [], 0
        group.append(line)
        size += len(line) + 1
    yield "\n".join(group)
