"""`compact`: a data directory made as small as it can be, while no server runs on it."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

import typer

from contextfind.cli.complaint import Complaint, ExitCode
from contextfind.cli.configuring import ConfigFile, DataDirectory, settings_from
from contextfind.cli.data import check_data
from contextfind.cli.opening import opened_rooms
from contextfind.cli.screen import complain, show, show_json, table
from contextfind.config.model import Settings
from contextfind.domain.errors import ContextFindError
from contextfind.ports.housekeeping import Swept
from contextfind.wiring import housekeeping

app = typer.Typer()


@app.command("compact")
def compact(
    *,
    config: ConfigFile = None,
    data: DataDirectory = None,
    json: Annotated[bool, typer.Option("--json", help="What was given back as JSON.")] = False,
) -> None:
    """Make the data as small as it can be; the server must be stopped.

    A running server takes away most of it by itself. This also writes the database anew, for which it needs the
    room of the database twice.
    """
    try:
        settings = settings_from(config, {"storage.path": data}).settings
        check_data(settings)
        told = asyncio.run(_compacted(settings))
    except Complaint as complaint:
        complain(complaint, as_json=json)
        raise typer.Exit(complaint.exit_code) from complaint
    if json:
        show_json([{"what": what, "things": s.things, "bytes": s.bytes} for what, s in told])
        return
    made = table("what", "things", "bytes given back")
    for what, swept in told:
        made.add_row(what, str(swept.things or ""), str(swept.bytes))
    show(made)


async def _compacted(settings: Settings) -> Sequence[tuple[str, Swept]]:
    async with opened_rooms(settings) as storage:
        try:
            return await housekeeping.compact(storage, datetime.now(UTC))
        except ContextFindError as error:
            raise Complaint(
                f"{error}; what was taken away until then is gone, nothing else has changed",
                ExitCode.FAILED,
                error.code,
            ) from error
