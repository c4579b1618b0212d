"""`doctor --deep`: all data of a stopped server, read and judged."""

from pathlib import Path

from contextfind.adapters.sqlite.database import FILE_NAME
from contextfind.cli.progress import progress
from contextfind.config.model import Settings
from contextfind.domain.errors import ContextFindError
from contextfind.wiring.findings import Finding, Verdict
from contextfind.wiring.inspection import Inspection


def check_data(settings: Settings) -> list[Finding]:
    """Read everything in a data directory, with progress on the screen; nothing is changed."""
    if settings.storage.backend != "sqlite":
        line = "the data is in a database, which checks its own pages (data_checksums, pg_amcheck)"
        return [Finding("deep", Verdict.OK, line)]
    directory = Path(settings.storage.path)
    if not (directory / FILE_NAME).is_file():
        return [Finding("deep", Verdict.OK, f"there is no data in {directory.absolute()} yet")]
    try:
        with progress() as told:
            return list(Inspection(directory, told).run())
    except ContextFindError as error:
        return [Finding("deep", Verdict.FAIL, f"not looked at: {error}")]
