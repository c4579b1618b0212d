"""Every store against the one in memory, and its filters against their definition."""

import asyncio
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextfind.adapters.memory.store import MemoryRecordStore
from contextfind.domain.errors import AlreadyExistsError, ConflictError, NotFoundError
from contextfind.domain.filters import Filter, Nothing, matches
from contextfind.domain.records import ContextType, Level, Record, shown_address
from contextfind.domain.scope import Scope
from contextfind.domain.uri import ROOT, Uri
from contextfind.ports.moves import Move, Retag
from contextfind.ports.store import Change, Commit, RecordDraft, RecordStore
from tests.builders import NOON, make_passages, unit
from tests.stores import HELD_TO_MEMORY, opened, reopenable
from tests.strategies import (
    ACCOUNTS,
    NAMES,
    PLACES,
    ROOTS,
    TAGS,
    USERS,
    WORDS,
    scopes,
    store_filters,
)

_uris = st.builds(
    lambda root, names: Uri.parse("/".join([root, *names])),
    st.sampled_from(ROOTS),
    st.lists(st.sampled_from(NAMES), max_size=3),
)
_drafts = st.builds(
    RecordDraft,
    uri=_uris,
    level=st.sampled_from((Level.ABSTRACT, Level.OVERVIEW, Level.DETAIL, Level.DETAIL)),
    context_type=st.sampled_from(list(ContextType)),
    abstract=st.sampled_from(WORDS),
    passages=st.lists(st.sampled_from(WORDS), max_size=3).map(lambda texts: make_passages(*texts)),
    tags=st.none() | st.lists(st.sampled_from(TAGS), unique=True).map(tuple),
    source=st.sampled_from(("", "1", "2")),
)


@dataclass(frozen=True, slots=True)
class Step:
    """A commit, something rearranged after it, whether to take what is stale as done, what to embed."""

    commit: Commit
    rearranged: Move | Retag
    refresh: int
    embed: int


def _relabel(old: Uri, new: Uri, context: str) -> str:
    """Return another context line, which an embedder is told of or not, as the names have it."""
    return f"{context} > {new.name}" if old.name < new.name else context


_tops = st.sampled_from(ROOTS).map(Uri.parse)  # below which something lies more often than not
_moves = st.tuples(_tops | _uris, _uris).filter(lambda ends: not ends[1].is_under(ends[0]))
_steps = st.builds(
    Step,
    st.builds(
        Commit,
        account=st.sampled_from(ACCOUNTS),
        now=st.integers(0, 24).map(lambda hours: NOON + timedelta(hours=hours)),
        put=st.lists(_drafts, max_size=4),
        ensure=st.lists(_drafts, max_size=2),
        remove=st.lists(_uris, max_size=1),
        stale=st.lists(_uris, max_size=2),
    ),
    _moves.map(lambda ends: Move(*ends, _relabel))
    | st.builds(
        Retag,
        _tops,
        st.lists(st.sampled_from(TAGS), max_size=2).map(tuple),
        st.sampled_from(("replace", "append", "clear")),
        st.booleans(),
    ),
    st.integers(0, 2),
    st.integers(0, 3),
)


async def _take(store: RecordStore, step: Step) -> object:
    """Do a step and return what can be told about it."""
    done = [item for item in await store.stale(9) if item.account == step.commit.account]
    commit = Commit(
        step.commit.account,
        step.commit.now,
        step.commit.put,
        step.commit.ensure,
        step.commit.remove,
        step.commit.stale,
        done[: step.refresh],
    )
    later = Commit(commit.account, commit.now + timedelta(minutes=1))
    if isinstance(step.rearranged, Move):
        later = replace(later, move=step.rearranged)
    else:
        later = replace(later, retag=step.rearranged)
    outcome = await _outcome(store, commit), await _outcome(store, later)
    wanted = await store.pending(step.embed)
    position = await store.add_vectors([(item.digest, unit(len(item.text), 4)) for item in wanted])
    return outcome, [item.text for item in wanted], position


async def _outcome(store: RecordStore, commit: Commit) -> object:
    try:
        return await store.commit(commit)
    except (ConflictError, NotFoundError, AlreadyExistsError) as error:
        return str(error)


