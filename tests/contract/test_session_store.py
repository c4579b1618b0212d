"""What every session store promises."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from contextfind.adapters.memory.sessions import MemorySessionStore
from contextfind.adapters.postgres.sessions import PostgresSessionStore
from contextfind.adapters.sqlite.database import Database
from contextfind.adapters.sqlite.sessions import SqliteSessionStore
from contextfind.domain.conversation import Archive, ArchiveState, Session, SessionMessage
from contextfind.domain.identity import Identity
from contextfind.ports import SessionStore
from tests import databases
from tests.builders import NOON, make_message

ANN = Identity("acme", "ann")
OTHERS = [Identity("acme", "ben"), Identity("bolt", "ann"), Identity("acme", "ANN")]


@pytest.fixture(params=["memory", "sqlite", "postgres"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[SessionStore]:
    if request.param == "memory":
        yield MemorySessionStore()
        return
    if request.param == "postgres":
        async with databases.opened() as shared:
            yield PostgresSessionStore(shared)
        return
    database = await Database.open(tmp_path)
    yield SqliteSessionStore(database)
    await database.aclose()


def at(minutes: int) -> datetime:
    return NOON + timedelta(minutes=minutes)


def says(*ids: str) -> list[SessionMessage]:
    return [make_message(one) for one in ids]


def ids(messages: Sequence[SessionMessage]) -> list[str]:
    return [message.id for message in messages]


async def archived_twice(store: SessionStore) -> tuple[Archive, Archive]:
    """Archive a, b and then c, d of five messages of 1, 2, 3, 4 and 5 tokens; e is pending."""
    messages = [make_message(one, tokens=n) for n, one in enumerate("abcde", start=1)]
    await store.append(ANN, "s", messages[:3], at(0))
    first = await store.archive(ANN, "s", 1, at(1))
    await store.append(ANN, "s", messages[3:], at(2))
    second = await store.archive(ANN, "s", 1, at(3))
    assert first is not None
    assert second is not None
    return first, second


# sessions


async def test_a_made_session_is_empty_and_has_its_settings(store: SessionStore) -> None:
    settings = {"memory_policy": {"kinds": ["偏好", None, 0.5, True]}, "": "\0"}
    assert await store.create(ANN, "s", settings, NOON)
    assert await store.get(ANN, "s") == Session("s", ANN, NOON, NOON, settings)
    assert await store.pending(ANN, "s") == []
    assert await store.archives(ANN, "s") == []


async def test_a_session_is_made_once(store: SessionStore) -> None:
    await store.create(ANN, "s", {"a": 1}, NOON)
    await store.append(ANN, "s", says("a"), at(1))
    before = await store.get(ANN, "s")
    assert not await store.create(ANN, "s", {"b": 2}, at(2))
    assert await store.get(ANN, "s") == before


async def test_an_unknown_session_is_as_if_it_were_not_there(store: SessionStore) -> None:
    archive = Archive(1, 0, 0, 1, 1, NOON)
    await store.summarise(ANN, "none", archive, 3)
    assert await store.archive(ANN, "none", 0, NOON) is None
    assert not await store.delete(ANN, "none")
    assert await store.pending(ANN, "none") == []
    assert await store.archives(ANN, "none") == []
    assert await store.archived(ANN, "none", 1) == []
    assert await store.get(ANN, "none") is None
    assert await store.list(ANN, 10) == []


@pytest.mark.parametrize("other", OTHERS)
async def test_a_session_is_nobody_elses(store: SessionStore, other: Identity) -> None:
    await store.create(ANN, "s", {"whose": "ann"}, NOON)
    await archived_twice(store)
    assert await store.get(other, "s") is None
    assert await store.list(other, 10) == []
    assert await store.pending(other, "s") == []
    assert await store.archives(other, "s") == []
    assert await store.archived(other, "s", 1) == []
    assert await store.archive(other, "s", 0, at(4)) is None
    assert not await store.delete(other, "s")
    (newest, *_) = await store.archives(ANN, "s")
    await store.summarise(other, "s", replace(newest, abstract="theirs"), 7)
    assert await store.archives(ANN, "s", 1) == [newest]
    mine = await store.get(ANN, "s")
    assert mine is not None
    assert (mine.memories_extracted, mine.message_count) == (0, 1)


@pytest.mark.parametrize("other", OTHERS)
async def test_several_may_use_the_same_ids(store: SessionStore, other: Identity) -> None:
    await archived_twice(store)
    mine = await store.get(ANN, "s")
    session, added = await store.append(other, "s", says("a", "x"), at(9))
    assert (session.identity, session.settings, session.message_count, added) == (other, {}, 2, 2)
    assert ids(await store.pending(other, "s")) == ["a", "x"]
    theirs = await store.archive(other, "s", 0, at(9))
    assert theirs is not None
    assert (theirs.number, theirs.first, theirs.last) == (1, 0, 1)
    await store.summarise(other, "s", replace(theirs, overview="theirs"), 2)
    assert await store.delete(other, "s")
    assert await store.get(ANN, "s") == mine
    assert ids(await store.archived(ANN, "s", 1)) == ["a", "b"]


async def test_parts_of_a_name_are_not_mixed_up(store: SessionStore) -> None:
    for owner, name in ((Identity("a", "b"), "c"), (Identity("a", "bc"), ""), (ANN, "s/../t")):
        await store.create(owner, name, {"of": owner.user}, NOON)
    seen = await store.get(Identity("a", "b"), "c")
    assert seen is not None
    assert seen.settings == {"of": "b"}
    assert await store.get(Identity("a", "bc"), "c") is None
    assert await store.get(ANN, "t") is None
    assert await store.get(ANN, "S/../T") is None


async def test_the_role_does_not_matter_and_is_the_askers(store: SessionStore) -> None:
    await store.append(ANN, "s", says("a"), NOON)
    admin = replace(ANN, role="admin")
    seen = await store.get(admin, "s")
    assert seen is not None
    assert seen.identity == admin
    assert [one.identity for one in await store.list(admin, 10)] == [admin]
    (session, added) = await store.append(admin, "s", says("a", "b"), NOON)
    assert (session.identity, session.message_count, added) == (admin, 2, 1)
    assert [one.identity for one in await store.list(ANN, 10)] == [ANN]


async def test_sessions_are_listed_last_changed_first_ties_by_id(store: SessionStore) -> None:
    for name, minutes in (("b", 1), ("é", 1), ("a", 1), ("z", 3), ("y", 0)):
        await store.create(ANN, name, {}, at(minutes))
    await store.create(OTHERS[0], "x", {}, at(9))
    assert [one.id for one in await store.list(ANN, 10)] == ["z", "a", "b", "é", "y"]
    await store.append(ANN, "y", says("a"), at(4))
    assert [one.id for one in await store.list(ANN, 2)] == ["y", "z"]
    await store.archive(ANN, "y", 0, at(2))
    assert [one.id for one in await store.list(ANN, 2, 1)] == ["y", "a"]
    assert [one.id for one in await store.list(ANN, 10, 4)] == ["é"]
    assert await store.list(ANN, 10, 5) == []
    assert await store.list(ANN, 0) == []


async def test_a_listed_session_is_the_one_got(store: SessionStore) -> None:
    await store.create(ANN, "s", {"a": [1]}, NOON)
    await archived_twice(store)
    assert await store.list(ANN, 1) == [await store.get(ANN, "s")]


async def test_a_deleted_session_leaves_nothing(store: SessionStore) -> None:
    await store.create(ANN, "s", {"old": True}, NOON)
    await archived_twice(store)
    await store.append(ANN, "t", says("a"), NOON)
    assert await store.delete(ANN, "s")
    assert not await store.delete(ANN, "s")
    assert await store.get(ANN, "s") is None
    assert [one.id for one in await store.list(ANN, 10)] == ["t"]
    assert await store.archives(ANN, "s") == []
    assert await store.archived(ANN, "s", 1) == []
    (session, added) = await store.append(ANN, "s", says("a", "b"), at(9))
    assert added == 2
    fresh = {"message_count": 2, "total_message_count": 2, "pending_tokens": 2}
    assert session == Session("s", ANN, at(9), at(9), last_message_at=NOON, **fresh)  # type: ignore[arg-type]
    assert [one.ordinal for one in await store.pending(ANN, "s")] == [0, 1]
    assert await store.archives(ANN, "s") == []


# messages


async def test_a_message_comes_back_whole(store: SessionStore) -> None:
    parts = [
        {"type": "text", "text": "回滚 \0 😀 \u2028"},
        {"type": "tool", "input": {"a": [1, None, True, 0.5, 1e300, 2**70, "", {}, []]}},
    ]
    said = datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=timezone(timedelta(hours=-5)))
    wanted = SessionMessage(
        "消息\0", "tool", parts, "回滚 \0 😀 \u2028\n", 7, said, {"peer_id": "p", "n": {"x": [1]}}
    )
    await store.append(ANN, "s", [wanted], NOON)
    (found,) = await store.pending(ANN, "s")
    assert found == wanted
    assert found.created_at.astimezone(UTC) == said


async def test_messages_are_kept_in_the_order_they_came(store: SessionStore) -> None:
    late, early = make_message("z", at=at(5)), make_message("a", at=at(-5))
    await store.append(ANN, "s", [late, early], NOON)
    await store.append(ANN, "s", [replace(make_message("m"), ordinal=77)], NOON)
    found = await store.pending(ANN, "s")
    assert [(one.id, one.ordinal) for one in found] == [("z", 0), ("a", 1), ("m", 2)]


async def test_the_last_pending_messages_come_oldest_first(store: SessionStore) -> None:
    """R029: exactly the last five go into a plan."""
    await store.append(ANN, "s", says(*"abcdefg"), NOON)
    assert ids(await store.pending(ANN, "s", 5)) == list("cdefg")
    assert ids(await store.pending(ANN, "s", 99)) == list("abcdefg")
    assert ids(await store.pending(ANN, "s")) == list("abcdefg")
    assert await store.pending(ANN, "s", 0) == []
    await store.archive(ANN, "s", 2, NOON)
    assert ids(await store.pending(ANN, "s", 5)) == list("fg")
    assert ids(await store.pending(ANN, "s", 1)) == ["g"]


async def test_appending_counts(store: SessionStore) -> None:
    messages = [make_message("a", at=at(3), tokens=5), make_message("b", at=at(1), tokens=0)]
    session, added = await store.append(ANN, "s", messages, at(10))
    assert added == 2
    wanted = Session("s", ANN, at(10), at(10), {}, 2, 2, 5, last_message_at=at(3))
    assert session == wanted
    session, added = await store.append(ANN, "s", [make_message("c", at=at(2), tokens=7)], at(11))
    assert added == 1
    assert session == replace(
        wanted, updated_at=at(11), message_count=3, total_message_count=3, pending_tokens=12
    )
    assert await store.get(ANN, "s") == session
    session, _ = await store.append(ANN, "s", [make_message("d", at=at(4))], at(12))
    assert session.last_message_at == at(4)
    assert session.created_at == at(10)


async def test_appending_nothing_makes_the_session_and_changes_none(store: SessionStore) -> None:
    assert await store.append(ANN, "s", [], NOON) == (Session("s", ANN, NOON, NOON), 0)
    assert await store.append(ANN, "s", [], at(1)) == (Session("s", ANN, NOON, NOON), 0)
    assert await store.get(ANN, "s") == Session("s", ANN, NOON, NOON)


async def test_an_id_is_taken_once(store: SessionStore) -> None:
    twice = [make_message("a", "one", tokens=1), make_message("b"), make_message("a", "two")]
    session, added = await store.append(ANN, "s", twice, NOON)
    assert (added, session.message_count, session.pending_tokens) == (2, 2, 2)
    again = [make_message("b", "three", tokens=50), make_message("c", tokens=4)]
    session, added = await store.append(ANN, "s", again, at(1))
    assert (added, session.total_message_count, session.pending_tokens) == (1, 3, 6)
    found = await store.pending(ANN, "s")
    assert [(one.id, one.ordinal, one.text) for one in found] == [
        ("a", 0, "one"),
        ("b", 1, "hello"),
        ("c", 2, "hello"),
    ]


async def test_nothing_new_leaves_the_session_as_it_was(store: SessionStore) -> None:
    before, _ = await store.append(ANN, "s", says("a", "b"), NOON)
    late = [make_message("b", at=at(99), tokens=9), make_message("a")]
    assert await store.append(ANN, "s", late, at(5)) == (before, 0)
    assert await store.get(ANN, "s") == before


async def test_ids_of_archived_messages_are_taken(store: SessionStore) -> None:
    await archived_twice(store)
    session, added = await store.append(ANN, "s", says("a", "d", "e", "f"), at(9))
    assert (added, session.message_count, session.total_message_count) == (1, 2, 6)
    assert [(one.id, one.ordinal) for one in await store.pending(ANN, "s")] == [("e", 4), ("f", 5)]


async def test_ids_are_told_apart_by_every_character(store: SessionStore) -> None:
    names = ["a", "A", "a ", "a\0", "a\0b", "", "é", "e\u0301", "1", "01"]
    _, added = await store.append(ANN, "s", says(*names), NOON)
    assert added == len(names)
    assert ids(await store.pending(ANN, "s")) == names


async def test_parallel_calls_with_the_same_ids_give_each_message_once(store: SessionStore) -> None:
    calls = [store.append(ANN, "s", says("a", f"own {n}", "b"), at(n)) for n in range(20)]
    done = await asyncio.gather(*calls)
    assert sum(added for _, added in done) == 22
    found = await store.pending(ANN, "s")
    assert len(set(ids(found))) == len(found) == 22
    assert [one.ordinal for one in found] == list(range(22))
    session = await store.get(ANN, "s")
    assert session is not None
    assert (session.message_count, session.pending_tokens) == (22, 22)
    assert sorted(one.total_message_count for one, _ in done) == list(range(3, 23))


async def test_lone_surrogates_become_question_marks_and_nul_stays(store: SessionStore) -> None:
    odd = SessionMessage(
        "i\ud800",
        "\udfff",
        [{"type": "te\ud800xt", "\udc00": ["\ud800\0"]}],
        "x\ud800y\0z",
        1,
        NOON,
        {"peer\ud800": "\udfff"},
    )
    await store.create(ANN, "s\ud800", {"k\ud800": "\udfff"}, NOON)
    await store.append(ANN, "s\ud800", [odd, odd, make_message("i?")], NOON)
    assert await store.pending(ANN, "s?") == [
        SessionMessage(
            "i?", "?", [{"type": "te?xt", "?": ["?\0"]}], "x?y\0z", 1, NOON, {"peer?": "?"}
        )
    ]
    session = await store.get(ANN, "s\ud800")
    assert session is not None
    assert (session.id, session.settings) == ("s?", {"k?": "?"})
    made = await store.archive(ANN, "s\udfff", 0, NOON)
    assert made is not None
    told = replace(made, abstract="\ud800", overview="a\ud800", error="\udfff\0")
    await store.summarise(ANN, "s?", told)
    assert await store.archives(ANN, "s?") == [
        replace(made, abstract="?", overview="a?", error="?\0")
    ]
    assert await store.delete(ANN, "s\udc01")


async def test_huge_texts_are_kept_whole(store: SessionStore) -> None:
    text = "字a😀" * 1_000_000
    huge = replace(make_message("a", text, tokens=10**12), parts=[{"type": "text", "text": text}])
    session, _ = await store.append(ANN, "s", [huge, make_message("b")], NOON)
    assert session.pending_tokens == 10**12 + 1
    found = await store.pending(ANN, "s")
    assert found == [huge, replace(make_message("b"), ordinal=1)]


async def test_what_is_no_json_is_refused_and_leaves_nothing(store: SessionStore) -> None:
    bad = replace(make_message("b"), parts=[{"type": object()}])
    with pytest.raises(TypeError):
        await store.append(ANN, "s", [make_message("a"), bad], NOON)
    with pytest.raises(TypeError):
        await store.create(ANN, "s", {"a": {1, 2}}, NOON)
    assert await store.list(ANN, 10) == []
    _, added = await store.append(ANN, "s", says("a"), NOON)
    assert added == 1


async def test_settings_are_changed_one_by_one(store: SessionStore) -> None:
    assert await store.configure(ANN, "s", {"a": 1}) is None
    assert await store.get(ANN, "s") is None
    await store.create(ANN, "s", {"a": {"x": 1, "y": 2}, "b": "偏好"}, NOON)
    await store.append(ANN, "s", says("m"), at(1))
    changed = await store.configure(ANN, "s", {"a": {"x": 3}, "c": "\ud800"})
    assert changed is not None
    assert changed.settings == {"a": {"x": 3}, "b": "偏好", "c": "?"}
    assert (changed.updated_at, changed.message_count) == (at(1), 1)
    assert await store.get(ANN, "s") == changed
    for other in OTHERS:
        assert await store.configure(other, "s", {"a": 4}) is None
    assert await store.get(ANN, "s") == changed


async def test_what_was_given_may_be_changed_afterwards(store: SessionStore) -> None:
    inner = ["a"]
    part: dict[str, object] = {"type": "text", "list": inner}
    settings: dict[str, object] = {"list": inner}
    await store.create(ANN, "s", settings, NOON)
    await store.append(ANN, "s", [replace(make_message("a"), parts=[part])], NOON)
    inner.append("b")
    part.clear()
    settings.clear()
    session = await store.get(ANN, "s")
    assert session is not None
    assert session.settings == {"list": ["a"]}
    assert [one.parts for one in await store.pending(ANN, "s")] == [
        [{"type": "text", "list": ["a"]}]
    ]


# archives


async def test_archiving_takes_all_but_the_last(store: SessionStore) -> None:
    first, second = await archived_twice(store)
    assert first == Archive(1, 0, 1, 2, 3, at(1))
    assert second == Archive(2, 2, 3, 2, 7, at(3))
    assert (first.state, second.id) == (ArchiveState.PENDING, "archive_002")
    assert ids(await store.archived(ANN, "s", 1)) == ["a", "b"]
    assert [(m.id, m.ordinal) for m in await store.archived(ANN, "s", 2)] == [("c", 2), ("d", 3)]
    for limit, last in ((0, []), (1, ["d"]), (2, ["c", "d"]), (9, ["c", "d"])):
        assert ids(await store.archived(ANN, "s", 2, limit)) == last
    assert [(m.id, m.ordinal) for m in await store.pending(ANN, "s")] == [("e", 4)]
    for number in (0, 3, -1):
        assert await store.archived(ANN, "s", number) == []


async def test_archiving_counts_one_commit(store: SessionStore) -> None:
    await archived_twice(store)
    assert await store.get(ANN, "s") == Session(
        id="s",
        identity=ANN,
        created_at=at(0),
        updated_at=at(3),
        message_count=1,
        total_message_count=5,
        pending_tokens=5,
        commit_count=2,
        last_message_at=NOON,
        last_commit_at=at(3),
    )


@pytest.mark.parametrize("keep", [3, 4, 1_000])
async def test_when_all_is_kept_nothing_happens(store: SessionStore, keep: int) -> None:
    before, _ = await store.append(ANN, "s", says("a", "b", "c"), NOON)
    assert await store.archive(ANN, "s", keep, at(1)) is None
    assert await store.get(ANN, "s") == before
    assert await store.archives(ANN, "s") == []


async def test_there_is_nothing_to_archive_twice(store: SessionStore) -> None:
    await store.append(ANN, "s", says("a", "b"), NOON)
    assert await store.archive(ANN, "s", 0, at(1)) is not None
    before = await store.get(ANN, "s")
    assert before is not None
    assert (before.message_count, before.pending_tokens) == (0, 0)
    assert await store.archive(ANN, "s", 0, at(2)) is None
    assert await store.get(ANN, "s") == before
    assert await store.pending(ANN, "s") == []
    assert await store.pending(ANN, "s", 5) == []


async def test_parallel_commits_take_each_message_once(store: SessionStore) -> None:
    """R095: of two commits of the same message one finds it."""
    await store.append(ANN, "s", says("a", "b"), NOON)
    made = await asyncio.gather(*(store.archive(ANN, "s", 0, at(n)) for n in range(5)))
    assert [one.number for one in made if one is not None] == [1]
    session = await store.get(ANN, "s")
    assert session is not None
    assert session.commit_count == 1


async def test_archives_come_newest_first_up_to_the_limit(store: SessionStore) -> None:
    first, second = await archived_twice(store)
    assert await store.archives(ANN, "s") == [second, first]
    assert await store.archives(ANN, "s", 1) == [second]
    assert await store.archives(ANN, "s", 9) == [second, first]
    assert await store.archives(ANN, "s", 0) == []


async def test_a_summary_is_written_to_its_archive_alone(store: SessionStore) -> None:
    first, second = await archived_twice(store)
    before = await store.get(ANN, "s")
    assert before is not None
    done = replace(first, state=ArchiveState.DONE, abstract="短", overview="long\n" * 9)
    await store.summarise(ANN, "s", done, 3)
    assert await store.archives(ANN, "s") == [second, done]
    failed = replace(second, state=ArchiveState.FAILED, error="no model")
    await store.summarise(ANN, "s", failed)
    assert await store.archives(ANN, "s") == [failed, done]
    assert await store.get(ANN, "s") == replace(before, memories_extracted=3)
    again = replace(failed, state=ArchiveState.DONE, abstract="better", error="")
    await store.summarise(ANN, "s", again, 2)
    assert await store.archives(ANN, "s", 1) == [again]
    assert await store.get(ANN, "s") == replace(before, memories_extracted=5)


async def test_a_summary_changes_nothing_else_of_its_archive(store: SessionStore) -> None:
    first, _ = await archived_twice(store)
    await store.summarise(ANN, "s", replace(first, message_count=99, tokens=99, abstract="x"))
    assert (await store.archives(ANN, "s"))[1] == replace(first, abstract="x")


async def test_a_summary_of_what_is_gone_is_lost(store: SessionStore) -> None:
    first, second = await archived_twice(store)
    before = await store.get(ANN, "s")
    await store.summarise(ANN, "s", replace(second, number=3, abstract="x"), 4)
    assert await store.get(ANN, "s") == before
    await store.delete(ANN, "s")
    await store.summarise(ANN, "s", replace(first, abstract="x"), 4)
    assert await store.get(ANN, "s") is None
    assert await store.archives(ANN, "s") == []


async def test_a_late_summary_is_not_given_to_a_new_session(store: SessionStore) -> None:
    first, _ = await archived_twice(store)
    await store.delete(ANN, "s")
    await store.append(ANN, "s", says("x", "y"), at(5))
    made = await store.archive(ANN, "s", 0, at(6))
    assert made is not None
    assert (made.number, made.first, made.last) == (first.number, first.first, first.last)
    before = await store.get(ANN, "s")
    await store.summarise(ANN, "s", replace(first, abstract="of the old one"), 4)
    assert await store.archives(ANN, "s") == [made]
    assert await store.get(ANN, "s") == before
