"""Memories counted by directory, use and age."""

from datetime import timedelta

import pytest

from contextfind.adapters.local.words import WordTokenizer
from contextfind.adapters.memory.index import MemoryIndex
from contextfind.adapters.memory.store import MemoryRecordStore
from contextfind.domain.errors import NotFoundError, PermissionDeniedError
from contextfind.domain.identity import Identity
from contextfind.domain.records import Level, context_type_of
from contextfind.domain.uri import Uri
from contextfind.ports import Commit, RecordDraft
from contextfind.retrieval.census import Census
from tests.builders import NOON, make_passages

ANN = Identity("acme", "ann")
MEMORIES = {
    "viking://user/ann/memories/events/a.md": 0,
    "viking://user/ann/memories/events/deep/b.md": 1,
    "viking://user/ann/memories/c.md": 4,
    "viking://agent/memories/cases/d.md": 5,
    "viking://user/ben/memories/events/e.md": 9,
    "viking://resources/memories/f.md": 9,
}


@pytest.fixture
async def census() -> Census:
    store = MemoryRecordStore()
    for text, uses in MEMORIES.items():
        uri = Uri(text)
        draft = RecordDraft(uri, Level.DETAIL, context_type_of(uri), "a", make_passages(text))
        done = await store.commit(Commit("acme", NOON, put=[draft]))
        (change,) = await store.changes(done.position - 1, 1)
        await store.touch([change.id] * uses)
    return Census(store, MemoryIndex(WordTokenizer()), lambda: NOON + timedelta(days=3, hours=9))


async def test_memories_are_counted_by_directory_use_and_age(census: Census) -> None:
    counts = await census.memories(ANN)
    assert counts.by_directory == {"events": 2, "": 1, "cases": 1}
    assert (counts.cold, counts.warm, counts.hot, counts.total) == (1, 2, 1, 4)
    assert counts.oldest_days == 3


async def test_what_finds_do_not_know_is_named(census: Census) -> None:
    found = await census.consistency(ANN, Uri("viking://user/ann"))
    assert (found.records, found.missing) == (3, 3)  # nothing was embedded
    assert found.lag == len(MEMORIES)
    with pytest.raises(NotFoundError):
        await census.consistency(ANN, Uri("viking://resources/none"))
    with pytest.raises(PermissionDeniedError):
        await census.consistency(ANN, Uri("viking://user/ben"))
