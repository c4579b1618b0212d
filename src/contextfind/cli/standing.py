"""`status`, `version`."""

import sys
from collections.abc import Iterator, Mapping

import typer

from contextfind import __version__
from contextfind.cli.connection import Connection, client_command
from contextfind.cli.screen import show, show_json, table

app = typer.Typer()


@client_command(app, "status")
async def status(connection: Connection) -> None:
    """Show what a running server holds and whether it is ready."""
    client = connection.client
    health = await client.health()
    ready = await client.ready()
    state = await client.status()
    if connection.as_json:
        show_json({"health": health.raw, "ready": ready.raw, "status": state.raw})
        return
    made = table("what", "value")
    made.add_row("server", f"{client.url} (version {health.version}, {health.auth_mode})")
    made.add_row("state", ready.status)
    for name, value in _flat({"ready": ready.checks, **state.raw}):
        made.add_row(name, value)
    show(made)


@app.command("version")
def version() -> None:
    """Print the version."""
    sys.stdout.write(f"contextfind {__version__}\n")


def _flat(values: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, str(value)
