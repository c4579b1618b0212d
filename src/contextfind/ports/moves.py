"""What a commit does to records where they lie, without anybody having read them: take them elsewhere, tag them."""

from collections.abc import Callable
from dataclasses import dataclass

from contextfind.domain.errors import (
    AlreadyExistsError,
    InvalidArgumentError,
    NotFoundError,
    ResourceExhaustedError,
)
from contextfind.domain.tags import TagMode
from contextfind.domain.uri import Uri

# Records of one Move or Retag: two to three seconds of work, in which nobody else can write.
MOST = 10_000


@dataclass(frozen=True, slots=True)
class Move:
    """Takes what lies at and below `source` to `target`, where nothing may be yet.

    Tags, times, counts, bodies and passages come along; ids do not: who has found a record at the old
    address must not be shown it at one that is not theirs to see. Summaries that were out of date stay
    so, and that of a directory that moves is, for it holds its name.
    relabel: (old address, new address, context line of a passage there) -> the line at the new address.
        A passage whose embedded text stays the same keeps its vector.

    Raises:
        InvalidArgumentError: the target lies below the source, or is the source.

    """

    source: Uri
    target: Uri
    relabel: Callable[[Uri, Uri, str], str]

    def __post_init__(self) -> None:
        if self.target.is_under(self.source):
            raise InvalidArgumentError(
                f"{self.source.text!r} cannot be moved to {self.target.text!r}, which is the same or "
                "lies below it",
                {"from": self.source.text, "to": self.target.text},
            )

    def address(self, uri: Uri) -> Uri:
        """Return where an address at or below the source comes to lie.

        Raises:
            InvalidUriError: it is too long there.

        """
        return Uri.parse(self.target.text + uri.text[len(self.source.text) :])

    def abstract(self, uri: Uri, text: str) -> str:
        """Return the abstract of a record: its name where nothing else was known of it."""
        nameless = uri == self.source and text == self.source.name
        return self.target.name if nameless else text

    def origin(self, text: str) -> str:
        """Return which ingest brought a record: none any more, unless the whole of its tree moves.

        Else adding that tree again would remove what somebody has put in another place.
        """
        at = len(self.source.text)
        whole = text.startswith((self.source.folder, self.source.text + " "))
        return self.target.text + text[at:] if whole else ""


@dataclass(frozen=True, slots=True)
class Retag:
    """Gives tags to what lies at `uri`, or with `recursive` to every file at and below it."""

    uri: Uri
    tags: tuple[str, ...]
    mode: TagMode = "replace"
    recursive: bool = False


def taken(uri: Uri) -> AlreadyExistsError:
    """Return the error for a target where something lies."""
    return AlreadyExistsError(
        f"{uri.text!r} exists; name the whole new address, or remove it first",
        {"resource": uri.text},
    )


def missing(uri: Uri) -> NotFoundError:
    """Return the error for an address where nothing lies."""
    return NotFoundError(
        f"nothing is stored at {uri.text!r}", {"resource": uri.text, "type": "resource"}
    )


def too_many(uri: Uri) -> ResourceExhaustedError:
    """Return the error for an address where more lies than is changed at once."""
    return ResourceExhaustedError(
        f"more than {MOST} records lie at and below {uri.text!r}; take the directories in it one by one",
        {"resource": uri.text, "most": MOST},
    )
