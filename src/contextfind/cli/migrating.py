"""`migrate`: what another server of this API holds, brought to this one."""

from typing import Annotated

import typer

from contextfind.cli.complaint import Complaint, ExitCode
from contextfind.cli.connection import Connection, client_command
from contextfind.cli.meter import meter
from contextfind.cli.migration import ROOTS, Brought, Migration, checked_root
from contextfind.cli.pace import Paces
from contextfind.cli.screen import say, show, show_json, table
from contextfind.client import AsyncClient
from contextfind.domain.errors import InvalidUriError

SHOWN = 20  # files that could not be brought; the rest is counted

app = typer.Typer()


@client_command(app, "migrate")
async def migrate(
    connection: Connection,
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="The other server: http://HOST:1933.")
    ],
    source_key: Annotated[
        str | None,
        typer.Option(envvar="CONTEXTFIND_SOURCE_KEY", help="Your key there."),
    ] = None,
    below: Annotated[
        list[str] | None,
        typer.Option(
            "--below",
            metavar="URI",
            help="Only this address; repeatable (default: resources, your memories, all skills).",
        ),
    ] = None,
    *,
    every: Annotated[
        bool, typer.Option("--all", help="Also what is here with the same size.")
    ] = False,
) -> None:
    """Bring files, memories and skills from another server of this API, by their addresses.

    Run again, it brings what is new or of another size. Nothing is changed there, and nothing removed here.
    """
    roots = _roots(below)
    paces = Paces()
    async with AsyncClient(source, source_key) as there:
        await there.health()
        with meter() as bar:
            brought = await Migration(there, connection.client, every=every).bring(
                roots,
                lambda done, total: bar.show(
                    "brought", done, total, paces.at("brought", done, total, "files")
                ),
            )
    _tell(brought, as_json=connection.as_json)
    if not brought.whole:
        raise typer.Exit(ExitCode.FAILED)


def _tell(brought: Brought, *, as_json: bool) -> None:
    if as_json:
        counts = {"written": brought.written, "unchanged": brought.unchanged}
        show_json({**counts, "failed": brought.failed, "untagged": brought.untagged})
        return
    made = table("files", "")
    made.add_row(str(brought.written), "brought")
    made.add_row(str(brought.unchanged), "here already")
    made.add_row(str(len(brought.failed)), "failed")
    if brought.untagged:
        made.add_row(str(len(brought.untagged)), "brought without their tags")
    show(made)
    for uri, reason in [*brought.failed.items(), *brought.untagged.items()][:SHOWN]:
        say(f"{uri}: {reason}", style="red")


def _roots(below: list[str] | None) -> list[str]:
    if not below:
        return [*ROOTS]
    try:
        return [checked_root(one) for one in below]
    except InvalidUriError as error:
        raise Complaint(f"--below: {error}", ExitCode.USAGE, error.code) from error
