"""fs/ls, fs/tree, fs/stat: how entries are shown."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from contextfind.domain.filter_values import LARGEST
from contextfind.domain.uri import Uri
from contextfind.retrieval.browsing import Entry
from contextfind.server.envelope import header_list
from contextfind.server.examples import DIRECTORY
from contextfind.server.wire.body import Params, Place

MAX_NODES = 10_000  # entries of one answer; larger directories are paged with offset
DEFAULT_NODES = 1_000
DEFAULT_DEPTH = 3
MAX_DEPTH = 64  # deeper than any tree that a person would make

_NOTHING = ("false", "0")  # what clients send that send all parameters they know

_FILE_MODE = 0o644
_DIRECTORY_MODE = 0o755


class View(Params):
    """The query parameters of a listing; those of newer clients that are not here are named in the answer.

    limit: the size of a page. node_limit: the most entries a caller wants; the smaller one counts.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    uri: Annotated[Place, Field(description="The directory.", examples=[DIRECTORY])] = "viking://"
    output: Annotated[
        Literal["agent", "original"],
        Field(description="`agent`: with abstracts and tags; `original`: with the mode."),
    ] = "agent"
    simple: Annotated[bool, Field(description="Addresses only.")] = False
    recursive: Annotated[bool, Field(description="All below it, by address.")] = False
    abs_limit: Annotated[int, Field(ge=0, description="Characters of an abstract.")] = 256
    node_limit: Annotated[int, Field(ge=1, description="The most entries wanted.")] = DEFAULT_NODES
    limit: Annotated[
        int,
        Field(ge=1, description=f"Entries of a page; the smaller of both, at most {MAX_NODES}."),
    ] = MAX_NODES
    offset: Annotated[int, Field(ge=0, le=LARGEST, description="Entries before the page.")] = 0
    level_limit: Annotated[
        Annotated[int, Field(ge=1, le=MAX_DEPTH)] | None,
        Field(description=f"How deep; absent is {DEFAULT_DEPTH} for a tree, all for ls."),
    ] = None

    @property
    def page(self) -> int:
        """How many entries to return."""
        return min(self.limit, self.node_limit, MAX_NODES)

    def ignored_header(self) -> dict[str, str]:
        """Return `X-Ignored-Fields` when something was asked that this server does not do."""
        asked = (self.model_extra or {}).items()
        names = header_list(sorted(name for name, value in asked if value not in _NOTHING))
        return {"X-Ignored-Fields": names} if names else {}


def lines(entries: Iterable[Entry], view: View, base: Uri | None) -> list[object]:
    """Return entries as asked; `base` adds the path relative to it."""
    if view.simple:
        return [entry.uri.text for entry in entries]
    return [_line(entry, view, base) for entry in entries]


def stat(entry: Entry, count: int | None) -> dict[str, object]:
    """Return one entry; `count` is how many children a directory has."""
    shown: dict[str, object] = {
        "name": entry.uri.name,
        **_facts(entry),
        "mode": _mode(entry),
        "abstract": entry.abstract,
        "tags": list(entry.tags),
        "isLocked": False,
    }
    return shown if count is None else {**shown, "count": count}


def iso(moment: datetime) -> str:
    """Return a moment as JSON text, in UTC."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _line(entry: Entry, view: View, base: Uri | None) -> dict[str, object]:
    shown: dict[str, object] = {"name": entry.uri.name, **_facts(entry)}
    if base is not None:
        shown["rel_path"] = entry.uri.text[len(base.folder) :]
    if view.output == "original":
        return {**shown, "mode": _mode(entry)}
    return {**shown, "abstract": entry.abstract[: view.abs_limit], "tags": list(entry.tags)}


def _facts(entry: Entry) -> dict[str, object]:
    return {
        "uri": entry.uri.text,
        "size": entry.size,
        "isDir": entry.is_directory,
        "modTime": iso(entry.updated_at),
    }


def _mode(entry: Entry) -> int:
    return _DIRECTORY_MODE if entry.is_directory else _FILE_MODE
