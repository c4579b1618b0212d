"""What a file becomes when it is read: a title, its text, and sections in reading order."""

import hashlib
from dataclasses import dataclass, field

from contextfind.domain.context_line import telling
from contextfind.domain.records import Passage, below

ABSTRACT_LENGTH = 256  # characters of a level-0 text; clients show it in one or two lines
OVERVIEW_LENGTH = 4_000  # characters of a level-1 text
TEXT_RECIPE = "recipe2"  # of what `make_passage` embeds; a new one makes all vectors anew


@dataclass(frozen=True, slots=True)
class Section:
    """A stretch of text below the same headings.

    headings: outermost first. blocks: paragraphs, lists, tables, code blocks, functions…: what should
    not be cut unless it is too long for one passage. verbatim: lines mean something (source code,
    data, logs), so a block that is too long is cut between lines, never inside a sentence.
    """

    headings: tuple[str, ...]
    blocks: tuple[str, ...]
    verbatim: bool = False


@dataclass(frozen=True, slots=True)
class Document:
    """A file as text.

    title: its own (front matter, first heading), else empty.
    text: all of it, decoded, as `read` gives it back; for PDF and the like what was extracted.
    description: what it says about itself (front matter), else empty.
    converted: whether `text` is not simply the decoded bytes.
    """

    title: str
    text: str
    sections: tuple[Section, ...]
    description: str = ""
    converted: bool = False
    tags: tuple[str, ...] = field(default=())


def make_passage(ordinal: int, heading: str, text: str, context: str) -> Passage:
    """Return a passage with the digest of what is embedded for it."""
    embedded = below(telling(context), text)
    digest = hashlib.sha256(embedded.encode("utf-8", "surrogatepass")).hexdigest()
    return Passage(ordinal, heading, text, context, digest)
