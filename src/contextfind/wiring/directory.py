"""A data directory being opened: locked first, its database and its blobs."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

from contextfind.adapters.files.blobs import FileBlobs
from contextfind.adapters.files.lock import DirectoryLock
from contextfind.adapters.files.restored import check_restored
from contextfind.adapters.files.stillness import Stillness
from contextfind.adapters.sqlite.database import Database


async def open_directory(directory: Path, stack: AsyncExitStack) -> tuple[Database, FileBlobs]:
    """Lock the directory and return what lies in it; `stack` closes it, and gives the lock back last.

    Raises:
        FailedPreconditionError: the directory is in use, newer, or half restored.
        UnavailableError: a file cannot be opened.

    """
    lock = DirectoryLock(directory)
    await asyncio.to_thread(lock.acquire)
    stack.callback(lock.release)
    check_restored(directory)
    database = await Database.open(directory)
    stack.push_async_callback(database.aclose)
    blobs = FileBlobs(directory / "blobs", Stillness(directory))
    stack.push_async_callback(blobs.aclose)
    return database, blobs
