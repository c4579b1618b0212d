"""`read`, `list`, `tree`: texts and directories by their address."""

import asyncio
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from contextfind.client import ClientError
from contextfind.client.answers import Entry, Listing
from contextfind.toolbox.failing import failure_text
from contextfind.toolbox.tool import Arguments, Desk, Told, Tool, shortened

READ_CHARS = 40_000  # of one answer: some 10,000 tokens, which is what agent hosts let through
_READS = 4  # at once; each is a request to the server
_MOST_READS = 20
_ABSTRACT = 120  # characters of each line of a listing
ROOT = "viking://"

Address = Annotated[str, Field(description="A directory, such as viking://resources/handbook.")]


class ReadArguments(Arguments):
    """Which files, and which lines of them."""

    uris: Annotated[
        str | list[str],
        Field(description=f"The address of a file, or a list of up to {_MOST_READS}."),
    ]
    offset: Annotated[int, Field(ge=0, description="The first line; 0 is the first.")] = 0
    limit: Annotated[int | None, Field(ge=1, description="How many lines at most.")] = None


class ListArguments(Arguments):
    """Which directory, and which part of it."""

    uri: Address = ROOT
    limit: Annotated[int, Field(ge=1, le=1_000, description="How many entries at most.")] = 200
    offset: Annotated[int, Field(ge=0, description="The first entry; 0 is the first.")] = 0


class TreeArguments(Arguments):
    """Which directory, and how deep."""

    uri: Address = ROOT
    depth: Annotated[int, Field(ge=1, le=20, description="Levels below it.")] = 3
    limit: Annotated[int, Field(ge=1, le=1_000, description="How many entries at most.")] = 300


async def _read(desk: Desk, asked: ReadArguments) -> Told:
    uris = [asked.uris] if isinstance(asked.uris, str) else asked.uris
    if not 1 <= len(uris) <= _MOST_READS:
        return Told(f"uris has {len(uris)} addresses; expected 1 to {_MOST_READS}", wrong=True)
    turn, most = asyncio.Semaphore(_READS), READ_CHARS // len(uris)

    async def read_one(uri: str) -> Told:
        try:
            async with turn:
                text = await desk.client.read(uri)
        except ClientError as error:
            return Told(failure_text(error), wrong=True)
        return Told(part_of(text, asked.offset, asked.limit, most).shown())

    parts = await asyncio.gather(*(read_one(uri) for uri in uris))
    wrong = all(part.wrong for part in parts)
    if len(parts) == 1:
        return parts[0]
    named = [f"=== {uri} ===\n{part.text}" for uri, part in zip(uris, parts, strict=True)]
    return Told("\n\n".join(named), wrong=wrong)


@dataclass(frozen=True, slots=True)
class Part:
    """Lines of a text from `first` on, of `total`; cut: the last of them is not whole."""

    lines: list[str]
    first: int
    total: int
    cut: bool

    def shown(self) -> str:
        """Return the lines, and how to read on where something is left out."""
        end = self.first + len(self.lines)
        text = "\n".join(self.lines)
        if self.first == 0 and end == self.total and not self.cut:
            return text
        if not self.lines:
            return f"[no line {self.first}: there are {self.total}]"
        said = f"lines {self.first} to {end - 1} of {self.total}"
        said += ", the last one cut (find what it holds with grep)" if self.cut else ""
        said += f"; read on with offset={end}" if end < self.total else ""
        return f"{text}\n[{said}]"


def part_of(text: str, offset: int, limit: int | None, most: int) -> Part:
    """Return whole lines from `offset` on, of at most `most` characters together; at least a part of one."""
    every = text.split("\n")
    lines = every[offset:] if limit is None else every[offset : offset + limit]
    size, kept = 0, 0
    for line in lines:
        size += len(line) + 1
        if size > most + 1:
            break
        kept += 1
    if kept == 0 and lines:
        return Part([lines[0][:most]], offset, len(every), cut=True)
    return Part(lines[:kept], offset, len(every), cut=False)


async def _list(desk: Desk, asked: ListArguments) -> Told:
    listing = await desk.client.ls(asked.uri, asked.limit, asked.offset)
    more = asked.offset + len(listing.entries)
    lines = [_line(entry, entry.name) for entry in listing.entries]
    if not lines:
        lines = [f"{asked.uri} is empty." if asked.offset == 0 else "No more entries."]
    if listing.has_more:
        lines.append(f"[there are more; list on with offset={more}]")
    return Told("\n".join(lines), _data(listing))


async def _tree(desk: Desk, asked: TreeArguments) -> Told:
    listing = await desk.client.tree(asked.uri, asked.depth, asked.limit)
    lines = [_line(entry, entry.rel_path or entry.name) for entry in listing.entries]
    if not lines:
        lines = [f"{asked.uri} is empty."]
    if listing.has_more:
        lines.append("[there are more; raise limit, or look at a directory below]")
    return Told("\n".join([asked.uri, *lines]), _data(listing))


def _line(entry: Entry, name: str) -> str:
    about = shortened(entry.abstract, _ABSTRACT)
    shown = f"{name}/" if entry.is_dir else f"{name} ({entry.size} bytes)"
    return f"{shown} - {about}" if about else shown


def _data(listing: Listing) -> dict[str, Any]:
    entries = [
        {"uri": entry.uri, "directory": entry.is_dir, "size": entry.size}
        for entry in listing.entries
    ]
    return {"entries": entries, "has_more": listing.has_more}


READ = Tool(
    "read",
    "Read files",
    "Read the text of one or more files by address (viking://…), as `find`, `list`, `tree`, `grep` and "
    f"`glob` return them. At most {READ_CHARS} characters come at once, for several files together; the "
    "answer says how to read on. A directory has no text: `list` it, or read its summary at "
    "DIRECTORY/.overview.md.",
    ReadArguments,
    _read,
)
LIST = Tool(
    "list",
    "List a directory",
    "List what lies directly in a directory, with sizes and abstracts. Start at viking:// to see what "
    "there is. For several levels at once take `tree`.",
    ListArguments,
    _list,
)
TREE = Tool(
    "tree",
    "Show a directory tree",
    "Show what lies below a directory, several levels deep: an overview of its structure.",
    TreeArguments,
    _tree,
)
