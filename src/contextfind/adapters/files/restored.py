"""A data directory that is being made from a backup: nobody opens it before it is whole."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from contextfind.adapters.files.backups import OF_THE_DISK
from contextfind.adapters.files.durable import sync
from contextfind.adapters.files.lock import LOCK_NAME, OWNER_NAME
from contextfind.domain.errors import FailedPreconditionError, UnavailableError

_MARK = "restore.unfinished"
_NO_DATA = frozenset((OF_THE_DISK, LOCK_NAME, OWNER_NAME))


def check_restored(directory: Path) -> None:
    """Pass when no restore into the directory was interrupted.

    Raises:
        FailedPreconditionError: one was; nobody could tell what is missing from what never was.

    """
    if (directory / _MARK).exists():
        raise FailedPreconditionError(
            f"a restore into the data directory {str(directory)!r} did not end; run it again: "
            f"contextfind restore BACKUP --data {directory}"
        )


def check_empty(directory: Path) -> None:
    """Pass when nothing lies in the directory but what an unfinished restore has left.

    Raises:
        FailedPreconditionError: something does. UnavailableError: it cannot be looked at, or is none.

    """
    try:
        names = {entry.name for entry in directory.iterdir()} if directory.exists() else set()
    except OSError as error:
        raise UnavailableError(f"{directory}: {error.strerror}") from error
    if _MARK not in names and not names <= _NO_DATA:
        raise FailedPreconditionError(
            f"{str(directory)!r} is not empty; restore into a new directory (--data DIR), so that "
            "nothing is lost that is in this one"
        )


@contextmanager
def being_restored(directory: Path) -> Iterator[None]:
    """Mark the directory until the context ends well; then all that was written in it is durable.

    Raises:
        UnavailableError: the disk refuses.

    """
    try:
        (directory / _MARK).touch()
        sync(directory)
        yield
        os.sync()  # a sync for each file would take minutes for a million of them
        (directory / _MARK).unlink()
        sync(directory)
    except OSError as error:
        raise UnavailableError(f"{error.filename or directory}: {error.strerror}") from error
