"""What is stored: records (one per address and level) and their passages."""

from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum, StrEnum
from typing import NewType

import numpy as np
from numpy.typing import NDArray

from contextfind.domain.context_line import telling
from contextfind.domain.uri import Uri

RecordId = NewType("RecordId", int)  # given by the store, never used again
Vector = NDArray[np.float32]  # shape (dimension,), unit length
Matrix = NDArray[np.float32]  # shape (rows, dimension), rows of unit length

_ROUNDING = 1e-2  # of a length; models that count in 16 bits give .999

ABSTRACT_NAME = ".abstract.md"  # how a directory's level-0 record is shown
OVERVIEW_NAME = ".overview.md"  # and its level-1 record


class ContextType(StrEnum):
    """The three shelves of an answer."""

    MEMORY = "memory"
    RESOURCE = "resource"
    SKILL = "skill"


class Level(IntEnum):
    """How much a record says: L0 and L1 belong to directories, L2 to files."""

    ABSTRACT = 0
    OVERVIEW = 1
    DETAIL = 2


# To call an enumeration takes four times as long, and every hit of a find is read.
LEVELS = {level.value: level for level in Level}
KINDS = {kind.value: kind for kind in ContextType}


@dataclass(frozen=True, slots=True)
class Record:
    """One findable thing; there is one per (account, uri, level).

    owner: the user whose tree it lies in, empty when the account shares it.
    parent: the directory it is listed in; for a directory's own L0 and L1 the one above.
    abstract: at most 256 characters.
    content: digest of its body as UTF-8 text, empty when `abstract` is the whole body.
    source: digest of the bytes a file was made from, or of all a model was told for an overview; else empty.
    origin: which ingest of a tree brought it, empty when it was written by itself.
    size: length of the body in bytes.
    """

    id: RecordId
    account: str
    owner: str
    uri: Uri
    level: Level
    context_type: ContextType
    abstract: str
    tags: tuple[str, ...]
    created_at: datetime
    updated_at: datetime
    content: str = ""
    source: str = ""
    size: int = 0
    active_count: int = 0
    origin: str = ""

    @property
    def name(self) -> str:
        """The last segment of the address."""
        return self.uri.name

    @property
    def parent(self) -> Uri | None:
        """The directory it is listed in."""
        return self.uri.parent

    @property
    def is_leaf(self) -> bool:
        """Whether it is a file: nothing can lie below it."""
        return self.level is Level.DETAIL


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a record's text; a record is found by its best one.

    ordinal: 0, 1, … in reading order.
    heading: the headings above it, outermost first, joined by ` > `; may be empty.
    text: what stands there, as written.
    context: the line in front of the text (path, title, headings).
    digest: of `embedded_text`; equal texts share one vector.
    """

    ordinal: int
    heading: str
    text: str
    context: str
    digest: str

    @property
    def indexed_text(self) -> str:
        """What the word index sees."""
        return below(self.context, self.text)

    @property
    def embedded_text(self) -> str:
        """What the embedder sees: of the context only what means something to it."""
        return below(telling(self.context), self.text)


def below(line: str, text: str) -> str:
    """Return the text with a line in front, if there is one."""
    return f"{line}\n{text}" if line else text


def context_type_of(uri: Uri) -> ContextType:
    """Return the shelf an address belongs to, by its place in the tree.

    `user/{user}/memories` and `agent/memories` hold memories, `…/skills` skills, all else resources.
    """
    parts = uri.segments
    place = parts[2:3] if parts and parts[0] == "user" else parts[1:2]
    inside = parts and parts[0] in {"user", "agent"}
    if inside and place == ("memories",):
        return ContextType.MEMORY
    if inside and place == ("skills",):
        return ContextType.SKILL
    return ContextType.RESOURCE


def shown_address(uri: Uri, level: Level) -> str:
    """Return the address as answers spell it: directories' L0 and L1 get a file name."""
    if level is Level.ABSTRACT:
        return uri.folder + ABSTRACT_NAME
    if level is Level.OVERVIEW:
        return uri.folder + OVERVIEW_NAME
    return uri.text


def split_level(uri: Uri) -> tuple[Uri, Level | None]:
    """Undo `shown_address`: the directory and its level, or the address itself and None."""
    parent = uri.parent
    if parent is not None and uri.name == ABSTRACT_NAME:
        return parent, Level.ABSTRACT
    if parent is not None and uri.name == OVERVIEW_NAME:
        return parent, Level.OVERVIEW
    return uri, None


def are_unit(rows: Matrix) -> bool:
    """Return whether these are vectors at all: every row finite and of unit length."""
    lengths = np.linalg.norm(rows.astype(np.float64), axis=-1)
    return bool(np.all(np.abs(lengths - 1) < _ROUNDING))  # a comparison with NaN is false
