"""What every store tells of the blobs that its records name."""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import numpy as np
import pytest

from contextfind.adapters.memory.store import MemoryRecordStore
from contextfind.adapters.sqlite.compaction import SqliteCompaction
from contextfind.adapters.sqlite.database import Database
from contextfind.adapters.sqlite.records import SqliteRecordStore
from contextfind.domain.records import ContextType, Level, RecordId
from contextfind.domain.uri import Uri
from contextfind.ports.housekeeping import BlobNames
from contextfind.ports.store import Commit, RecordDraft, RecordStore
from tests.builders import NOON


@pytest.fixture(params=["memory", "sqlite"])
async def stored(
    request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[tuple[RecordStore, BlobNames]]:
    if request.param == "memory":
        memory = MemoryRecordStore()
        yield memory, memory
        return
    database = await Database.open(tmp_path)
    yield SqliteRecordStore(database), SqliteCompaction(database)
    await database.aclose()


def digest(number: int) -> str:
    return f"{number:02x}" * 32


async def write(store: RecordStore, names: Mapping[int, tuple[str, str]]) -> None:
    drafts = [
        RecordDraft(
            Uri(f"viking://resources/{number}.md"),
            Level.DETAIL,
            ContextType.RESOURCE,
            "about",
            (),
            content=content,
            source=source,
        )
        for number, (content, source) in names.items()
    ]
    await store.commit(Commit("acme", NOON, put=drafts))


async def named(names: BlobNames, limit: int) -> set[int]:
    """Return the first byte of every digest, read in parts; keys are whole numbers of 64 bits."""
    found: set[int] = set()
    after = RecordId(0)
    while True:
        records, keys = await names.named(after, limit)
        assert keys.dtype == np.uint64
        assert list(records) == sorted(records)
        if not records:
            return found
        assert len(records) <= limit
        after = records[-1]
        found |= {int(key) >> 56 for key in keys}
        assert all(int(key) == int(digest(int(key) >> 56)[:16], 16) for key in keys)


@pytest.mark.parametrize("limit", [1, 2, 100])
async def test_every_name_is_told(stored: tuple[RecordStore, BlobNames], limit: int) -> None:
    store, names = stored
    await write(store, {n: (digest(n), digest(200 + n)) for n in range(1, 6)} | {9: ("", "")})
    await names.settle()
    assert await named(names, limit) == {*range(1, 6), *range(201, 206)}


async def test_only_the_names_of_what_is_there_now(stored: tuple[RecordStore, BlobNames]) -> None:
    store, names = stored
    await write(store, {1: (digest(1), ""), 2: (digest(2), "")})
    await write(store, {2: (digest(3), "")})
    await store.commit(Commit("acme", NOON, remove=[Uri("viking://resources/1.md")]))
    assert await named(names, 10) == {3}


async def test_an_empty_store_names_nothing(stored: tuple[RecordStore, BlobNames]) -> None:
    assert await named(stored[1], 10) == set()
