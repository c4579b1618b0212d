"""What every record store promises of copies: out of one, into another, the same."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextfind.adapters.memory.store import MemoryRecordStore
from contextfind.domain.documents import make_passage
from contextfind.domain.errors import ConflictError
from contextfind.domain.records import Level, Record, RecordId
from contextfind.domain.uri import Uri
from contextfind.ports.store import Change, Commit, RecordCopy, RecordDraft, RecordStore
from tests.builders import NOON, make_passages, make_record, unit
from tests.stores import BACKENDS, HELD_TO_MEMORY, Store, opened
from tests.strategies import last_changes, logs


@pytest.fixture(params=BACKENDS)
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    async with opened(request.param, tmp_path, 4) as made:
        yield made


def make_copy(
    path: str = "resources/a.md",
    *texts: str,
    level: Level = Level.DETAIL,
    vectors: bool = True,
    stale: bool = False,
    record: Record | None = None,
) -> RecordCopy:
    """Return a copy whose vectors follow from its texts."""
    made = make_record(0, f"viking://{path}", level) if record is None else record
    rows = [unit(len(text)) if vectors else None for text in texts]
    return RecordCopy(made, make_passages(*texts), rows, stale)


async def all_of(
    store: RecordStore, account: str | None = None, limit: int = 3
) -> list[RecordCopy]:
    """Return all copies, page by page."""
    found: list[RecordCopy] = []
    while page := await store.copies(account, found[-1].record if found else None, limit):
        assert len(page) <= limit
        found += page
    return found


def told(copy: RecordCopy) -> tuple[object, ...]:
    """Return a copy as values that can be compared; the id is the store's own affair."""
    rows = [None if row is None else row.tobytes() for row in copy.vectors]
    return (replace(copy.record, id=RecordId(0)), tuple(copy.passages), rows, copy.stale)


def place(copy: RecordCopy) -> tuple[str, str, int]:
    return copy.record.account, copy.record.uri.text, copy.record.level.value


async def test_an_empty_store_has_no_copies(store: Store) -> None:
    assert await store.copies(None, None, 5) == []
    assert await store.restore([]) == await store.restore([], [])


async def test_copies_come_back_as_they_were_given(store: Store) -> None:
    record = make_record(
        7,
        "viking://user/ann/memories/a.md",
        tags=("lang=en", "b"),
        created_at=NOON,
        updated_at=NOON + timedelta(microseconds=3),
        active_count=5,
        content="ab" * 32,
    )
    record = replace(record, source="cd" * 32, origin="i1", size=9, abstract="说明")
    given_one = make_copy("", "one", "three", record=record)
    done = await store.restore([given_one])
    assert done.written == 1
    assert done.position == await store.position()
    assert [told(copy) for copy in await all_of(store)] == [told(given_one)]


async def test_copies_are_ordered_by_account_address_and_level(store: Store) -> None:
    copies = [
        make_copy("", record=make_record(0, f"viking://{path}", level, account=account))
        for account in ("bolt", "acme")
        for path, level in (
            ("user/ann/a", Level.DETAIL),
            ("resources/b", Level.OVERVIEW),
            ("resources/b", Level.ABSTRACT),
            ("resources/b-c", Level.DETAIL),
            ("resources/b/c", Level.DETAIL),
        )
    ]
    await store.restore(copies)
    assert [place(copy) for copy in await all_of(store)] == sorted(map(place, copies))
    assert [place(copy) for copy in await all_of(store, "acme")] == sorted(map(place, copies[5:]))
    assert await all_of(store, "nobody") == []


async def test_an_answer_ends_before_its_passages_become_too_many(store: Store) -> None:
    texts = [("a", "bb", "ccc"), ("dddd",), ("e",), ("a", "bb", "ccc", "dddd", "eeeee"), ()]
    await store.restore([make_copy(f"resources/{n}", *held) for n, held in enumerate(texts)])
    first = await store.copies(None, None, 9)
    second = await store.copies(None, first[-1].record, 9)
    third = await store.copies(None, second[-1].record, 9)
    fourth = await store.copies(None, third[-1].record, 9)
    assert [len(page) for page in (first, second, third, fourth)] == [2, 1, 1, 1]


