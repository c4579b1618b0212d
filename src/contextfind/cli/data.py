"""The data directory that a command without a server works on."""

from pathlib import Path

from contextfind.adapters.sqlite.database import FILE_NAME
from contextfind.cli.complaint import Complaint, ExitCode


def check_data(directory: Path) -> None:
    """Return when there is data in a directory.

    Raises:
        Complaint: there is none.

    """
    if not (directory / FILE_NAME).is_file():
        raise Complaint(
            f"there is no data in {directory.absolute()}; name the directory with --data DIR",
            ExitCode.USAGE,
        )
