"""`serve`: one address, and one process on one data directory or several on one database."""

import asyncio
import contextlib
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from contextfind import __version__
from contextfind.cli.checks import check_directory
from contextfind.cli.complaint import Complaint, ExitCode
from contextfind.cli.configuring import ConfigFile, DataDirectory, settings_from
from contextfind.cli.logs import logs_written
from contextfind.cli.running import Run, rules_from, serve_until_told
from contextfind.cli.screen import complain, say
from contextfind.cli.startup import Source, checked_sources, listening
from contextfind.cli.workers import Shift, Workers
from contextfind.client import DEFAULT_URL
from contextfind.config.load import Loaded
from contextfind.config.model import LogSettings, ServerSettings, Settings, is_loopback
from contextfind.wiring.backends import shown_place
from contextfind.wiring.findings import Verdict

SHORTEST_KEY = 16  # characters: 90 bits when letters and digits are random; a word is far shorter
MOST_WORKERS = 64  # each with a model and connections of its own
_EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 - recognised, not listened on

NumberOfWorkers = Annotated[
    int,
    typer.Option(
        min=1, max=MOST_WORKERS, help="Server processes; above 1 with storage.backend postgres."
    ),
]

app = typer.Typer()


@app.command("serve")
def serve(  # noqa: PLR0913 - a command line is its options
    *,
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="PATH...", help="Index these; each is found below viking://resources/NAME."
        ),
    ] = None,
    config: ConfigFile = None,
    host: Annotated[
        str | None, typer.Option(help="Address to listen on (default 127.0.0.1).")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            min=0, max=65_535, help="Port to listen on (default 1933); 0 takes a free one."
        ),
    ] = None,
    data: DataDirectory = None,
    embedder: Annotated[
        Literal["local", "hash", "openai"] | None,
        typer.Option(help="openai needs embedding.model in ov.conf; hash is for tests."),
    ] = None,
    reembed: Annotated[
        bool,
        typer.Option("--reembed", help="Make all vectors anew when another embedder made them."),
    ] = False,
    workers: NumberOfWorkers = 1,
) -> None:
    """Start the server, and index PATHs while it answers.

    Without a key it is open to this machine and to nobody else; set CONTEXTFIND_API_KEY for one.
    """
    overrides = {
        "server.host": host,
        "server.port": port,
        "storage.path": data,
        "embedding.provider": embedder,
    }
    try:
        sources = checked_sources(paths or ())
        loaded = settings_from(config, overrides)
        with logs_written(loaded.settings.log):
            _serve(loaded, sources, workers, reembed=reembed)
    except Complaint as complaint:
        complain(complaint)
        raise typer.Exit(complaint.exit_code) from complaint


def _serve(loaded: Loaded, sources: Sequence[Source], workers: int, *, reembed: bool) -> None:
    settings = loaded.settings
    if workers > 1 and settings.storage.backend == "sqlite":
        raise Complaint(
            "several workers need storage.backend 'postgres': a data directory belongs to one process; "
            "docs/scaling.md says how to move",
            ExitCode.USAGE,
        )
    if loaded.ignored_sections:
        say(f"{loaded.source}: ignored, of no meaning here: {', '.join(loaded.ignored_sections)}")
    if warning := short_keys(settings.server):
        say(warning, style="yellow")
    if settings.storage.backend == "sqlite":
        data = check_directory(Path(settings.storage.path).absolute())
        if data.verdict is Verdict.FAIL:
            raise Complaint(f"{data.line}; {data.next_step}", ExitCode.USAGE)
    with listening(settings.server.host, settings.server.port) as listener:
        run = Run(
            settings=settings,
            listener=listener,
            sources=sources,
            reembed=reembed,
            announce=lambda: _greet(loaded, url_of(listener), workers, adding=bool(sources)),
        )
        code = 0
        with contextlib.suppress(asyncio.CancelledError):  # told to stop before it was up
            code = asyncio.run(_served(run, settings.log, workers))
    if code:
        raise typer.Exit(code)  # the process that failed has said why
    say("stopped")


async def _served(run: Run, log: LogSettings, workers: int) -> int:
    if workers > 1:
        return await Workers(Shift(run, log), workers).serve_until_told()
    await serve_until_told(run)
    return 0


def short_keys(server: ServerSettings) -> str:
    """Return a line about configured keys that another machine may guess; empty when there is none."""
    keys = {"server.api_key": server.api_key, "server.root_api_key": server.root_api_key}
    short = [name for name, key in keys.items() if 0 < len(key) < SHORTEST_KEY]
    if is_loopback(server.host) or not short:
        return ""
    named = " and ".join(short) + (" is" if len(short) == 1 else " are")
    return (
        f"warning: {named} shorter than {SHORTEST_KEY} characters, and other machines "
        "can reach this server and guess; take long random ones: openssl rand -base64 32"
    )


def url_of(listener: socket.socket) -> str:
    """Return the address of a socket as a client on this machine types it."""
    host, port = listener.getsockname()[:2]
    if host in _EVERYWHERE:
        host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _greet(loaded: Loaded, url: str, workers: int, *, adding: bool) -> None:
    settings = loaded.settings
    elsewhere = "" if url == DEFAULT_URL else f" --url {url}"
    next_step = f'find "your question"{elsewhere}' if adding else f"add PATH{elsewhere}"
    say(f"contextfind {__version__} answers at {url}", style="bold green")
    rows = {
        **({"workers": f"{workers} processes"} if workers > 1 else {}),
        "data": shown_place(settings),
        "mode": mode_of(settings),
        "embedder": settings.embedding.model or settings.embedding.provider,
        "config": loaded.source,
        "docs": f"{url}/docs",
        "next": f"contextfind {next_step}",
    }
    for name, value in rows.items():
        say(f"  {name:<9}{value}")


def mode_of(settings: Settings) -> str:
    """Return the mode with what it means."""
    if rules_from(settings).mode == "dev":
        return "dev (no key needed, this machine only)"
    return "api_key (clients give theirs in CONTEXTFIND_API_KEY)"