async def test_the_same_again_changes_nothing(store: Store) -> None:
    copies = [make_copy("resources/a.md", "one"), make_copy("resources/b.md", "three")]
    first = await store.restore(copies)
    again = await store.restore(copies)
    assert (again.position, again.written) == (first.position, 0)


async def test_a_restored_record_is_logged_with_its_vectors(store: Store) -> None:
    await store.restore([make_copy("resources/a.md", "one", "three")])
    (change,) = await store.changes(0, 9)
    assert change.vectors is not None
    assert np.array_equal(change.vectors, np.stack([unit(3), unit(5)]))
    assert await store.pending(9) == []


@pytest.mark.parametrize(
    "change",
    [
        {"abstract": "other"},
        {"tags": ("z",)},
        {"created_at": NOON - timedelta(days=1)},
        {"updated_at": NOON + timedelta(days=1)},
        {"active_count": 8},
        {"content": "ef" * 32},
        {"origin": "i2"},
        {"size": 77},
    ],
)
async def test_what_differs_is_replaced_and_keeps_its_id(
    store: Store, change: dict[str, object]
) -> None:
    await store.restore([make_copy("resources/a.md", "one")])
    (before,) = await all_of(store)
    record = replace(before.record, **change)  # type: ignore[arg-type]
    done = await store.restore([make_copy("", "one", record=record)])
    (after,) = await all_of(store)
    assert after.record == record
    assert done.written == 1
    assert [entry.id for entry in await store.changes(0, 9)] == [before.record.id]


async def test_other_passages_replace_those_before_and_their_vectors(store: Store) -> None:
    await store.restore([make_copy("resources/a.md", "one", "three")])
    await store.restore([make_copy("resources/a.md", "three", "seventh")])
    assert [told(copy) for copy in await all_of(store)] == [
        told(make_copy("resources/a.md", "three", "seventh"))
    ]
    assert (await store.counts())["vectors"] == 2


async def test_texts_without_a_vector_wait_for_the_embedder(store: Store) -> None:
    await store.restore([make_copy("resources/a.md", "one", vectors=False)])
    assert [text.text for text in await store.pending(9)] == ["one"]
    assert (await all_of(store))[0].vectors == [None]


async def test_a_vector_that_is_there_serves_the_same_text(store: Store) -> None:
    await store.restore([make_copy("resources/a.md", "one")])
    await store.restore([make_copy("resources/b.md", "one", vectors=False)])
    assert await store.pending(9) == []
    assert all(copy.vectors[0] is not None for copy in await all_of(store))


async def test_a_vector_that_arrives_serves_who_waited_for_it(store: Store) -> None:
    await store.restore([make_copy("resources/a.md", "one", vectors=False)])
    before = await store.position()
    await store.restore([make_copy("resources/b.md", "one")])
    named = {change.record.name for change in await store.changes(before, 9) if change.record}
    assert named == {"a.md", "b.md"}
    assert await store.pending(9) == []


async def test_the_same_record_may_bring_its_vectors_later(store: Store) -> None:
    await store.restore([make_copy("resources/a.md", "one", vectors=False)])
    before = await store.position()
    await store.restore([make_copy("resources/a.md", "one")])
    (change,) = await store.changes(before, 9)
    assert change.vectors is not None


async def test_a_directory_is_stale_when_its_copy_says_so(store: Store) -> None:
    fresh = make_copy("resources/a", level=Level.ABSTRACT)
    stale = make_copy("resources/b", level=Level.ABSTRACT, stale=True)
    await store.restore([fresh, stale])
    assert [place.uri.name for place in await store.stale(9)] == ["b"]
    assert [copy.stale for copy in await all_of(store)] == [False, True]


async def test_a_directory_whose_summary_was_another_one_is_stale(store: Store) -> None:
    before = make_copy("resources/a", level=Level.ABSTRACT)
    await store.restore([before])
    other = replace(before.record, abstract="another")
    await store.restore([make_copy("", record=other)])
    assert [place.uri.name for place in await store.stale(9)] == ["a"]


