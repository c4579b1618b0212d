"""`ls`, `tree`, `read`."""

from pathlib import PurePosixPath
from typing import Annotated, Literal

import typer
from rich.text import Text
from rich.tree import Tree

from contextfind.cli.connection import Connection, client_command
from contextfind.cli.screen import say, short, show, show_json, show_text, table
from contextfind.client.answers import Entry, Listing

ROOT = "viking://"
KIBIBYTE = 1024
NEVER = "1970-01-01T00:00"  # how the server dates a scope that holds nothing

app = typer.Typer()

Address = Annotated[str, typer.Argument(metavar="URI", help="viking://…")]


@client_command(app, "ls")
async def ls(
    connection: Connection,
    uri: Address = ROOT,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1)] = 256,
    offset: Annotated[int, typer.Option(min=0, help="Leave out this many first.")] = 0,
) -> None:
    """List a directory."""
    listing = await connection.client.ls(uri, limit=limit, offset=offset)
    if connection.as_json:
        show_json([entry.raw for entry in listing.entries])
        return
    made = table("size", "changed", "name", "abstract")
    for entry in listing.entries:
        made.add_row(
            "" if entry.is_dir else size(entry.size),
            changed(entry.mod_time),
            _shown_name(entry),
            short(entry.abstract, 100),
        )
    show(made if listing.entries else "(empty)")
    if listing.has_more:
        say(f"there is more: --offset {offset + len(listing.entries)}")


@client_command(app, "tree")
async def tree(
    connection: Connection,
    uri: Address = ROOT,
    depth: Annotated[int, typer.Option("--depth", "-d", min=1)] = 3,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1)] = 1000,
) -> None:
    """Show what lies below a directory."""
    listing = await connection.client.tree(uri, depth=depth, limit=limit)
    if connection.as_json:
        show_json([entry.raw for entry in listing.entries])
        return
    show(drawn(uri, listing))
    if listing.has_more:
        say("there is more: raise --limit, or look at a part of it")


@client_command(app, "read")
async def read(
    connection: Connection,
    uri: Address,
    level: Annotated[
        Literal["abstract", "overview", "text"],
        typer.Option(help="The short text, the longer one (of a directory), or the file itself."),
    ] = "text",
) -> None:
    """Print a file."""
    client = connection.client
    reader = {"abstract": client.abstract, "overview": client.overview, "text": client.read}
    text = await reader[level](uri)
    if connection.as_json:
        show_json(text)
    else:
        show_text(text)


def drawn(uri: str, listing: Listing) -> Tree:
    """Return the entries as a tree below `uri`; directories that a limit left out are drawn too."""
    top = Tree(Text(uri))
    branches: dict[PurePosixPath, Tree] = {PurePosixPath(): top}
    for entry in listing.entries:
        path = PurePosixPath(entry.rel_path or entry.uri.rpartition("/")[2])
        label = Text(_shown_name(entry), style="bold" if entry.is_dir else "")
        if entry.abstract:
            label.append("  " + short(entry.abstract, 80), style="dim")
        branches[path] = _branch(branches, path.parent).add(label)
    return top


def _branch(branches: dict[PurePosixPath, Tree], path: PurePosixPath) -> Tree:
    if path not in branches:
        branches[path] = _branch(branches, path.parent).add(Text(path.name + "/", style="bold"))
    return branches[path]


def _shown_name(entry: Entry) -> str:
    name = entry.name or entry.uri.rstrip("/").rpartition("/")[2]
    return name + ("/" if entry.is_dir else "")


def changed(time: str) -> str:
    """Return an ISO time to the minute, blank for a scope in which nothing was stored yet."""
    return "" if time.startswith(NEVER) else time[:16].replace("T", " ")


def size(count: int) -> str:
    """Return a number of bytes as people write it: `7 B`, `1.5 KiB`."""
    amount, units = float(count), ["B", "KiB", "MiB", "GiB"]
    while amount >= KIBIBYTE and len(units) > 1:
        amount, units = amount / KIBIBYTE, units[1:]
    return f"{amount:.0f} {units[0]}" if units[0] == "B" else f"{amount:.1f} {units[0]}"
