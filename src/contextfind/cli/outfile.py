"""A file that a command writes what it found to; `-` is the terminal."""

from pathlib import Path

from contextfind.cli.complaint import Complaint, ExitCode
from contextfind.cli.screen import show_text

STDOUT = Path("-")


def save_text(file: Path, text: str) -> None:
    """Write the text.

    Raises:
        Complaint: the disk does not take it.

    """
    if file == STDOUT:
        show_text(text)
        return
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Complaint(f"cannot write {file}: {error.strerror}", ExitCode.USAGE) from error
