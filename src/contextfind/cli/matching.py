"""`grep`, `glob`."""

from typing import Annotated

import typer

from contextfind.cli.complaint import printable
from contextfind.cli.connection import Connection, client_command
from contextfind.cli.screen import say, show_json, show_text

ROOT = "viking://"
MORE = "there may be more: raise --limit, or look at a part of the tree"

app = typer.Typer()

Pattern = Annotated[str, typer.Argument(metavar="PATTERN", help="For glob: *.md, **/*.md, [a-c]?.")]
Address = Annotated[str, typer.Argument(metavar="URI", help="viking://…")]
Limit = Annotated[int, typer.Option("--limit", "-n", min=1)]


@client_command(app, "grep")
async def grep(  # noqa: PLR0913 - an option each
    connection: Connection,
    pattern: Pattern,
    uri: Address = ROOT,
    limit: Limit = 256,
    depth: Annotated[int | None, typer.Option("--depth", "-d", min=1)] = None,
    without: Annotated[str, typer.Option(metavar="URI", help="Leave this out.")] = "",
    *,
    ignore_case: Annotated[bool, typer.Option("--ignore-case", "-i")] = False,
) -> None:
    """Show the lines of files that match a regular expression."""
    found = await connection.client.grep(
        pattern, uri, ignore_case=ignore_case, limit=limit, depth=depth, without=without
    )
    if connection.as_json:
        show_json(found.raw)
        return
    for match in found.matches:
        show_text(printable(f"{match.uri}:{match.line}: {match.content}"))
    if not found.matches:
        say(f"no line of {found.files_scanned} files matches")
    if found.has_more:
        say(MORE)


@client_command(app, "glob")
async def glob(
    connection: Connection, pattern: Pattern, uri: Address = ROOT, limit: Limit = 256
) -> None:
    """Show the addresses that match wildcards."""
    found = await connection.client.glob(pattern, uri, limit=limit)
    if connection.as_json:
        show_json(found.raw)
        return
    for address in found.matches:
        show_text(printable(address))
    if not found.matches:
        say("no address matches")
    if found.has_more:
        say(MORE)
