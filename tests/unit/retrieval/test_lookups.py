from collections.abc import Sequence

import pytest

from contextfind.adapters.memory.store import MemoryRecordStore
from contextfind.domain.filters import (
    And,
    Contains,
    Filter,
    Not,
    Nothing,
    Numbered,
    Or,
    Tagged,
    Used,
    matches,
    store_conditions,
)
from contextfind.domain.records import ContextType, Level, RecordId
from contextfind.domain.scope import Scope
from contextfind.domain.uri import ROOT, Uri
from contextfind.ports import Commit, RecordDraft
from contextfind.retrieval.lookups import indexable
from tests.builders import NOON

ANN = Scope("acme", "ann", (ROOT,))


class AskedStore(MemoryRecordStore):
    """A store that remembers what `matching` was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Sequence[Filter]] = []

    async def matching(
        self, scope: Scope, wheres: Sequence[Filter]
    ) -> Sequence[Sequence[RecordId]]:
        self.asked.append(wheres)
        return await super().matching(scope, wheres)


@pytest.fixture
async def store() -> AskedStore:
    """Return a store of ten records, of which the first three were used once, twice, three times."""
    made = AskedStore()
    for number in range(10):
        uri = Uri(f"viking://resources/{number}.md")
        draft = RecordDraft(uri, Level.DETAIL, ContextType.RESOURCE, f"number {number}", ())
        await made.commit(Commit("acme", NOON, put=[draft]))
    await made.touch([RecordId(1), RecordId(2), RecordId(2), *[RecordId(3)] * 3])
    return made


async def test_a_filter_that_an_index_can_answer_costs_no_read(store: AskedStore) -> None:
    where = Or((Tagged("k=v"), Not(Contains("name", "a"))))
    assert await indexable(store, ANN, where) is where
    assert store.asked == []


async def test_all_that_only_the_store_knows_is_asked_for_at_once(store: AskedStore) -> None:
    text = Contains("abstract", "number 1")
    where = And((Or((Used(2, None), Not(text))), text))
    found = await indexable(store, ANN, where)
    ids = Numbered.of([RecordId(2)])
    assert found == And((Or((Numbered.of([RecordId(2), RecordId(3)]), Not(ids))), ids))
    assert not store_conditions(found)
    [asked] = store.asked
    assert set(asked) == {Used(2, None), text}


@pytest.mark.parametrize(
    ("condition", "asked"),
    [
        (Used(1, None), Used(1, None)),
        (Used(1, 2), Used(1, 2)),
        (Used(0, 0), Used(1, None)),
        (Used(None, 2), Used(3, None)),
        (Used(-3, 1), Used(2, None)),
        (Used(0, None), Nothing()),
        (Used(None, None), Nothing()),
        (Used(None, -1), Nothing()),
        (Used(2, 1), Used(2, 1)),
        (Used(0, -1), Nothing()),
    ],
)
async def test_only_used_records_are_ever_named(
    store: AskedStore, condition: Used, asked: Filter
) -> None:
    found = await indexable(store, ANN, condition)
    assert store.asked == [[asked]]
    records = await store.get([RecordId(number) for number in range(1, 11)])
    for record in records:
        assert record is not None
        assert matches(found, record) == matches(condition, record)
