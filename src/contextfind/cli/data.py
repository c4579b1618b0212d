"""The data that a command without a server works on."""

from pathlib import Path

from contextfind.adapters.sqlite.database import FILE_NAME
from contextfind.cli.complaint import Complaint, ExitCode
from contextfind.config.model import Settings


def check_data(settings: Settings) -> None:
    """Return when there is data where the settings say; a database says so itself when it is opened.

    Raises:
        Complaint: there is none.

    """
    directory = Path(settings.storage.path)
    if settings.storage.backend == "sqlite" and not (directory / FILE_NAME).is_file():
        raise Complaint(
            f"there is no data in {directory.absolute()}; name the directory with --data DIR",
            ExitCode.USAGE,
        )


def data_directory(settings: Settings) -> Path:
    """Return the data directory, for what is done with its files.

    Raises:
        Complaint: the data is in a database.

    """
    if settings.storage.backend != "sqlite":
        raise Complaint(
            "the data is in a PostgreSQL database, which has tools of its own for this: pg_dump and pg_restore, or "
            "physical backups with point-in-time recovery; contextfind export writes a file that any backend takes",
            ExitCode.USAGE,
        )
    return Path(settings.storage.path)
