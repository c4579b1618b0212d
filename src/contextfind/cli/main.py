"""The program `contextfind`."""

import io
import sys
from typing import Annotated

import typer

from contextfind import __version__
from contextfind.cli.lazy import LazyGroup, offer_all

EPILOG = (
    "Exit codes: 0 done, 1 failed, 2 wrong command line, path or configuration, "
    "3 port or data directory in use, or data made by another embedder, "
    "4 server not reachable, 5 not permitted."
)

app = typer.Typer(
    cls=LazyGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    epilog=EPILOG,
    help="Retrieval for AI agents: one server, one directory, one tree of viking:// addresses. "
    "Start with: contextfind serve ./docs",
)


def _print_version(wanted: bool) -> None:  # noqa: FBT001 - typer's callback
    if wanted:
        sys.stdout.write(f"contextfind {__version__}\n")
        raise typer.Exit


@app.callback()
def root(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Hold the options that stand before a command."""


offer_all(app)


def main() -> None:
    """Run the program; texts that the terminal cannot show never end it."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    app()
