"""`context`."""

from enum import StrEnum
from typing import Annotated, Any

import typer

from contextfind.cli.complaint import printable
from contextfind.cli.connection import Connection, client_command
from contextfind.cli.finding import Query, Targets
from contextfind.cli.screen import say, show_json, show_text
from contextfind.client.assembling import TOKENS, Context

app = typer.Typer()


class Purpose(StrEnum):
    """A kind of work."""

    CODING = "coding"
    CHAT = "chat"


class Detail(StrEnum):
    """How much of an entry."""

    FULL = "full"
    OVERVIEW = "overview"
    ABSTRACT = "abstract"
    URI = "uri"


@client_command(app, "context")
async def context(  # noqa: PLR0913 - an option each
    connection: Connection,
    query: Query = "",
    *,
    tokens: Annotated[int, typer.Option("--tokens", min=1, help="The most it may cost.")] = TOKENS,
    session: Annotated[
        str | None, typer.Option("--session", "-s", help="The conversation in which it is asked.")
    ] = None,
    turns: Annotated[
        int, typer.Option("--turns", min=0, help="Not again what its last so many showed.")
    ] = 0,
    purpose: Annotated[
        Purpose | None, typer.Option("--purpose", help="So many of each category.")
    ] = None,
    detail: Annotated[Detail | None, typer.Option("--detail", help="The most of each.")] = None,
    target: Targets = None,
    without: Annotated[
        list[str] | None, typer.Option(metavar="URI", help="Leave this out; repeatable.")
    ] = None,
    rewrite: Annotated[
        bool, typer.Option("--rewrite", help="Have a language model make a digest of it.")
    ] = False,
) -> None:
    """Print what fits a question as a block for a prompt, within a budget of tokens."""
    options: dict[str, Any] = {
        "dedup_turns": turns or None,
        "purpose": None if purpose is None else purpose.value,
        "detail": None if detail is None else detail.value,
        "target_uri": target,
        "exclude_uris": without,
        "rewrite": rewrite or None,
    }
    said = {name: value for name, value in options.items() if value is not None}
    found = await connection.client.context(query, session, max_tokens=tokens, **said)
    if connection.as_json:
        show_json(found.raw)
    else:
        _show(found)


def _show(found: Context) -> None:
    for note in found.notes:
        say(note, style="yellow")
    if found.text:
        show_text(_steadied(found.text))
    else:
        say("nothing fits, or nothing new does")
    used, most = found.stats.get("used_tokens", 0), found.stats.get("max_tokens", 0)
    dropped = found.stats.get("dropped", 0)
    left = f"; {dropped} more had no room" if dropped else ""
    say(f"{len(found.entries)} entries, {used} of {most} tokens{left}")


def _steadied(text: str) -> str:
    """Return a text that cannot steer the terminal, line by line, tabs and all."""
    lines = (line.split("\t") for line in text.split("\n"))
    return "\n".join("\t".join(printable(part) for part in parts) for parts in lines)
