"""`reindex`: the search index built anew from the database, while no server runs on it."""

import asyncio
from typing import Annotated

import typer

from contextfind.cli.complaint import Complaint, ExitCode
from contextfind.cli.configuring import ConfigFile, DataDirectory, settings_from
from contextfind.cli.data import check_data
from contextfind.cli.progress import progress, settle
from contextfind.cli.screen import complain, say, show_json
from contextfind.config.model import Settings
from contextfind.domain.errors import ConfigError, ContextFindError, FailedPreconditionError
from contextfind.wiring.progress import Told
from contextfind.wiring.reindexing import Rebuilt, rebuild_index

app = typer.Typer()


@app.command("reindex")
def reindex(
    *,
    config: ConfigFile = None,
    data: DataDirectory = None,
    vectors: Annotated[
        bool, typer.Option("--vectors", help="Embed every text again, too, and wait for it.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="What was done as JSON.")] = False,
) -> None:
    """Throw the search index away and build it anew; a server on a data directory must be stopped.

    What lost what it belongs to is put right first: passages without a record or a vector, overviews without their
    text. Models are asked only with --vectors. A running server does it while it answers: POST /api/v1/content/reindex.
    """
    try:
        settings = settings_from(config, {"storage.path": data}).settings
        check_data(settings)
        with progress() as told:
            rebuilt = _rebuilt(settings, told, vectors=vectors)
        note = asyncio.run(settle(settings)) if vectors else ""
    except Complaint as complaint:
        complain(complaint, as_json=json)
        raise typer.Exit(complaint.exit_code) from complaint
    _show(rebuilt, note, as_json=json, vectors=vectors)


def _rebuilt(settings: Settings, told: Told, *, vectors: bool) -> Rebuilt:
    try:
        return asyncio.run(rebuild_index(settings, told, vectors=vectors))
    except ConfigError as error:
        raise Complaint(f"configuration: {error}", ExitCode.USAGE, error.code) from error
    except FailedPreconditionError as error:
        raise Complaint(str(error), ExitCode.OCCUPIED, error.code) from error
    except ContextFindError as error:
        raise Complaint(
            f"the index is not built: {error}; run it again when that is put right",
            ExitCode.FAILED,
            error.code,
        ) from error


def _show(rebuilt: Rebuilt, note: str, *, as_json: bool, vectors: bool) -> None:
    waiting = 0 if vectors and not note else rebuilt.waiting
    if as_json:
        repaired = dict(rebuilt.repaired)
        show_json(
            {"records": rebuilt.records, "waiting": waiting, "repaired": repaired, "note": note}
        )
        return
    for things, count in rebuilt.repaired.items():
        say(f"repaired: {count:,} {things}", style="yellow")
    say(f"the index is built: {rebuilt.records:,} records", style="green")
    if note:
        say(note, style="yellow")
    elif waiting:
        say(f"{waiting:,} texts have no vector yet; a server makes them while it answers")
