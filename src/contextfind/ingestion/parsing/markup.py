"""HTML to Markdown; XML as lines."""

import html
import re
from dataclasses import replace

from bs4.exceptions import ParserRejectedMarkup
from markdownify import MarkdownConverter

from contextfind.domain.documents import Document, Section
from contextfind.ingestion.parsing.front_matter import front_matter
from contextfind.ingestion.parsing.markdown import read_markdown
from contextfind.ingestion.parsing.outline import lines_of, paragraphs

_TITLE = re.compile(r"<title\b[^<>]*>([^<]{1,1000})</title", re.IGNORECASE)
_DESCRIPTION = re.compile(
    r"<meta\s[^<>]{0,200}?name=[\"']?description[\"']?\s[^<>]{0,200}?content=\"([^\"<>]{1,1000})\"",
    re.IGNORECASE,
)
_HEAD = 200_000  # characters in which title and description are looked for
_DECLARATION = re.compile(r"\s{0,99}<\?xml[^<>]*\?>")
_UNSEEN = re.compile(r"<(/?)(?:script|style)\b[^<>]*>", re.IGNORECASE)
_TAG = re.compile(r"<[/!?A-Za-z][^<>]*>")
_UNCLOSED = re.compile(r"<[^<>]*(?=<)")
_MANY_UNCLOSED = 1_000  # from there on the standard parser becomes quadratic
_LARGEST = 2_000_000  # characters; the converter reads about half a million a second
_MOST_TAGS = 50_000  # tags; a page with more is a data table, and reads well without the converter
_EMPTINESS = re.compile(r"[ \t\r\n]{200,}")  # the converter's own patterns are quadratic on those
_BETWEEN_TAGS = re.compile(r">[ \t]*<(?!/)")
_LONG_LINE = 1_000  # characters; written by a program, not for reading


class _Converter(MarkdownConverter):
    """Leaves out what stands on every page of a site and is no part of this one."""

    def convert_nav(self, *_: object, **__: object) -> str:
        return ""

    convert_title = convert_script = convert_style = convert_noscript = convert_nav
    convert_template = convert_svg = convert_button = convert_iframe = convert_nav


def read_html(path: str, text: str) -> Document:
    """Return a page as Markdown, without scripts, styles and navigation.

    title: <title>, else the first heading. description: <meta name="description">.
    """
    converted = _markdown(text)
    page = read_markdown(path, converted)
    if front_matter(converted).length:  # a rule at the top of a page is no front matter
        page = read_markdown(path, "\n" + converted)
    title, description = _said(_TITLE, text), _said(_DESCRIPTION, text)
    return replace(
        page, title=title or page.title, description=description, converted=True, tags=()
    )


def read_xml(_path: str, text: str) -> Document:
    """Return XML as lines; elements that were written without a line break get one each."""
    lines = lines_of(text)
    if max(map(len, lines)) > _LONG_LINE:
        lines = [_BETWEEN_TAGS.sub(">\n<", line) for line in lines]
    return Document("", text, (Section((), paragraphs("\n".join(lines)), verbatim=True),))


def _said(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text[:_HEAD])
    return " ".join(html.unescape(match[1]).split()) if match else ""


def _markdown(text: str) -> str:
    declaration = _DECLARATION.match(text[:_LONG_LINE])
    bare = _EMPTINESS.sub("\n\n", text[declaration.end() :] if declaration else text)
    if "<" not in bare:
        return html.unescape(bare)
    if _is_convertible(bare):
        try:
            converter = _Converter(
                heading_style="atx", bullets="-", escape_asterisks=False, escape_underscores=False
            )
            return str(converter.convert(bare))
        except (RecursionError, ValueError, AssertionError, ParserRejectedMarkup):
            pass  # deeper than a page can be, or with declarations that are none
    return html.unescape(_TAG.sub("\n", _without_unseen(bare)))


def _is_convertible(bare: str) -> bool:
    return (
        len(bare) <= _LARGEST
        and bare.count("<") <= _MOST_TAGS
        and len(_UNCLOSED.findall(bare)) <= _MANY_UNCLOSED
    )


def _without_unseen(bare: str) -> str:
    """Return the page without scripts and styles; one that is never closed hides the rest."""
    kept: list[str] = []
    seen_from: int | None = 0
    for match in _UNSEEN.finditer(bare):
        if seen_from is not None:
            kept.append(bare[seen_from : match.start()])
        seen_from = match.end() if match[1] else None
    return "".join(kept if seen_from is None else [*kept, bare[seen_from:]])