def _plain(change: Change) -> object:
    vectors = None if change.vectors is None else np.asarray(change.vectors).tolist()
    return change.position, change.id, change.record, list(change.passages), vectors


async def _picture(store: RecordStore) -> object:
    """Return everything that can be read."""
    seen: list[object] = [
        [_plain(change) for change in await store.changes(0, 1_000)],
        await store.pending(100),
        await store.stale(100),
        await store.position(),
        await store.backlog(),
    ]
    for account in ACCOUNTS:
        seen += [await store.counts(account, user) for user in (None, *USERS)]
        for place in PLACES:
            seen.append(await store.sources(account, place))
            seen += [await store.backlog(account, place, user) for user in (None, *USERS)]
        seen += [await _seen_by(store, Scope(account, user, (ROOT,))) for user in USERS]
    return seen


async def _seen_by(store: RecordStore, scope: Scope) -> object:
    return [
        await store.known(scope, PLACES),
        [await store.at(scope, place) for place in PLACES],
        [await store.children(scope, place) for place in PLACES],
        [await store.below(scope, place, 5) for place in PLACES],
    ]


async def _compare(backend: str, steps: Sequence[Step], directory: Path) -> None:
    memory = MemoryRecordStore()
    async with reopenable(backend, directory) as opened_again:
        async with opened_again() as store:
            for step in steps:
                assert await _take(store, step) == await _take(memory, step)
            expected = await _picture(memory)
            assert await _picture(store) == expected
        async with opened_again() as store:
            assert await _picture(store) == expected


@pytest.mark.parametrize(("backend", "examples"), HELD_TO_MEMORY)
def test_every_store_shows_the_same_after_any_commits_also_when_opened_again(
    backend: str, examples: int
) -> None:
    @settings(max_examples=examples, deadline=None)
    @given(steps=st.lists(_steps, max_size=8))
    def check(steps: list[Step]) -> None:
        with tempfile.TemporaryDirectory() as directory:
            asyncio.run(_compare(backend, steps, Path(directory)))

    check()


def _expected(records: Sequence[Record], scope: Scope, where: Filter, limit: int) -> list[Record]:
    found = [r for r in records if scope.allows(r) and matches(where, r)]
    found.sort(key=lambda record: shown_address(record.uri, record.level))
    found.sort(key=lambda record: record.updated_at, reverse=True)
    return found[:limit]


async def _check_select(
    backend: str,
    commits: Sequence[Commit],
    questions: Sequence[tuple[Scope, Filter, int]],
    directory: Path,
) -> None:
    memory = MemoryRecordStore()
    async with opened(backend, directory) as store:
        for commit in commits:
            for one in (store, memory):
                try:
                    await one.commit(commit)
                except (ConflictError, NotFoundError, AlreadyExistsError):
                    continue
        records = [
            change.record for change in await store.changes(0, 1_000) if change.record is not None
        ]
        for one in (store, memory):
            await one.touch([record.id for record in records for _ in range(record.id % 4)])
        records = [record for record in await store.get([r.id for r in records]) if record]
        for scope, where, limit in questions:
            ids = sorted(record.id for record in _expected(records, scope, where, 1_000))
            for one in (store, memory):
                assert await one.matching(scope, [Nothing(), where]) == [[], ids]
            expected = _expected(records, scope, where, limit)
            assert await store.select(scope, where, limit) == expected
            assert await memory.select(scope, where, limit) == expected


_questions = st.tuples(scopes(), store_filters, st.sampled_from((1, 3, 100)))


@pytest.mark.parametrize(("backend", "examples"), HELD_TO_MEMORY)
def test_select_keeps_exactly_what_matches_within_the_scope(backend: str, examples: int) -> None:
    @settings(max_examples=examples, deadline=None)
    @given(
        commits=st.lists(_steps.map(lambda step: step.commit), max_size=12),
        questions=st.lists(_questions, min_size=1, max_size=30),
    )
    def check(commits: list[Commit], questions: list[tuple[Scope, Filter, int]]) -> None:
        with tempfile.TemporaryDirectory() as directory:
            asyncio.run(_check_select(backend, commits, questions, Path(directory)))

    check()
