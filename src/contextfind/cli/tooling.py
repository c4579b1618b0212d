"""`mcp`: the tools for an agent's host, over standard input and output."""

import asyncio
import importlib
from datetime import UTC, datetime
from typing import Annotated, Literal

import typer

from contextfind.cli.complaint import Complaint, ExitCode, about
from contextfind.cli.configuring import ConfigFile, settings_from
from contextfind.cli.screen import complain
from contextfind.cli.tools import tools_installed
from contextfind.client import DEFAULT_URL, AsyncClient, ClientError
from contextfind.server.toolroom import HOW_TO_HAVE

_OVER_STDIO = "contextfind.toolbox.over_stdio"
_INDOORS = "contextfind.cli.indoors"

app = typer.Typer()


@app.command("mcp")
def mcp(
    *,
    url: Annotated[
        str,
        typer.Option(envvar=["CONTEXTFIND_URL", "OPENVIKING_URL"], help="Where the server is."),
    ] = DEFAULT_URL,
    key: Annotated[
        str | None,
        typer.Option(
            envvar=["CONTEXTFIND_API_KEY", "OPENVIKING_API_KEY"],
            help="Your key; not needed in dev mode.",
        ),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            metavar="DIR", help="Without a server: open this data directory in this process."
        ),
    ] = None,
    config: ConfigFile = None,
    embedder: Annotated[
        Literal["local", "hash", "openai"] | None, typer.Option(help="With --data; see serve.")
    ] = None,
) -> None:
    """Give an agent's host the tools over standard input and output.

    The host starts this itself, and ends it by ending its input. The tools ask the server at
    --url; a server offers the same tools over HTTP, at /mcp.
    """
    try:
        _check_installed()
        if data is None:
            asyncio.run(_beside(url, key))
            return
        overrides = {"storage.path": data, "embedding.provider": embedder}
        settings = settings_from(config, overrides).settings
        asyncio.run(importlib.import_module(_INDOORS).serve_indoors(settings, _now))
    except ClientError as error:
        _end(about(error, "mcp"))
    except Complaint as complaint:
        _end(complaint)


def _check_installed() -> None:
    if not tools_installed():
        raise Complaint(f"the tools are not installed: {HOW_TO_HAVE}", ExitCode.FAILED)


def _end(complaint: Complaint) -> None:
    complain(complaint)
    raise typer.Exit(complaint.exit_code)


async def _beside(url: str, key: str | None) -> None:
    async with AsyncClient(url, key) as client:
        await importlib.import_module(_OVER_STDIO).serve(client, _now)


def _now() -> datetime:
    return datetime.now(UTC)
