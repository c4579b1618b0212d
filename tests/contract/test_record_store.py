"""What every record store promises, sentence by sentence."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import timedelta, timezone
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from contextfind.domain.errors import ConflictError
from contextfind.domain.filters import (
    And,
    Between,
    Contains,
    Everything,
    Not,
    Numbered,
    OneOf,
    Or,
    Prefixed,
    Tagged,
    Used,
)
from contextfind.domain.records import ContextType, Level, Record, RecordId
from contextfind.domain.scope import Scope
from contextfind.domain.uri import ROOT, Uri
from contextfind.ports.reindexing import Extent, Part
from contextfind.ports.store import (
    Backlog,
    Commit,
    PendingText,
    RecordDraft,
    SourceMark,
    StaleDirectory,
)
from tests.builders import NOON, make_passages, unit
from tests.stores import BACKENDS, Store, opened

LATER = NOON + timedelta(hours=1)
ANN = Scope("acme", "ann", (ROOT,))


@pytest.fixture(params=BACKENDS)
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    async with opened(request.param, tmp_path) as made:
        yield made


@pytest.fixture(params=BACKENDS)
async def frugal(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    """Return a store whose changes have at most four passages together."""
    async with opened(request.param, tmp_path, 4) as made:
        yield made


def at(path: str) -> Uri:
    return Uri.parse(f"viking://{path}")


def draft(
    path: str,
    *texts: str,
    level: Level = Level.DETAIL,
    tags: tuple[str, ...] | None = None,
    abstract: str = "about it",
    source: str = "",
    origin: str = "",
) -> RecordDraft:
    return RecordDraft(
        at(path),
        level,
        ContextType.RESOURCE,
        abstract,
        make_passages(*texts),
        tags,
        source=source,
        origin=origin,
    )


def folder(path: str, *texts: str) -> RecordDraft:
    return draft(path, *texts, level=Level.ABSTRACT)


def writing(*drafts: RecordDraft, account: str = "acme") -> Commit:
    return Commit(account, NOON, put=drafts)


def part(path: str) -> Part:
    return Part("acme", at(path), "ann")


async def in_steps(
    step: Callable[[Part, Uri | None, int], Awaitable[Uri | None]], of: Part
) -> None:
    before = await step(of, None, 1)
    while before is not None:
        before = await step(of, before, 1)


async def only(store: Store, path: str, account: str = "acme") -> Record:
    (record,) = await store.at(Scope(account, "ann", (ROOT,)), at(path))
    return record


def paths(records: Sequence[Record] | Sequence[StaleDirectory]) -> list[str]:
    return [record.uri.text.removeprefix("viking://") for record in records]


# what a commit puts


async def test_a_put_record_comes_back_as_written(store: Store) -> None:
    wanted = RecordDraft(
        at("user/ann/memories/a.md"),
        Level.DETAIL,
        ContextType.MEMORY,
        "注意",
        make_passages("one", "two", context="ctx"),
        ("k=v", "z=1"),
        "c" * 64,
        "s" * 64,
        42,
    )
    await store.commit(Commit("acme", NOON, put=[wanted]))
    record = await only(store, "user/ann/memories/a.md")
    assert record == Record(
        id=record.id,
        account="acme",
        owner="ann",
        uri=wanted.uri,
        level=Level.DETAIL,
        context_type=ContextType.MEMORY,
        abstract="注意",
        tags=("k=v", "z=1"),
        created_at=NOON,
        updated_at=NOON,
        content="c" * 64,
        source="s" * 64,
        size=42,
        active_count=0,
    )
    assert await store.passages([(record.id, 1), (record.id, 0)]) == [
        wanted.passages[1],
        wanted.passages[0],
    ]


async def test_what_was_found_is_read_with_one_passage_each(store: Store) -> None:
    names = [f"resources/{number:03d}" for number in range(150)]
    await store.commit(writing(*(draft(name, f"{name} one", f"{name} two") for name in names)))
    records = [await only(store, name) for name in names]
    gone = RecordId(10**9)
    wanted = [(record.id, at % 3) for at, record in enumerate(records)]
    found = await store.found([*wanted[::-1], wanted[0], (gone, 0)])
    passages = await store.passages(wanted)
    pairs = list(zip(records, passages, strict=True))
    assert found == [*pairs[::-1], pairs[0], None]
    assert passages[2] is None
    assert await store.found([]) == []


async def test_times_keep_their_microseconds(store: Store) -> None:
    odd = NOON + timedelta(microseconds=123_457)
    await store.commit(Commit("acme", odd, put=[draft("resources/a")]))
    assert (await only(store, "resources/a")).created_at == odd


async def test_a_put_replaces_but_keeps_id_and_creation(store: Store) -> None:
    await store.commit(writing(draft("resources/a", "old")))
    before = await only(store, "resources/a")
    await store.commit(Commit("acme", LATER, put=[draft("resources/a", "new", abstract="other")]))
    after = await only(store, "resources/a")
    assert (after.id, after.created_at, after.updated_at) == (before.id, NOON, LATER)
    assert after.abstract == "other"
    (passage,) = await store.passages([(after.id, 0)])
    assert passage is not None
    assert passage.text == "new"


async def test_an_address_has_one_record_per_level(store: Store) -> None:
    for level in (Level.OVERVIEW, Level.ABSTRACT):
        await store.commit(writing(draft("resources/d", level=level)))
    assert [record.level for record in await store.at(ANN, at("resources/d"))] == [0, 1]


async def test_two_accounts_may_hold_the_same_address(store: Store) -> None:
    for account in ("acme", "bolt"):
        await store.commit(writing(draft("resources/a", abstract=account), account=account))
    assert (await only(store, "resources/a", "acme")).abstract == "acme"
    assert (await only(store, "resources/a", "bolt")).abstract == "bolt"


async def test_tags_of_none_leave_the_tags_alone(store: Store) -> None:
    await store.commit(writing(draft("resources/a", tags=("k=v",))))
    await store.commit(writing(draft("resources/a", "new", tags=None)))
    assert (await only(store, "resources/a")).tags == ("k=v",)
    await store.commit(writing(draft("resources/a", "new", tags=())))
    assert (await only(store, "resources/a")).tags == ()
    assert await store.select(ANN, Tagged("k=v"), 10) == []


async def test_a_new_record_without_tags_has_none(store: Store) -> None:
    await store.commit(writing(draft("resources/a", tags=None)))
    assert (await only(store, "resources/a")).tags == ()


async def test_an_identical_put_changes_nothing_and_is_not_logged(store: Store) -> None:
    wanted = draft("resources/a", "one", "two", tags=("k=v",))
    first = await store.commit(writing(wanted))
    again = await store.commit(Commit("acme", LATER, put=[wanted]))
    assert again.position == first.position
    assert (await only(store, "resources/a")).updated_at == NOON


async def test_an_identical_put_still_settles_what_is_stale(store: Store) -> None:
    file, stale = draft("resources/d/a"), [at("resources/d")]
    await store.commit(writing(file))
    await store.commit(Commit("acme", LATER, put=[file], stale=stale))
    (marked,) = await store.stale(10)
    assert marked.uri == at("resources/d")
    await store.commit(Commit("acme", LATER, put=[file], fresh=[marked]))
    assert await store.stale(10) == []


@pytest.mark.parametrize(
    "changed",
    [
        draft("resources/a", "one", abstract="other"),
        draft("resources/a", "one", tags=("k=w",)),
        draft("resources/a", "one", source="5" * 64),
        draft("resources/a", "one", "two"),
        draft("resources/a"),
        RecordDraft(
            at("resources/a"), Level.DETAIL, ContextType.SKILL, "about it", make_passages("one")
        ),
        RecordDraft(
            at("resources/a"),
            Level.DETAIL,
            ContextType.RESOURCE,
            "about it",
            make_passages("one"),
            size=7,
        ),
        RecordDraft(
            at("resources/a"),
            Level.DETAIL,
            ContextType.RESOURCE,
            "about it",
            make_passages("one"),
            content="c",
        ),
    ],
)
async def test_any_other_field_makes_a_change(store: Store, changed: RecordDraft) -> None:
    first = await store.commit(writing(draft("resources/a", "one", tags=("k=v",))))
    second = await store.commit(Commit("acme", LATER, put=[changed]))
    assert second.position == first.position + 1
    assert (await only(store, "resources/a")).updated_at == LATER


async def test_the_last_put_of_an_address_wins(store: Store) -> None:
    await store.commit(
        writing(draft("resources/a", abstract="1"), draft("resources/a", abstract="2"))
    )
    assert (await only(store, "resources/a")).abstract == "2"


async def test_lone_surrogates_become_question_marks_and_nul_stays(store: Store) -> None:
    wanted = draft("resources/a", "x\ud800y\0z", abstract="\udfff", tags=("k=\ud800",))
    first = await store.commit(writing(wanted))
    record = await only(store, "resources/a")
    (passage,) = await store.passages([(record.id, 0)])
    assert passage is not None
    assert (record.abstract, record.tags, passage.text) == ("?", ("k=?",), "x?y\0z")
    assert (await store.commit(writing(wanted))).position == first.position
    assert await store.select(ANN, Tagged("k=\ud800"), 10) == []


# what it ensures, removes and refuses


async def test_ensure_makes_only_what_is_absent(store: Store) -> None:
    await store.commit(writing(draft("resources/a", abstract="mine")))
    wanted = [draft("resources/a", abstract="other"), draft("resources/b", abstract="other")]
    await store.commit(Commit("acme", LATER, ensure=wanted))
    assert (await only(store, "resources/a")).abstract == "mine"
    assert (await only(store, "resources/b")).abstract == "other"


async def test_put_comes_before_ensure(store: Store) -> None:
    await store.commit(
        Commit(
            "acme",
            NOON,
            put=[draft("resources/a", abstract="put")],
            ensure=[draft("resources/a", abstract="ensured")],
        )
    )
    assert (await only(store, "resources/a")).abstract == "put"


async def test_remove_takes_the_address_and_all_below_in_every_level(store: Store) -> None:
    kept = ("resources/d-e", "resources/d0", "resources/D/a", "resources/x")
    await store.commit(
        writing(
            folder("resources/d"),
            draft("resources/d", level=Level.OVERVIEW),
            draft("resources/d/a", "text"),
            draft("resources/d/e/f/g"),
            *map(draft, kept),
        )
    )
    await store.commit(writing(draft("resources/d/a"), account="bolt"))
    done = await store.commit(Commit("acme", LATER, remove=[at("resources/d")]))
    assert done.removed == 4
    assert paths(await store.below(ANN, ROOT, 100)) == sorted(kept)
    assert (await store.counts("bolt"))["records"] == 1


async def test_removing_nothing_is_harmless(store: Store) -> None:
    done = await store.commit(Commit("acme", NOON, remove=[at("resources/none")]))
    assert (done.position, done.removed) == (0, 0)


async def test_the_root_can_be_removed(store: Store) -> None:
    await store.commit(writing(draft("resources/a"), draft("user/ann/b"), draft("agent/文")))
    assert (await store.commit(Commit("acme", NOON, remove=[ROOT]))).removed == 3
    assert (await store.counts())["records"] == 0


async def test_remove_comes_before_put_and_an_id_is_never_used_again(store: Store) -> None:
    await store.commit(writing(draft("resources/a")))
    before = await only(store, "resources/a")
    done = await store.commit(
        Commit("acme", LATER, remove=[at("resources/a")], put=[draft("resources/a/b")])
    )
    assert done.removed == 1
    assert (await only(store, "resources/a/b")).id > before.id
    await store.commit(Commit("acme", LATER, remove=[at("resources/a/b")]))
    await store.commit(writing(draft("resources/c")))
    assert (await only(store, "resources/c")).id > before.id + 1


@pytest.mark.parametrize(
    ("there", "wanted"),
    [
        (draft("resources/a"), draft("resources/a/b")),
        (draft("resources/a"), draft("resources/a/b/c")),
        (draft("resources/a"), folder("resources/a")),
        (folder("resources/a"), draft("resources/a")),
        (draft("resources/a/b"), draft("resources/a")),
        (folder("resources/a/b"), draft("resources/a")),
    ],
)
async def test_a_file_and_a_directory_cannot_share_an_address(
    store: Store, there: RecordDraft, wanted: RecordDraft
) -> None:
    await store.commit(writing(there))
    with pytest.raises(ConflictError, match=wanted.uri.text):
        await store.commit(writing(draft("resources/z"), wanted))
    with pytest.raises(ConflictError):
        await store.commit(Commit("acme", NOON, ensure=[wanted]))
    assert await store.at(ANN, at("resources/z")) == []
    assert await store.position() == 1


async def test_neighbours_in_the_alphabet_are_no_conflict(store: Store) -> None:
    await store.commit(writing(draft("resources/a"), draft("resources/a-b"), draft("resources/a0")))
    assert (await store.counts())["files"] == 3


async def test_a_conflict_within_one_commit_writes_nothing(store: Store) -> None:
    with pytest.raises(ConflictError):
        await store.commit(writing(draft("resources/a/b"), draft("resources/a")))
    assert (await store.counts())["records"] == 0
    assert await store.position() == 0


# what it marks stale and fresh


async def test_stale_directories_come_deepest_first(store: Store) -> None:
    stale = [at("resources"), at("resources/d/e"), at("resources/b"), at("resources/d")]
    await store.commit(
        Commit("acme", NOON, put=[draft("resources/d/e/f"), folder("resources/b")], stale=stale)
    )
    assert paths(await store.stale(10)) == [
        "resources/d/e",
        "resources/b",
        "resources/d",
        "resources",
    ]
    assert paths(await store.stale(1)) == ["resources/d/e"]


async def test_only_a_directory_that_is_there_stays_stale(store: Store) -> None:
    stale = [at("resources/none"), at("resources/a"), at("resources/d")]
    await store.commit(
        Commit("acme", NOON, put=[draft("resources/a"), folder("resources/d")], stale=stale)
    )
    assert paths(await store.stale(10)) == ["resources/d"]
    await store.commit(Commit("acme", NOON, remove=[at("resources/d")], stale=[at("resources/d")]))
    assert await store.stale(10) == []


async def test_a_directory_that_lost_its_last_file_is_not_stale_any_more(store: Store) -> None:
    await store.commit(
        Commit("acme", NOON, put=[draft("resources/d/e/a")], stale=[at("resources/d")])
    )
    await store.commit(Commit("acme", NOON, remove=[at("resources/d/e/a")]))
    assert await store.stale(10) == []


async def test_removing_makes_no_parent_stale_by_itself(store: Store) -> None:
    await store.commit(writing(folder("resources/d"), draft("resources/d/a")))
    await store.commit(Commit("acme", NOON, remove=[at("resources/d/a")]))
    assert await store.stale(10) == []


async def test_fresh_takes_the_mark_away_unless_it_was_marked_again(store: Store) -> None:
    stale = Commit("acme", NOON, put=[folder("resources/d")], stale=[at("resources/d")])
    await store.commit(stale)
    (old,) = await store.stale(10)
    await store.commit(stale)
    (new,) = await store.stale(10)
    assert new.mark != old.mark
    await store.commit(Commit("acme", NOON, fresh=[old]))
    assert await store.stale(10) == [new]
    await store.commit(Commit("acme", NOON, fresh=[new]))
    assert await store.stale(10) == []


def summary(path: str, abstract: str) -> list[RecordDraft]:
    return [
        draft(path, level=level, abstract=abstract) for level in (Level.ABSTRACT, Level.OVERVIEW)
    ]


async def test_a_summary_is_written_while_its_mark_stands(store: Store) -> None:
    await store.commit(Commit("acme", NOON, put=[folder("resources/d")], stale=[at("resources/d")]))
    fresh = await store.stale(10)
    await store.commit(Commit("acme", LATER, put=summary("resources/d", "new"), fresh=fresh))
    assert [record.abstract for record in await store.at(ANN, at("resources/d"))] == ["new", "new"]
    assert await store.stale(10) == []


async def test_a_summary_does_not_bring_a_removed_directory_back(store: Store) -> None:
    marked = Commit("acme", NOON, put=[draft("resources/d/a")], stale=[at("resources/d")])
    await store.commit(marked)
    old = await store.stale(10)
    await store.commit(Commit("acme", NOON, remove=[at("resources/d")]))
    late = Commit(
        "acme", LATER, put=[*summary("resources/d", "x"), draft("resources/z")], fresh=old
    )
    await store.commit(late)
    assert paths(await store.below(ANN, ROOT, 10)) == ["resources/z"]
    assert await store.stale(10) == []
    await store.commit(marked)
    await store.commit(Commit("acme", NOON, remove=[at("resources/d")], put=late.put, fresh=old))
    assert paths(await store.below(ANN, ROOT, 10)) == ["resources/z"]


async def test_a_summary_is_no_conflict_with_the_file_that_took_its_directorys_place(
    store: Store,
) -> None:
    await store.commit(
        Commit("acme", NOON, put=[draft("resources/d/e/a")], stale=[at("resources/d/e")])
    )
    old = await store.stale(10)
    await store.commit(
        Commit("acme", NOON, remove=[at("resources/d")], put=[draft("resources/d", abstract="f")])
    )
    await store.commit(Commit("acme", LATER, put=summary("resources/d/e", "x"), fresh=old))
    assert (await only(store, "resources/d")).abstract == "f"
    assert (await store.counts())["records"] == 1


async def test_a_summary_older_than_the_last_mark_is_not_written(store: Store) -> None:
    stale = Commit("acme", NOON, put=[folder("resources/d")], stale=[at("resources/d")])
    await store.commit(stale)
    old = await store.stale(10)
    await store.commit(stale)
    new = await store.stale(10)
    await store.commit(Commit("acme", LATER, put=summary("resources/d", "old"), fresh=old))
    assert (await only(store, "resources/d")).abstract == "about it"
    assert await store.stale(10) == new


async def test_a_summary_goes_by_the_mark_of_its_own_account(store: Store) -> None:
    await store.commit(Commit("acme", NOON, put=[folder("resources/d")], stale=[at("resources/d")]))
    acmes = await store.stale(10)
    await store.commit(Commit("bolt", LATER, put=summary("resources/d", "x"), fresh=acmes))
    assert (await store.counts("bolt"))["records"] == 0
    assert await store.stale(10) == acmes


async def test_a_file_is_put_whatever_the_marks_say(store: Store) -> None:
    gone = StaleDirectory("acme", at("resources/d"), 99)
    await store.commit(Commit("acme", NOON, put=[draft("resources/d")], fresh=[gone]))
    assert (await store.counts())["files"] == 1


async def test_stale_wins_over_fresh_in_one_commit(store: Store) -> None:
    stale = Commit("acme", NOON, put=[folder("resources/d")], stale=[at("resources/d")])
    await store.commit(stale)
    fresh = await store.stale(10)
    await store.commit(Commit("acme", NOON, stale=[at("resources/d")], fresh=fresh))
    assert len(await store.stale(10)) == 1


async def test_a_mark_belongs_to_its_account(store: Store) -> None:
    for account in ("acme", "bolt"):
        await store.commit(
            Commit(account, NOON, put=[folder("resources/d")], stale=[at("resources/d")])
        )
    first, second = await store.stale(10)
    assert (first.account, second.account) == ("acme", "bolt")
    await store.commit(Commit("bolt", NOON, remove=[ROOT]))
    assert await store.stale(10) == [first]
    await store.commit(Commit("bolt", NOON, fresh=[first]))
    assert await store.stale(10) == [first]


# vectors


def digests(item: RecordDraft) -> list[str]:
    return [passage.digest for passage in item.passages]


async def test_pending_texts_are_those_of_files_first_then_as_they_came(store: Store) -> None:
    await store.commit(writing(folder("resources/d", "dir"), draft("resources/d/b", "2", "3")))
    await store.commit(writing(draft("resources/d/a", "1", "2")))
    assert [item.text for item in await store.pending(10)] == ["2", "3", "1", "dir"]
    assert [item.text for item in await store.pending(2)] == ["2", "3"]
    assert await store.pending(0) == []


async def test_a_pending_text_has_its_context_and_digest(store: Store) -> None:
    (passage,) = make_passages("body", context="path")
    await store.commit(
        writing(RecordDraft(at("resources/a"), Level.DETAIL, ContextType.RESOURCE, "", [passage]))
    )
    assert await store.pending(10) == [PendingText(passage.digest, "path\nbody")]


async def test_equal_texts_share_one_vector(store: Store) -> None:
    one, two = draft("resources/a", "same"), draft("resources/b", "same")
    await store.commit(writing(one, two))
    assert len(await store.pending(10)) == 1
    before = await store.position()
    assert await store.add_vectors([(digests(one)[0], unit(1))]) == before + 2
    assert await store.pending(10) == []
    for change in await store.changes(0, 10):
        assert change.vectors is not None
        np.testing.assert_array_equal(change.vectors, unit(1)[None])


async def test_a_record_is_logged_when_its_last_vector_came(store: Store) -> None:
    item = draft("resources/a", "one", "two")
    start = (await store.commit(writing(item))).position
    first, second = digests(item)
    assert await store.add_vectors([(first, unit(1))]) == start
    (change,) = await store.changes(0, 10)
    assert change.vectors is None
    assert await store.add_vectors([(second, unit(2))]) == start + 1
    (change,) = await store.changes(0, 10)
    assert change.vectors is not None
    assert change.vectors.dtype == np.float32
    np.testing.assert_array_equal(change.vectors, np.stack([unit(1), unit(2)]))
    assert await store.add_vectors([(second, unit(2))]) == start + 1


async def test_a_vector_nobody_asks_for_is_not_kept(store: Store) -> None:
    item = draft("resources/a", "one")
    assert await store.add_vectors([(digests(item)[0], unit(1))]) == 0
    await store.commit(writing(item))
    assert len(await store.pending(10)) == 1


async def test_vectors_without_a_passage_are_dropped(store: Store) -> None:
    one, two = draft("resources/a", "x", "y"), draft("resources/b", "y")
    await store.commit(writing(one, two))
    await store.add_vectors([(digest, unit(1)) for digest in digests(one)])
    await store.commit(Commit("acme", NOON, remove=[one.uri]))
    assert (await store.counts())["vectors"] == 1
    await store.commit(writing(draft("resources/c", "x", "y")))
    assert [item.text for item in await store.pending(10)] == ["x"]
    await store.commit(writing(draft("resources/b", "z"), draft("resources/c", "z")))
    assert (await store.counts())["vectors"] == 0


async def test_a_known_text_needs_no_new_vector(store: Store) -> None:
    item = draft("resources/a", "x")
    await store.commit(writing(item))
    await store.add_vectors([(digests(item)[0], unit(1))])
    await store.commit(Commit("acme", NOON, remove=[item.uri], put=[draft("resources/b", "x")]))
    change = (await store.changes(0, 10))[-1]
    assert change.vectors is not None
    assert await store.pending(10) == []


async def test_a_record_without_passages_never_has_vectors(store: Store) -> None:
    await store.commit(writing(draft("resources/a")))
    (change,) = await store.changes(0, 10)
    assert (list(change.passages), change.vectors) == ([], None)
    assert await store.backlog() == Backlog(0, 0)


async def test_forgetting_all_vectors_makes_every_text_pending_again(store: Store) -> None:
    item = draft("resources/a", "x", "y")
    await store.commit(writing(item, draft("resources/empty")))
    await store.add_vectors([(digest, unit(1)) for digest in digests(item)])
    before = await store.position()
    assert await store.forget_vectors() == before + 1
    assert len(await store.pending(10)) == 2
    assert (await store.counts())["vectors"] == 0
    assert (await store.changes(before, 10))[0].vectors is None


async def test_records_are_embedded_again_and_logged_with_those_that_share_a_text(
    store: Store,
) -> None:
    item, other = draft("resources/a", "x", "y"), draft("resources/b", "y")
    await store.commit(writing(item, other, draft("resources/empty")))
    await store.add_vectors([(digest, unit(1)) for digest in digests(item)])
    ids = [(await only(store, f"resources/{name}")).id for name in ("a", "empty")]
    before = await store.position()
    assert await store.embed_again([*ids, RecordId(99)]) == before + 1
    assert [text.text for text in await store.pending(10)] == ["x", "y"]
    (change,) = await store.changes(before, 10)
    assert (change.id, change.vectors) == (ids[0], None)
    await store.add_vectors([(digest, unit(1)) for digest in digests(item)])
    assert {change.id for change in await store.changes(before, 10)} == {
        ids[0],
        (await only(store, "resources/b")).id,
    }


async def test_a_part_of_the_tree_is_logged_again_but_not_what_others_own(store: Store) -> None:
    names = ["resources/d/a", "resources/d/b", "resources/e", "user/ann/n", "user/ben/n"]
    await store.commit(writing(*(draft(name, name) for name in names)))
    await store.commit(writing(draft("resources/d/a", "x"), account="bolt"))
    before = await store.position()
    await in_steps(store.log_again, part("resources/d"))
    again = [change.record for change in await store.changes(before, 9)]
    assert sorted(paths([record for record in again if record])) == names[:2]
    await in_steps(store.log_again, Part("acme", ROOT, "ann"))
    assert await store.position() == before + 2 + 4
    await in_steps(store.log_again, part("resources/none"))
    assert await store.position() == before + 2 + 4


async def test_a_step_looks_at_so_many_addresses_and_the_next_one_goes_on_before_them(
    store: Store,
) -> None:
    files = [f"resources/d/{name}" for name in "abc"]
    beside = ["resources/d!", "resources/d0", "resources/dd/a"]  # none of them lies in it
    await store.commit(writing(*(draft(path, path) for path in [*files, *beside])))
    overview = draft("resources/d", "all of it", level=Level.OVERVIEW)
    await store.commit(writing(folder("resources/d"), overview))
    whole = part("resources/d")
    stood, before = await store.position(), await store.log_again(whole, None, 2)
    met: list[str] = []
    while before is not None:
        logged = [change.record for change in await store.changes(stood, 9)]
        step = {record.uri.text.removeprefix("viking://") for record in logged if record}
        assert len(step) <= 2
        met += sorted(step, reverse=True)
        stood = await store.position()
        before = await store.log_again(whole, before, 2)
    assert met == [*reversed(files), "resources/d"]


async def test_the_extent_of_a_part_of_the_tree_counts_and_names_what_lacks_vectors(
    store: Store,
) -> None:
    parts = [
        draft("resources/d/a", "x", "y"),
        draft("resources/d/b", "x"),
        draft("resources/e", "z"),
    ]
    await store.commit(writing(*parts, draft("resources/d/empty"), draft("user/ben/n", "y")))
    await store.add_vectors([(digests(parts[1])[0], unit(1))])
    assert await store.extent(part("resources/d"), 9) == Extent(2, 1, [at("resources/d/a")])
    assert await store.extent(Part("acme", ROOT, "ann"), 1) == Extent(3, 2, [at("resources/d/a")])
    assert await store.extent(Part("bolt", ROOT, "ann"), 9) == Extent(0, 0, [])


async def test_directories_of_a_part_are_marked_stale_those_inside_first(store: Store) -> None:
    put = [folder(f"resources/d{rest}") for rest in ("", "/a", "/b", "/b/c")]
    await store.commit(writing(*put, folder("user/ben/n"), draft("resources/d/a/f", "x")))
    await in_steps(store.mark_stale, part("resources/d/b"))
    assert paths(await store.stale(9)) == ["resources/d/b/c", "resources/d/b"]
    await in_steps(store.mark_stale, Part("acme", ROOT, "ann"))
    marked = sorted(await store.stale(9), key=lambda stale: stale.mark)
    assert paths(marked) == [f"resources/d{rest}" for rest in ("/b/c", "/b", "/a", "")]


async def test_the_fingerprint_is_remembered(store: Store) -> None:
    assert await store.fingerprint() is None
    await store.set_fingerprint("hash/8")
    await store.set_fingerprint("hash/16")
    assert await store.fingerprint() == "hash/16"
    await store.forget_vectors()
    assert await store.fingerprint() == "hash/16"
    await store.forget_vectors("hash/32")
    assert await store.fingerprint() == "hash/32"


async def test_the_backlog_counts_below_an_address_and_in_an_account(store: Store) -> None:
    await store.commit(
        Commit(
            "acme",
            NOON,
            put=[draft("resources/d/a", "x", "y"), draft("resources/e", "y", "z")],
            stale=[at("resources"), at("resources/d")],
        )
    )
    await store.commit(writing(draft("resources/d/a", "w"), account="bolt"))
    assert await store.backlog() == Backlog(4, 2)
    assert (await store.backlog()).position == await store.position() > 0
    assert await store.backlog("acme") == Backlog(3, 2)
    assert await store.backlog("acme", at("resources/d")) == Backlog(2, 1)
    assert await store.backlog(under=at("resources/d")) == Backlog(3, 1)
    assert await store.backlog("acme", ROOT) == Backlog(3, 2)
    assert await store.backlog("none") == Backlog(0, 0)


async def test_the_backlog_of_a_user_leaves_out_the_trees_of_others(store: Store) -> None:
    put = [draft("user/ann/memories/a", "x"), draft("user/ann2/b", "y"), draft("resources/c", "z")]
    stale = ["user", "user/ann", "user/ann/memories", "user/ann2", "user/zoe", "resources"]
    put.append(draft("user/zoe/d", "z"))
    await store.commit(Commit("acme", NOON, put=put, stale=[at(path) for path in stale]))
    assert await store.backlog("acme") == Backlog(3, 6)
    assert await store.backlog("acme", user="ann") == Backlog(2, 4)
    assert await store.backlog("acme", user="ann2") == Backlog(2, 3)
    assert await store.backlog("acme", at("user"), "zoe") == Backlog(1, 2)
    assert await store.backlog("acme", at("user/ann"), "zoe") == Backlog(0, 0)
    assert await store.backlog("acme", user="nobody") == Backlog(1, 2)
    assert await store.backlog("bolt", user="ann") == Backlog(0, 0)


# reading


async def test_records_come_in_the_order_asked(store: Store) -> None:
    await store.commit(writing(draft("resources/a"), draft("resources/b")))
    a, b = await only(store, "resources/a"), await only(store, "resources/b")
    assert await store.get([b.id, RecordId(999), a.id, b.id]) == [b, None, a, b]
    assert await store.get([]) == []


async def test_passages_come_in_the_order_asked(store: Store) -> None:
    await store.commit(writing(draft("resources/a", "x", "y")))
    record = await only(store, "resources/a")
    found = await store.passages(
        [(record.id, 1), (record.id, 2), (RecordId(99), 0), (record.id, 0)]
    )
    assert [passage and passage.text for passage in found] == ["y", None, None, "x"]


async def test_children_are_files_and_directories_by_name(store: Store) -> None:
    await store.commit(
        writing(
            folder("resources/d"),
            draft("resources/d", level=Level.OVERVIEW),
            draft("resources/d/deep"),
            draft("resources/d2"),
            draft("resources/C"),
            draft("resources/中"),
        )
    )
    listed = await store.children(ANN, at("resources"))
    assert paths(listed) == ["resources/C", "resources/d", "resources/d2", "resources/中"]
    assert [record.level for record in listed] == [2, 0, 2, 2]
    assert await store.children(ANN, at("resources/none")) == []
    assert paths(await store.children(ANN, at("resources"), 2)) == ["resources/C", "resources/d"]
    assert paths(await store.children(ANN, at("resources"), 2, 1)) == [
        "resources/d",
        "resources/d2",
    ]
    assert paths(await store.children(ANN, at("resources"), None, 3)) == ["resources/中"]
    assert await store.children(ANN, at("resources"), 2, 4) == []


async def test_below_goes_to_any_depth_by_address(store: Store) -> None:
    await store.commit(
        writing(
            folder("resources/d"),
            folder("resources/d/e"),
            draft("resources/d/e", level=Level.OVERVIEW),
            draft("resources/d/e/f"),
            draft("resources/d/e-f"),
            draft("resources/d-e"),
        )
    )
    assert paths(await store.below(ANN, at("resources/d"), 10)) == [
        "resources/d/e",
        "resources/d/e-f",
        "resources/d/e/f",
    ]
    assert paths(await store.below(ANN, at("resources/d"), 2)) == [
        "resources/d/e",
        "resources/d/e-f",
    ]
    assert paths(await store.below(ANN, at("resources"), 10, 1)) == ["resources/d", "resources/d-e"]
    assert paths(await store.below(ANN, at("resources"), 10, 2)) == [
        "resources/d",
        "resources/d-e",
        "resources/d/e",
        "resources/d/e-f",
    ]
    assert paths(await store.below(ANN, ROOT, 3, 3)) == [
        "resources/d",
        "resources/d-e",
        "resources/d/e",
    ]
    assert await store.below(ANN, ROOT, 10, 1) == []
    pages = [await store.below(ANN, at("resources"), 2, 2)]
    while pages[-1]:
        pages.append(await store.below(ANN, at("resources"), 2, 2, pages[-1][-1].uri))
    assert [paths(page) for page in pages] == [
        ["resources/d", "resources/d-e"],
        ["resources/d/e", "resources/d/e-f"],
        [],
    ]


async def test_a_scope_shows_only_its_account_its_user_and_its_targets(store: Store) -> None:
    await store.commit(
        writing(
            folder("user/ann"),
            folder("user/ben"),
            draft("user/ann/memories/a"),
            draft("user/ben/memories/b"),
            draft("resources/c"),
            draft("resources/d/e"),
        )
    )
    await store.commit(writing(draft("resources/other"), account="bolt"))
    everything = {"user/ann", "user/ann/memories/a", "resources/c", "resources/d/e"}
    assert set(paths(await store.below(ANN, ROOT, 99))) == everything
    assert set(paths(await store.select(ANN, Everything(), 99))) == everything
    assert paths(await store.children(ANN, at("user"))) == ["user/ann"]
    assert await store.at(ANN, at("user/ben/memories/b")) == []
    narrow = Scope("acme", "ann", (at("resources/d"), at("user/ann/memories")))
    inside = {"user/ann/memories/a", "resources/d/e"}
    assert set(paths(await store.below(narrow, ROOT, 99))) == inside
    later = await store.below(narrow, ROOT, 99, after=at("resources/d/e"))
    assert paths(later) == ["user/ann/memories/a"]
    assert set(paths(await store.select(narrow, Everything(), 99))) == inside
    assert await store.children(narrow, at("resources")) == []
    asked = [at("resources"), at("resources/c"), at("resources/d/e"), at("user/ben"), ROOT]
    assert await store.known(narrow, asked) == [True, False, True, False, True]


async def test_a_scope_without_targets_shows_nothing(store: Store) -> None:
    await store.commit(writing(draft("resources/a")))
    nothing = Scope("acme", "ann", ())
    assert await store.select(nothing, Everything(), 9) == []
    assert await store.below(nothing, ROOT, 9) == []
    assert await store.children(nothing, at("resources")) == []
    assert await store.at(nothing, at("resources/a")) == []
    assert await store.known(nothing, [at("resources/a")]) == [False]


async def test_known_means_stored_at_or_below(store: Store) -> None:
    await store.commit(writing(draft("resources/d/e/f")))
    asked = ["resources", "resources/d", "resources/d/e/f", "resources/d/e/f/g", "resources/d0"]
    assert await store.known(ANN, [at(path) for path in asked]) == [True, True, True, False, False]
    assert await store.known(ANN, []) == []


async def test_select_is_newest_first_then_by_address_and_level(store: Store) -> None:
    await store.commit(writing(draft("resources/b"), draft("resources/a")))
    await store.commit(
        Commit(
            "acme",
            LATER,
            put=[draft("resources/d", level=Level.OVERVIEW), folder("resources/d")],
        )
    )
    found = await store.select(ANN, Everything(), 9)
    assert [(record.uri.name, record.level) for record in found] == [
        ("d", 0),
        ("d", 1),
        ("a", 2),
        ("b", 2),
    ]
    assert await store.select(ANN, Everything(), 2) == found[:2]


async def test_sources_are_those_of_the_files_at_or_below(store: Store) -> None:
    await store.commit(
        writing(
            folder("resources/d"),
            draft("resources/d/a", source="1", origin="tree d"),
            draft("resources/d/b"),
            draft("resources/e", source="2"),
            draft("user/ben/x", source="3"),
        )
    )
    assert await store.sources("acme", at("resources/d")) == {
        at("resources/d/a"): SourceMark("1", "tree d"),
        at("resources/d/b"): SourceMark("", ""),
    }
    assert await store.sources("acme", at("resources/e")) == {
        at("resources/e"): SourceMark("2", "")
    }
    assert len(await store.sources("acme", ROOT)) == 4
    assert await store.sources("bolt", ROOT) == {}


async def test_touch_counts_uses_and_never_enters_the_log(store: Store) -> None:
    await store.commit(writing(draft("resources/a"), draft("resources/b")))
    a, b = await only(store, "resources/a"), await only(store, "resources/b")
    before = await store.position()
    await store.touch([a.id, b.id, a.id, RecordId(77)])
    assert (await only(store, "resources/a")).active_count == 2
    assert (await only(store, "resources/b")).active_count == 1
    assert await store.position() == before
    await store.commit(writing(draft("resources/a", "new")))
    assert (await only(store, "resources/a")).active_count == 2


async def test_counts_say_how_many_of_each(store: Store) -> None:
    item = draft("resources/d/a", "x", "y")
    await store.commit(
        writing(folder("resources/d", "y"), draft("resources/d", level=Level.OVERVIEW), item)
    )
    await store.commit(writing(draft("resources/a", "x"), account="bolt"))
    await store.add_vectors([(digests(item)[0], unit(1))])
    assert await store.counts() == {
        "accounts": 2,
        "records": 4,
        "files": 2,
        "directories": 1,
        "passages": 4,
        "vectors": 1,
    }
    assert (await store.counts("bolt"))["passages"] == 1
    assert (await store.counts("none")) == dict.fromkeys(await store.counts(), 0)


async def test_the_counts_of_a_user_leave_out_the_trees_of_others(store: Store) -> None:
    private, shared = draft("user/ann/memories/a", "x", "y"), draft("resources/c", "z")
    await store.commit(writing(folder("user/ann/memories", "w"), private, shared))
    await store.commit(writing(draft("user/ann/memories/a", "x"), account="bolt"))
    await store.add_vectors([(digest, unit(1)) for digest in digests(private)])
    only_shared = {"accounts": 1, "records": 1, "files": 1, "directories": 0, "passages": 1}
    assert await store.counts("acme", "bob") == only_shared | {"vectors": 0}
    assert await store.counts("acme", "an") == only_shared | {"vectors": 0}
    assert await store.counts("acme", "ann") == await store.counts("acme")
    assert (await store.counts("acme", "ann"))["vectors"] == 2
    assert (await store.counts("bolt", "bob"))["records"] == 0


# the log


async def test_the_log_keeps_the_last_entry_of_each_record(store: Store) -> None:
    await store.commit(writing(draft("resources/a"), draft("resources/b")))
    await store.commit(writing(draft("resources/a", "new")))
    a, b = await only(store, "resources/a"), await only(store, "resources/b")
    changes = await store.changes(0, 10)
    assert [(change.position, change.id) for change in changes] == [(2, b.id), (3, a.id)]
    assert [change.record for change in changes] == [b, a]
    assert [passage.text for passage in changes[1].passages] == ["new"]
    assert [change.id for change in await store.changes(2, 10)] == [a.id]
    assert [change.id for change in await store.changes(0, 1)] == [b.id]
    assert await store.changes(3, 10) == []


async def test_changes_end_before_they_have_too_many_passages_but_leave_none_out(
    frugal: Store,
) -> None:
    sizes = (2, 1, 0, 1, 7, 0, 3, 4)
    for number, size in enumerate(sizes):
        texts = (f"{number}/{part}" for part in range(size))
        await frugal.commit(writing(draft(f"resources/{number}", *texts)))
    await frugal.commit(Commit("acme", NOON, remove=[at("resources/0")]))
    batches, after = [], 0
    while changes := await frugal.changes(after, 3):
        batches.append([len(change.passages) for change in changes])
        after = changes[-1].position
    assert batches == [[1, 0, 1], [7], [0, 3], [4, 0]]
    assert after == await frugal.position()
    assert [change.position for change in await frugal.changes(0, 99)] == [2, 3, 4]
    (huge,) = await frugal.changes(4, 1)
    assert [passage.text for passage in huge.passages] == [f"4/{part}" for part in range(7)]


async def test_a_record_that_is_gone_stays_in_the_log_as_none(store: Store) -> None:
    await store.commit(writing(draft("resources/a", "x")))
    gone = await only(store, "resources/a")
    done = await store.commit(Commit("acme", NOON, remove=[gone.uri]))
    (change,) = await store.changes(0, 10)
    assert (change.position, change.id, change.record) == (done.position, gone.id, None)
    assert (list(change.passages), change.vectors) == ([], None)


async def test_committed_says_where_the_log_stands(store: Store) -> None:
    assert await store.position() == 0
    done = await store.commit(writing(draft("resources/a"), draft("resources/b")))
    assert done.position == 2 == await store.position()
    assert (await store.commit(Commit("acme", NOON))).position == 2


async def test_waiting_ends_when_the_log_moves_beyond(store: Store) -> None:
    await asyncio.wait_for(store.wait_beyond(-1), 20)
    waiter = asyncio.ensure_future(store.wait_beyond(1))
    await store.commit(writing(draft("resources/a")))
    await asyncio.sleep(0.01)
    assert not waiter.done()
    await store.commit(writing(draft("resources/b")))
    await asyncio.wait_for(waiter, 20)


async def test_new_vectors_end_the_wait_too(store: Store) -> None:
    item = draft("resources/a", "x")
    done = await store.commit(writing(item))
    waiter = asyncio.ensure_future(store.wait_beyond(done.position))
    await asyncio.sleep(0)
    await store.add_vectors([(digests(item)[0], unit(1))])
    await asyncio.wait_for(waiter, 20)


async def test_a_cancelled_wait_disturbs_nobody(store: Store) -> None:
    first = asyncio.ensure_future(store.wait_beyond(0))
    second = asyncio.ensure_future(store.wait_beyond(0))
    await asyncio.sleep(0)
    first.cancel()
    await store.commit(writing(draft("resources/a")))
    await asyncio.wait_for(second, 20)
    assert first.cancelled()


async def test_commits_from_many_callers_all_arrive(store: Store) -> None:
    await asyncio.gather(
        *(store.commit(writing(draft(f"resources/{number}"))) for number in range(40))
    )
    assert (await store.counts())["files"] == 40
    assert await store.position() == 40


# filters whose edges random ones seldom meet


@pytest.mark.parametrize("field", ["created_at", "updated_at"])
async def test_both_bounds_of_a_time_are_inclusive(
    store: Store, field: Literal["created_at", "updated_at"]
) -> None:
    await store.commit(writing(draft("resources/a")))
    tick = timedelta(microseconds=1)
    for since, until, found in (
        (NOON, NOON, 1),
        (NOON + tick, None, 0),
        (None, NOON - tick, 0),
        (NOON.astimezone(timezone(timedelta(hours=8))), None, 1),
    ):
        assert len(await store.select(ANN, Between(field, since, until), 9)) == found


async def test_a_prefix_is_plain_text_up_to_the_highest_code_point(store: Store) -> None:
    names = ("\ud7ff", "\ue000", "\U0010ffff", "\U0010ffff\U0010ffffx", "a%", "ab", "A", "a_")
    await store.commit(writing(*(draft(f"resources/{name}") for name in names)))
    for prefix in (*names, "a", "\ud800", "a\0", "\U0010ffff\U0010ffff"):
        where = Prefixed(f"viking://resources/{prefix}")
        found = {record.name for record in await store.select(ANN, where, 99)}
        assert found == {name for name in names if name.startswith(prefix)}
    assert len(await store.select(ANN, Prefixed("\U0010ffff"), 9)) == 0


async def test_one_of_compares_whole_values(store: Store) -> None:
    await store.commit(writing(draft("resources/a"), folder("resources/d")))
    for values, found in ((("02", "2.0"), 0), (("2", "x\0", "\ud800"), 1), ((), 0)):
        where = OneOf("level", frozenset(values))
        assert len(await store.select(ANN, where, 9)) == found
    many = frozenset(str(number) for number in range(40_000)) | {"a"}
    assert len(await store.select(ANN, OneOf("name", many), 9)) == 1


async def test_a_filter_of_very_many_parts_is_answered(store: Store) -> None:
    await store.commit(writing(draft("resources/a", tags=("k=v",))))
    parts = tuple(Tagged(f"k={number}") for number in range(3_000))
    assert len(await store.select(ANN, Or((*parts, Tagged("k=v"))), 9)) == 1
    assert len(await store.select(ANN, And(tuple(map(Not, parts))), 9)) == 1


async def test_a_substring_is_compared_character_by_character(store: Store) -> None:
    names = ("50% off_now", "Rollback", "rollback", "ab", "回滚步骤", "\xe9")
    texts = ("50% off_now", "Rollback", "rollback", "a\0b", "回滚步骤", "e\u0301")
    drafts = [
        draft(f"resources/{name}", abstract=text) for name, text in zip(names, texts, strict=True)
    ]
    await store.commit(writing(*drafts))
    for part in ("%", "_", "roll", "Roll", "ROLL", "\0", "\0b", "滚步", "\xe9", "\ud800", ""):
        found = {
            record.abstract for record in await store.select(ANN, Contains("abstract", part), 9)
        }
        assert found == {text for text in texts if part in text}
        named = {record.name for record in await store.select(ANN, Contains("name", part), 9)}
        assert named == {name for name in names if part in name}


async def test_a_substring_of_a_tag_lies_within_one_tag(store: Store) -> None:
    await store.commit(
        writing(draft("resources/a", tags=("lang=en", "team=ops")), draft("resources/b"))
    )
    for part, found in (("g=e", 1), ("=", 1), ("enteam", 0), ("en,", 0), ('"', 0), ("", 1)):
        assert len(await store.select(ANN, Contains("tags", part), 9)) == found


async def test_uses_are_compared_as_they_stand_now(store: Store) -> None:
    await store.commit(writing(draft("resources/a"), draft("resources/b")))
    record = await only(store, "resources/a")
    for uses in range(3):
        assert paths(await store.select(ANN, Used(uses, uses), 9)) == (
            ["resources/a", "resources/b"] if uses == 0 else ["resources/a"]
        )
        assert len(await store.select(ANN, Used(uses + 1, None), 9)) == 0
        assert len(await store.select(ANN, Used(None, uses), 9)) == 2
        assert len(await store.select(ANN, Used(None, -1), 9)) == 0
        await store.touch([record.id])


async def test_matching_names_the_ids_of_all_that_match_within_the_scope(store: Store) -> None:
    await store.commit(writing(*(draft(f"resources/{n}", tags=("k=v",)) for n in range(30))))
    await store.commit(writing(draft("user/ben/x", tags=("k=v",))))
    await store.commit(writing(draft("resources/x", tags=("k=v",)), account="bolt"))
    records = await store.select(ANN, Everything(), 99)
    ids = sorted(record.id for record in records)
    assert len(ids) == 30
    assert await store.matching(ANN, [Tagged("k=v"), Tagged("k=w"), Everything()]) == [ids, [], ids]
    assert await store.matching(Scope("acme", "ann", ()), [Everything()]) == [[]]
    assert await store.matching(ANN, []) == []
    numbered = await store.select(ANN, Numbered.of([ids[3], ids[0], RecordId(2**62)]), 9)
    assert sorted(record.id for record in numbered) == [ids[0], ids[3]]
