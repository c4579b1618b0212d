"""A data directory being opened: locked first, its database and its blobs."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

from contextfind.adapters.files.blobs import FileBlobs
from contextfind.adapters.files.lock import DirectoryLock
from contextfind.adapters.files.restored import check_restored
from contextfind.adapters.files.stillness import Stillness
from contextfind.adapters.sqlite.database import FILE_NAME, Database
from contextfind.domain.errors import FailedPreconditionError

_BLOBS = "blobs"
_SHELVES = "??/*"  # below it: files that hold the texts of records


async def open_directory(directory: Path, stack: AsyncExitStack) -> tuple[Database, FileBlobs]:
    """Lock the directory and return what lies in it; `stack` closes it, and gives the lock back last.

    Raises:
        FailedPreconditionError: the directory is in use, newer, half restored, or without its database.
        UnavailableError: a file cannot be opened.

    """
    lock = DirectoryLock(directory)
    await asyncio.to_thread(lock.acquire)
    stack.callback(lock.release)
    check_restored(directory)
    await asyncio.to_thread(_check_database, directory)
    database = await Database.open(directory)
    stack.push_async_callback(database.aclose)
    blobs = FileBlobs(directory / _BLOBS, Stillness(directory))
    stack.push_async_callback(blobs.aclose)
    return database, blobs


def _check_database(directory: Path) -> None:
    """Refuse to begin with an empty database beside texts: as nobody would name these, they would be swept."""
    file = directory / FILE_NAME
    if file.exists() and file.stat().st_size > 0:
        return
    if next((directory / _BLOBS).glob(_SHELVES), None) is not None:
        raise FailedPreconditionError(
            f"there are texts in {directory}, but no {FILE_NAME} that names them; put it back from a "
            f"backup (contextfind restore), or take {_BLOBS}/ away to begin with nothing"
        )
