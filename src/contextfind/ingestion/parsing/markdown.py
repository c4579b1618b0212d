"""Markdown: headings make sections, top-level blocks stay whole, every line is kept as written."""

import html
import re
from collections.abc import Sequence
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

from contextfind.domain.documents import Document, Section
from contextfind.ingestion.parsing.front_matter import front_matter
from contextfind.ingestion.parsing.outline import Heading, lines_of, outline
from contextfind.ingestion.parsing.plain import read_plain

# Only the block grammar: nothing here looks at inline tokens, and they are most of the time.
_GRAMMAR = MarkdownIt("commonmark").enable("table")
_GRAMMAR.core.ruler.enableOnly(["normalize", "block"])
# The first parse compiles the rules, and a second thread that parses meanwhile would see some of them only.
_GRAMMAR.parse("any text")
_DEEPEST = 18  # at 20 the parser stops and swallows the rest of the file into one block

_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
_MARKUP = re.compile(r"</?[A-Za-z][^<>]*>|`+|\*\*|__|~~|\s*\{#[^{}]*\}\s*$")
_HTML_TITLE = re.compile(r"<h1\b[^<>]*>(.{1,2000}?)</h1>", re.IGNORECASE | re.DOTALL)


def read_markdown(path: str, text: str) -> Document:
    """Return the sections of a Markdown text, front matter first as a block of its own.

    title: from the front matter (`title`, else `name`), else the first heading.
    """
    front = front_matter(text)
    body = text[front.length :]
    tokens = _top_tokens(body)
    if tokens is None:
        return read_plain(path, text)
    lines = lines_of(body)
    headings = _headings(tokens)
    sections = outline(
        [token.map[0] for token in tokens if token.map and token.level == 0], lines, headings
    )
    if front.length:
        before = text[: front.length].strip()
        sections = (Section((), (before,), verbatim=True), *sections)
    return Document(
        front.title or _first_title(tokens, headings),
        text,
        sections,
        description=front.description,
        tags=front.tags,
    )


def plain_heading(written: str) -> str:
    """Return a heading without links, emphasis, code marks and anchors."""
    return " ".join(html.unescape(_MARKUP.sub("", _LINK.sub(r"\1", written))).split())


def _top_tokens(body: str) -> list[Token] | None:
    """Return the outermost tokens (a heading with its content), None when the grammar gives up."""
    try:
        tokens = _GRAMMAR.parse(body)
    except (RecursionError, ValueError, IndexError):
        return None
    if any(token.level >= _DEEPEST for token in tokens):
        return None
    return [
        token
        for token in tokens
        if token.level == 0 or (token.level == 1 and token.type == "inline")
    ]


def _headings(tokens: Sequence[Token]) -> list[Heading]:
    return [
        Heading(token.map[0], token.map[1], int(token.tag[1]), plain_heading(inside.content))
        for token, inside in pairwise(tokens)
        if token.type == "heading_open" and token.level == 0 and token.map
    ]


def _first_title(tokens: Sequence[Token], headings: Sequence[Heading]) -> str:
    for token in tokens:
        match = _HTML_TITLE.search(token.content) if token.type == "html_block" else None
        if match:
            return plain_heading(match[1])
        if token.type == "heading_open":
            break
    return next((heading.title for heading in headings if heading.title), "")
