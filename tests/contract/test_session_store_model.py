"""The session stores of both databases against the one in memory, after any calls."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextfind.adapters.memory.sessions import MemorySessionStore
from contextfind.adapters.postgres.database import Database as PostgresDatabase
from contextfind.adapters.postgres.sessions import PostgresSessionStore
from contextfind.adapters.sqlite.database import Database
from contextfind.adapters.sqlite.sessions import SqliteSessionStore
from contextfind.domain.conversation import Archive, ArchiveState, SessionMessage
from contextfind.domain.identity import Identity
from contextfind.ports import SessionStore
from tests import databases
from tests.builders import NOON
from tests.strategies import ACCOUNTS, USERS

Opener = Callable[[], AbstractAsyncContextManager[SessionStore]]
Keeping = Callable[[], AbstractAsyncContextManager[Opener]]

OWNERS = [Identity(account, user) for account in ACCOUNTS for user in USERS]
NAMES = ("s", "S", "?", "\ud800")  # the last two are one


@dataclass(frozen=True)
class Step:
    """A call, and everything that any call takes. pick: which archive told of is summarised."""

    call: Literal["create", "append", "archive", "summarise", "delete"]
    owner: Identity
    name: str
    now: datetime
    json: dict[str, object]
    messages: Sequence[SessionMessage]
    number: int
    pick: int


_times = st.integers(0, 5).map(lambda hours: NOON + timedelta(hours=hours))
_texts = st.sampled_from(("", "回滚", "a\0b", "lone \ud800", "x" * 5_000)) | st.text(max_size=5)
_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | _texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_texts, inner, max_size=2),
    max_leaves=4,
)
_objects = st.dictionaries(_texts, _json, max_size=2)
_messages = st.builds(
    SessionMessage,
    id=st.sampled_from(("a", "b", "c", "d", "e", "A", "?", "\udfff")),
    role=st.sampled_from(("user", "assistant")),
    parts=st.lists(_objects, max_size=2),
    text=_texts,
    tokens=st.integers(0, 9),
    created_at=_times,
    extra=_objects,
    ordinal=st.integers(0, 9),
)
_steps = st.builds(
    Step,
    call=st.sampled_from(
        ("create", "append", "append", "append", "archive", "archive", "summarise", "delete")
    ),
    owner=st.sampled_from((OWNERS[0], OWNERS[0], OWNERS[0], *OWNERS)),
    name=st.sampled_from(("s", "s", "s", *NAMES)),
    now=_times,
    json=_objects,
    messages=st.lists(_messages, max_size=4),
    number=st.integers(0, 3),
    pick=st.integers(0, 3),
)


async def _take(store: SessionStore, step: Step, told: list[Archive]) -> object:
    """Do a step and return what can be told about it; `told` grows by the archive it makes."""
    place = (step.owner, step.name)
    match step.call:
        case "create":
            return await store.create(*place, step.json, step.now)
        case "append":
            return await store.append(*place, step.messages, step.now)
        case "delete":
            return await store.delete(*place)
        case "archive":
            made = await store.archive(*place, step.number, step.now)
            told += [] if made is None else [made]
            return made
        case "summarise":
            for one in told[-1 - step.pick :][:1]:  # some are of sessions that are gone
                done = replace(one, state=ArchiveState.DONE, overview=f"{step.pick} \udc00")
                await store.summarise(*place, done, step.number)
            return None


async def _picture(store: SessionStore) -> object:
    """Return everything that can be read."""
    seen: list[object] = []
    for owner in OWNERS:
        seen += [await store.list(owner, 10), await store.list(owner, 2, 1)]
        for name in NAMES:
            seen += [
                await store.get(owner, name),
                *[await store.pending(owner, name, limit) for limit in (None, 0, 1, 3)],
                *[await store.archives(owner, name, limit) for limit in (None, 0, 1)],
                *[await store.archived(owner, name, number) for number in range(5)],
            ]
    return seen


@asynccontextmanager
async def _in_a_file() -> AsyncIterator[Opener]:
    """Give what opens the store of one file, again and again."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[SessionStore]:
        database = await Database.open(Path(directory))
        yield SqliteSessionStore(database)
        await database.aclose()

    with tempfile.TemporaryDirectory() as directory:
        yield opened


@asynccontextmanager
async def _in_postgres() -> AsyncIterator[Opener]:
    """Give what opens the store of one schema, again and again."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[SessionStore]:
        database = await PostgresDatabase.open(place)
        yield PostgresSessionStore(database)
        await database.aclose()

    with databases.borrowed() as place:
        yield opened


async def _compare(steps: Sequence[Step], kept: Keeping) -> None:
    memory = MemorySessionStore()
    told_by_memory: list[Archive] = []
    told_by_other: list[Archive] = []
    async with kept() as open_store:
        async with open_store() as other:
            for step in steps:
                expected = await _take(memory, step, told_by_memory)
                assert await _take(other, step, told_by_other) == expected
            picture = await _picture(memory)
            assert await _picture(other) == picture
        async with open_store() as reopened:
            assert await _picture(reopened) == picture


async def _check_counts(store: SessionStore, owner: Identity, name: str) -> None:
    session = await store.get(owner, name)
    if session is None:
        return
    pending, archives = await store.pending(owner, name), await store.archives(owner, name)
    every = list(pending)
    for archive in archives:
        held = await store.archived(owner, name, archive.number)
        assert archive.tokens == sum(message.tokens for message in held)
        assert archive.message_count == len(held) > 0
        every = [*held, *every]
    assert [message.ordinal for message in every] == list(range(session.total_message_count))
    assert len({message.id for message in every}) == len(every)
    assert session.message_count == len(pending)
    assert session.pending_tokens == sum(message.tokens for message in pending)
    assert session.commit_count == len(archives)
    said = [message.created_at for message in every]
    assert session.last_message_at == max(said, default=None)


async def _check_all_counts(steps: Sequence[Step], kept: Keeping) -> None:
    told: list[Archive] = []
    async with kept() as open_store, open_store() as store:
        for step in steps:
            await _take(store, step, told)
        for owner in OWNERS:
            for name in NAMES:
                await _check_counts(store, owner, name)


HELD = (  # on so many random examples
    pytest.param(_in_a_file, 30, id="sqlite-30"),
    pytest.param(_in_postgres, 6, id="postgres-6"),
    pytest.param(_in_a_file, 200, id="sqlite-200", marks=pytest.mark.slow),
    pytest.param(_in_postgres, 50, id="postgres-50", marks=pytest.mark.slow),
)
_any_calls = given(steps=st.lists(_steps, max_size=20))


@pytest.mark.parametrize(("kept", "examples"), HELD)
def test_both_stores_show_the_same_after_any_calls_also_when_opened_again(
    kept: Keeping, examples: int
) -> None:
    @settings(max_examples=examples, deadline=None)
    @_any_calls
    def check(steps: list[Step]) -> None:
        asyncio.run(_compare(steps, kept))

    check()


@pytest.mark.parametrize(("kept", "examples"), HELD)
def test_the_counts_of_a_session_are_those_of_its_messages(kept: Keeping, examples: int) -> None:
    @settings(max_examples=examples, deadline=None)
    @_any_calls
    def check(steps: list[Step]) -> None:
        asyncio.run(_check_all_counts(steps, kept))

    check()
