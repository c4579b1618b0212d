"""Record stores of every kind, empty and gone afterwards: what the contract tests are asked of."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from pathlib import Path

import pytest

from contextfind.adapters.memory.store import MemoryRecordStore
from contextfind.adapters.postgres.database import Database as PostgresDatabase
from contextfind.adapters.postgres.records import PostgresRecordStore
from contextfind.adapters.sqlite.database import Database as SqliteDatabase
from contextfind.adapters.sqlite.records import SqliteRecordStore
from tests import databases

BACKENDS = ("memory", "sqlite", "postgres")
HELD_TO_MEMORY = (  # on so many random examples
    ("sqlite", 30),
    ("postgres", 8),
    pytest.param("postgres", 100, marks=pytest.mark.slow),
)
Store = MemoryRecordStore | SqliteRecordStore | PostgresRecordStore


Opened = Callable[[], AbstractAsyncContextManager[Store]]


@asynccontextmanager
async def opened(backend: str, directory: Path, *most: int) -> AsyncIterator[Store]:
    """Give an empty store; most: passages that one answer of `changes` may have."""
    if backend == "memory":
        yield MemoryRecordStore(*most)
        return
    async with reopenable(backend, directory, *most) as again, again() as store:
        yield store


@asynccontextmanager
async def reopenable(backend: str, directory: Path, *most: int) -> AsyncIterator[Opened]:
    """Give what opens the same persistent store each time, closed behind each of them."""
    with ExitStack() as stack:
        place = stack.enter_context(databases.borrowed()) if backend == "postgres" else None

        @asynccontextmanager
        async def again() -> AsyncIterator[Store]:
            store: Store = (
                SqliteRecordStore(await SqliteDatabase.open(directory), *most)
                if place is None
                else PostgresRecordStore(await PostgresDatabase.open(place), *most)
            )
            try:
                yield store
            finally:
                await store.aclose()

        yield again
