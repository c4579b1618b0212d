"""What every record store promises of records that are moved or tagged."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from contextfind.domain.errors import (
    AlreadyExistsError,
    ConflictError,
    InvalidArgumentError,
    NotFoundError,
    ResourceExhaustedError,
)
from contextfind.domain.filters import Tagged
from contextfind.domain.records import ContextType, Level, Record
from contextfind.domain.scope import Scope
from contextfind.domain.uri import ROOT, Uri
from contextfind.ports import Commit, Move, RecordDraft, Retag
from contextfind.ports.store import RecordStore
from tests.builders import NOON, make_passages, unit
from tests.stores import BACKENDS, opened

ANN, BEN = Scope("acme", "ann", (ROOT,)), Scope("acme", "ben", (ROOT,))
LATER = NOON + timedelta(hours=1)
DOCS, NEWS = Uri("viking://resources/docs"), Uri("viking://resources/news")
A, B = DOCS.child("a.md"), DOCS.child("deep/b.md")


@pytest.fixture(params=BACKENDS)
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[RecordStore]:
    async with opened(request.param, tmp_path) as made:
        for account in ("acme", "bolt"):
            await made.commit(Commit(account, NOON, put=planted()))
        texts = await made.pending(100)
        await made.add_vectors([(text.digest, unit(len(text.text))) for text in texts])
        yield made


def planted() -> list[RecordDraft]:
    """Return two files in two directories, one of which has a body for its overview."""
    files = [file(A, "one", tags=("k=v", "team=ops")), file(B, "two")]
    return [*files, *folder(DOCS, "1" * 64), *folder(DOCS.child("deep"))]


def file(uri: Uri, text: str, tags: tuple[str, ...] = (), origin: str = "") -> RecordDraft:
    passages = make_passages(text, context="docs > a")
    kind = ContextType.RESOURCE
    return RecordDraft(uri, Level.DETAIL, kind, text, passages, tags, "c" * 64, origin=origin)


def folder(uri: Uri, content: str = "") -> list[RecordDraft]:
    kind = ContextType.RESOURCE
    short = RecordDraft(uri, Level.ABSTRACT, kind, uri.name, make_passages(f"about {uri}"))
    return [short, RecordDraft(uri, Level.OVERVIEW, kind, uri.name, (), content=content)]


def moving(source: Uri, target: Uri, context: str = "other > a") -> Commit:
    return Commit("acme", LATER, move=Move(source, target, lambda _old, _new, _line: context))


async def all_of(store: RecordStore, account: str = "acme") -> list[Record]:
    return [copy.record for copy in await store.copies(account, None, 100)]


async def test_a_moved_directory_lies_there_as_it_lay_here(store: RecordStore) -> None:
    before = {(r.uri, r.level): r for r in await all_of(store)}
    others = await all_of(store, "bolt")
    await store.touch([before[A, Level.DETAIL].id] * 3)
    done = await store.commit(moving(DOCS, NEWS))
    assert done.moved == [NEWS, NEWS.child("a.md"), NEWS.child("deep"), NEWS.child("deep/b.md")]
    moved = {(r.uri, r.level): r for r in await all_of(store)}
    assert len(moved) == len(before)
    (there,) = await store.at(ANN, NEWS.child("a.md"))
    here = before[A, Level.DETAIL]
    assert (there.abstract, there.tags, there.content) == (here.abstract, here.tags, here.content)
    assert (there.created_at, there.updated_at) == (here.created_at, here.updated_at)
    assert there.active_count == 3
    assert there.parent == NEWS
    assert await store.known(ANN, [DOCS, A]) == [False, False]
    assert [r.uri.name for r in await store.children(ANN, NEWS)] == ["a.md", "deep"]
    assert await all_of(store, "bolt") == others


async def test_ids_are_new_and_the_log_tells_of_both(store: RecordStore) -> None:
    before = await all_of(store)
    position = await store.position()
    done = await store.commit(moving(DOCS, NEWS))
    changes = await store.changes(position, 100)
    gone = {change.id for change in changes if change.record is None}
    come = {change.id for change in changes if change.record is not None}
    assert gone == {record.id for record in before}
    assert len(come) == len(before)
    assert not gone & come
    assert changes[-1].position == done.position


async def test_vectors_stay_where_the_embedder_would_be_told_the_same(store: RecordStore) -> None:
    await store.commit(moving(A, DOCS.child("c.md"), "other > a"))  # the first name is not told
    assert await store.pending(9) == []
    await store.commit(moving(DOCS.child("c.md"), A, "docs > elsewhere"))
    (text,) = await store.pending(9)
    assert text.text == "elsewhere\none"
    (record,) = await store.at(ANN, A)
    (passage,) = await store.passages([(record.id, 0)])
    assert passage is not None
    assert (passage.context, passage.digest) == ("docs > elsewhere", text.digest)


async def test_vectors_that_nobody_needs_any_more_go(store: RecordStore) -> None:
    await store.commit(Commit("bolt", NOON, remove=[DOCS]))
    before = (await store.counts())["vectors"]
    await store.commit(moving(A, DOCS.child("c.md"), "docs > elsewhere"))
    assert (await store.counts())["vectors"] == before - 1


async def test_owner_and_shelf_follow_the_address(store: RecordStore) -> None:
    mine = Uri("viking://user/ann/memories/a.md")
    await store.commit(moving(A, mine))
    (record,) = await store.at(ANN, mine)
    assert (record.owner, record.context_type) == ("ann", ContextType.MEMORY)
    assert await store.at(BEN, mine) == []
    assert await store.matching(BEN, [Tagged("k=v")]) == [[]]
    assert await store.matching(ANN, [Tagged("k=v")]) == [[record.id]]


async def test_what_was_to_be_summarised_still_is_and_so_is_what_has_another_name(
    store: RecordStore,
) -> None:
    deep = DOCS.child("deep")
    await store.commit(Commit("acme", NOON, stale=[deep]))
    done = Commit("acme", LATER, move=moving(DOCS, NEWS).move, stale=[DOCS])
    await store.commit(done)
    waiting = [(one.account, one.uri) for one in await store.stale(9)]
    assert waiting == [("acme", NEWS.child("deep")), ("acme", NEWS)]


async def test_a_directory_of_which_nothing_is_known_is_called_by_its_new_name(
    store: RecordStore,
) -> None:
    await store.commit(moving(DOCS.child("deep"), NEWS))
    assert [record.abstract for record in await store.at(ANN, NEWS)] == ["news", "news"]
    assert await store.stale(9) == []


async def test_files_of_an_ingest_stay_its_files_only_when_its_whole_tree_moves(
    store: RecordStore,
) -> None:
    brought = [file(DOCS.child(name), name, origin=f"{DOCS} my docs") for name in ("x.md", "y.md")]
    await store.commit(Commit("acme", NOON, put=brought))
    await store.commit(moving(DOCS.child("x.md"), Uri("viking://resources/x.md")))
    await store.commit(moving(DOCS, NEWS))
    origins = {record.uri.name: record.origin for record in await all_of(store)}
    assert (origins["x.md"], origins["y.md"]) == ("", f"{NEWS} my docs")


@pytest.mark.parametrize(
    ("source", "target", "error"),
    [
        (DOCS.child("none.md"), NEWS, NotFoundError),
        (DOCS, Uri("viking://resources"), AlreadyExistsError),
        (A, B, AlreadyExistsError),
        (A, DOCS.child("deep"), AlreadyExistsError),
        (DOCS.child("deep"), A.child("x"), ConflictError),
    ],
)
async def test_a_move_that_cannot_be_changes_nothing(
    store: RecordStore, source: Uri, target: Uri, error: type[Exception]
) -> None:
    before, position = await all_of(store), await store.position()
    with pytest.raises(error):
        await store.commit(moving(source, target))
    assert (await all_of(store), await store.position()) == (before, position)


@pytest.mark.parametrize("target", [DOCS, A, B.child("c")])
def test_nothing_moves_into_itself(target: Uri) -> None:
    with pytest.raises(InvalidArgumentError, match="below it"):
        moving(DOCS, target)


@pytest.mark.parametrize(
    ("mode", "given", "expected"),
    [
        ("replace", ("a=1",), ("a=1",)),
        ("append", ("k=w", "a=1"), ("a=1", "k=w", "team=ops")),
        ("clear", (), ()),
        ("replace", (), ()),
    ],
)
async def test_tags_are_given_and_nothing_is_embedded(
    store: RecordStore, mode: str, given: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    done = await store.commit(Commit("acme", LATER, retag=Retag(A, given, mode)))  # type: ignore[arg-type]
    (record,) = await store.at(ANN, A)
    assert record.tags == expected
    assert done.retagged == [A]
    assert await store.matching(ANN, [Tagged("team=ops")]) == [
        [record.id] if "team=ops" in expected else []
    ]
    assert await store.pending(9) == []
    (change,) = await store.changes(done.position - 1, 9)
    assert change.record == record
    assert change.vectors is not None


async def test_a_directory_has_tags_of_its_own_or_gives_them_to_its_files(
    store: RecordStore,
) -> None:
    done = await store.commit(Commit("acme", LATER, retag=Retag(DOCS, ("own=1",))))
    assert done.retagged == [DOCS]
    assert [record.tags for record in await store.at(ANN, DOCS)] == [("own=1",)] * 2
    done = await store.commit(
        Commit("acme", LATER, retag=Retag(DOCS, ("all=1",), "append", recursive=True))
    )
    assert done.retagged == [A, B]
    tags = {record.uri: record.tags for record in await all_of(store)}
    assert tags[A] == ("all=1", "k=v", "team=ops")
    assert tags[B] == ("all=1",)
    assert tags[DOCS] == ("own=1",)


async def test_tags_that_are_there_change_nothing(store: RecordStore) -> None:
    before, position = await all_of(store), await store.position()
    done = await store.commit(Commit("acme", LATER, retag=Retag(A, ("k=v",), "append")))
    assert (await all_of(store), done.position) == (before, position)
    with pytest.raises(NotFoundError):
        await store.commit(Commit("acme", LATER, retag=Retag(NEWS, ("a=1",))))


async def test_too_much_at_once_is_refused_whole(
    store: RecordStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for engine in ("memory.tree", "sqlite.rearranging", "postgres.rearranging"):
        monkeypatch.setattr(f"contextfind.adapters.{engine}.MOST", 5)
    before = await all_of(store)
    whole = Retag(Uri("viking://resources"), ("a=1",), recursive=True)
    for commit in (moving(DOCS, NEWS), Commit("acme", LATER, retag=whole)):
        with pytest.raises(ResourceExhaustedError, match="one by one"):
            await store.commit(commit)
    assert await all_of(store) == before
    await store.commit(moving(DOCS.child("deep"), NEWS))
