"""`write`, `edit`, `forget`: changing what is stored."""

import hashlib
from typing import Annotated, Literal

from pydantic import AliasChoices, Field

from contextfind.toolbox.storing import SECONDS, stored
from contextfind.toolbox.tool import Arguments, Desk, Told, Tool

File = Annotated[str, Field(description="The file: viking://resources/notes/today.md.")]


class WriteArguments(Arguments):
    """A text, and where it is to lie."""

    uri: File
    content: Annotated[str, Field(description="All of the text, or what is appended.")]
    mode: Annotated[
        Literal["create", "replace", "append"],
        Field(description="create refuses to write over a file that is there."),
    ] = "replace"
    tags: Annotated[
        list[str] | None,
        Field(description="key=value each; left out: those that are there stay.", max_length=20),
    ] = None


class EditArguments(Arguments):
    """A passage of a file, and what comes in its place."""

    uri: File
    old_text: Annotated[
        str,
        Field(
            min_length=1,
            validation_alias=AliasChoices("old_text", "old_string", "old_str"),
            description="The passage, letter by letter; it has to occur once.",
        ),
    ]
    new_text: Annotated[
        str,
        Field(
            validation_alias=AliasChoices("new_text", "new_string", "new_str"),
            description="What comes in its place; empty takes it out.",
        ),
    ]
    replace_all: Annotated[bool, Field(description="Replace it everywhere it occurs.")] = False


class ForgetArguments(Arguments):
    """What is to be removed."""

    uri: Annotated[str, Field(description="A file or a directory.")]
    recursive: Annotated[
        bool, Field(description="Needed for a directory: all below it goes, too.")
    ] = False


async def _write(desk: Desk, asked: WriteArguments) -> Told:
    writing = desk.client.write(asked.uri, asked.content, asked.mode, asked.tags, timeout=SECONDS)
    found = await stored(writing)
    return Told(f"Written to {asked.uri}. {found}", {"uri": asked.uri})


async def _edit(desk: Desk, asked: EditArguments) -> Told:
    text = await desk.client.read(asked.uri)
    times = text.count(asked.old_text)
    if times == 0:
        told = f"old_text does not occur in {asked.uri}; read it and take the passage from there"
        return Told(told, wrong=True)
    if times > 1 and not asked.replace_all:
        told = (
            f"old_text occurs {times} times in {asked.uri}; take a longer passage, or replace_all"
        )
        return Told(told, wrong=True)
    operation = _replaced(asked.uri, text, text.replace(asked.old_text, asked.new_text))
    folder = asked.uri.rstrip("/").rpartition("/")[0]
    found = await stored(desk.client.batch_write(folder, [operation], timeout=SECONDS))
    data = {"uri": asked.uri, "replaced": times}
    return Told(f"{times} replaced in {asked.uri}. {found}", data)


def _replaced(uri: str, old: str, new: str) -> dict[str, object]:
    """Return the write that puts a new text in the place of the old one, and of no other."""
    digest = hashlib.sha256(old.encode("utf-8", "surrogatepass")).hexdigest()
    same = {"kind": "replace_if_hash", "base_hash": f"sha256:{digest}"}
    return {"uri": uri, "content": new, "precondition": same}


async def _forget(desk: Desk, asked: ForgetArguments) -> Told:
    removed = await desk.client.rm(asked.uri, recursive=asked.recursive)
    count = removed.estimated_deleted_count
    data = {"uri": asked.uri, "removed": count}
    if count == 0:
        return Told(f"Nothing was stored at {asked.uri}.", data)
    return Told(f"Removed {asked.uri}.", data)


WRITE = Tool(
    "write",
    "Write a file",
    "Write a text file at an address: notes, documents, code that others and you are to find later. To "
    "change a passage of a file take `edit`; for a fact about the user or a lesson take `remember`.",
    WriteArguments,
    _write,
    writes=True,
    destroys=True,
    again=False,
)
EDIT = Tool(
    "edit",
    "Replace a passage",
    "Replace a passage of a stored text file. `read` the file first: old_text must be in it letter by "
    "letter. Nothing is written when the file has changed meanwhile.",
    EditArguments,
    _edit,
    writes=True,
    destroys=True,
    again=False,
)
FORGET = Tool(
    "forget",
    "Remove for good",
    "Remove a file, a memory or a whole directory for good. Only when the user asks for it; find the "
    "exact address first, and have the user confirm it.",
    ForgetArguments,
    _forget,
    writes=True,
    destroys=True,
)