async def test_what_is_ensured_is_made_only_where_nothing_is(store: Store) -> None:
    known = make_copy("resources/a", level=Level.ABSTRACT)
    await store.restore([known])
    other = make_copy("", record=replace(known.record, abstract="another"))
    made = make_copy("resources/b", level=Level.ABSTRACT)
    done = await store.restore([], [other, made])
    assert done.written == 1
    assert [told(copy) for copy in await all_of(store)] == [
        told(known),
        told(replace(made, stale=True)),
    ]


@pytest.mark.parametrize(
    ("path", "level"),
    [
        ("resources/a/file.md", Level.DETAIL),
        ("resources/a/b/file.md", Level.DETAIL),
        ("resources/a/b", Level.ABSTRACT),
        ("resources/a", Level.ABSTRACT),
        ("resources/d", Level.DETAIL),
    ],
)
async def test_a_file_is_no_directory_and_a_batch_is_whole_or_nothing(
    store: Store, path: str, level: Level
) -> None:
    await store.restore([make_copy("resources/a", "one"), make_copy("resources/d/e.md", "three")])
    before = [told(copy) for copy in await all_of(store)]
    position = await store.position()
    with pytest.raises(ConflictError):
        await store.restore([make_copy("resources/0.md", "new"), make_copy(path, level=level)])
    assert [told(copy) for copy in await all_of(store)] == before
    assert await store.position() == position


async def test_a_file_cannot_come_where_the_same_batch_made_a_directory(store: Store) -> None:
    with pytest.raises(ConflictError):
        await store.restore(
            [
                make_copy("resources/x/y/z.md"),
                make_copy("resources/x/w.md"),
                make_copy("resources/x/y"),
            ]
        )


async def test_a_restored_record_is_as_one_that_was_committed(store: Store) -> None:
    address = Uri.parse("viking://resources/a.md")
    passage = make_passage(0, "Head", "text", "docs > a")
    put = RecordDraft(
        address, Level.DETAIL, make_record().context_type, "about a.md", (passage,), ("t",)
    )
    await store.restore([RecordCopy(replace(make_record(), tags=("t",)), (passage,), [unit(1)])])
    before = await store.position()
    done = await store.commit(Commit("acme", NOON + timedelta(hours=1), put=(put,)))
    assert done.position == before


def _copies(log: Sequence[Change]) -> list[RecordCopy]:
    """Return copies of what a random log leaves, one for each place, files and directories apart."""
    found: dict[tuple[str, str, int], RecordCopy] = {}
    for change in last_changes(log).values():
        assert change.record is not None
        vectors = [None] * len(change.passages) if change.vectors is None else change.vectors
        copy = RecordCopy(change.record, change.passages, list(vectors))
        found[place(copy)] = copy
    files = {(at[0], at[1]) for at in found if at[2] == Level.DETAIL}
    return [copy for at, copy in found.items() if not _hides(files, at)]


def _hides(files: set[tuple[str, str]], at: tuple[str, str, int]) -> bool:
    """Whether a file stands at or above an address where something else is."""
    uri = Uri(at[1])
    higher = (at[0], uri.text) in files and at[2] != Level.DETAIL
    while uri.parent is not None:
        uri = uri.parent
        higher = higher or (at[0], uri.text) in files
    return higher


async def _copied(backend: str, copies: Sequence[RecordCopy], limit: int, directory: Path) -> None:
    memory = MemoryRecordStore()
    async with opened(backend, directory) as other:
        first, second = await memory.restore(copies), await other.restore(copies)
        assert first == second
        there = await all_of(memory, limit=limit)
        same = await all_of(other, limit=limit)
        assert list(map(told, there)) == list(map(told, same))
        wanted = {place(copy): replace(copy.record, id=RecordId(0)) for copy in copies}
        found = {place(copy): replace(copy.record, id=RecordId(0)) for copy in there}
        assert found == wanted
        assert (await other.restore(await all_of(other))).written == 0


@pytest.mark.parametrize(("backend", "examples"), HELD_TO_MEMORY)
def test_copies_of_random_trees_are_the_same_in_every_store(backend: str, examples: int) -> None:
    @settings(max_examples=examples, deadline=None)
    @given(logs(60), st.integers(1, 9))
    def check(log: Sequence[Change], limit: int) -> None:
        with tempfile.TemporaryDirectory() as directory:
            asyncio.run(_copied(backend, _copies(log), limit, Path(directory)))

    check()
