"""Whatever a filter says, a find shows what its caller may see, and all of that which matches."""

import asyncio
import random
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextfind.domain.errors import ConflictError
from contextfind.domain.filter_text import parse_filter
from contextfind.domain.filters import Filter, matches
from contextfind.domain.identity import Identity, RequestContext
from contextfind.domain.queries import MAX_LIMIT, FindQuestion
from contextfind.domain.records import Level, Record, RecordId, context_type_of
from contextfind.domain.results import MatchedContext
from contextfind.domain.uri import Uri
from contextfind.ports import Commit, RecordDraft
from tests import stores
from tests.builders import NOON, make_passages
from tests.filters import NOW, Node, json_filters
from tests.households import Household, household
from tests.strategies import ACCOUNTS, NAMES, ROOTS, TAGS, USERS, WORDS

CALLERS = [Identity(account, user) for account in ACCOUNTS for user in USERS]
RECORDS = 60  # fewer than a find may show, so that nothing may be missing


@dataclass(frozen=True, slots=True)
class Home:
    """A household in which two accounts with two users each keep records at the same addresses."""

    runner: asyncio.Runner
    house: Household
    records: Sequence[Record]

    def find(self, caller: Identity, query: str, where: Filter) -> list[MatchedContext]:
        """Ask the finder and return the hits of all shelves."""
        question = FindQuestion(query, limit=MAX_LIMIT, where=where, selective=True)
        asking = self.house.finder.find(RequestContext(caller, "r"), question)
        found = self.runner.run(asking)
        return [*found.memories, *found.resources, *found.skills]

    def check(self, query: str, node: Node) -> None:
        """Ask as everybody; each must see exactly the own and shared records that match."""
        for caller in CALLERS:
            where = parse_filter(node, caller.user, NOW)
            own = {
                (record.abstract, record.uri, record.level)
                for record in self.records
                if record.account == caller.account
                and record.owner in ("", caller.user)
                and matches(where, record)
            }
            hits = self.find(caller, query, where)
            assert {(hit.abstract, hit.uri, hit.level) for hit in hits} == own
            assert len(hits) == len(own)


def drafts(account: str) -> list[RecordDraft]:
    """Return records whose abstracts say whose they are, at much the same addresses in each account."""
    rng = random.Random(len(account))  # noqa: S311
    made = []
    for _ in range(RECORDS):
        uri = Uri.parse(rng.choice((*ROOTS, "viking://user/ann", "viking://user/ben/memories")))
        for _ in range(rng.choice((1, 1, 2))):
            uri = uri.child(rng.choice(NAMES))
        made.append(
            RecordDraft(
                uri,
                rng.choice(list(Level)),
                context_type_of(uri),
                f"about {account} {uri.owner or 'all'} {rng.choice(WORDS)}",
                make_passages(rng.choice(WORDS)),
                tuple(tag for tag in TAGS if rng.random() < 0.3),
            )
        )
    return made


async def settle(house: Household) -> list[Record]:
    for account in ACCOUNTS:
        for draft in drafts(account):
            try:
                await house.store.commit(Commit(account, NOON, put=[draft]))
            except ConflictError:
                continue
    await house.settled()
    rng = random.Random(3)  # noqa: S311
    await house.store.touch([RecordId(rng.randrange(2 * RECORDS)) for _ in range(RECORDS)])
    changes = await house.store.changes(0, 1_000)
    found = await house.store.get([change.id for change in changes])
    return [record for record in found if record is not None]


async def opened(backend: str, stack: AsyncExitStack) -> Household:
    store = await stack.enter_async_context(stores.opened(backend, Path()))
    at = household(store=store, collapse_duplicates=False)
    return await stack.enter_async_context(at)


def settled(backend: str) -> Iterator[Home]:
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        house = runner.run(opened(backend, stack))
        made = Home(runner, house, runner.run(settle(house)))
        owners = {(record.account, record.owner) for record in made.records}
        assert owners == {(account, owner) for account in ACCOUNTS for owner in ("", *USERS)}
        yield made
        runner.run(stack.aclose())


@pytest.fixture(scope="module")
def home() -> Iterator[Home]:
    yield from settled("memory")


@pytest.fixture(scope="module")
def guarded_home() -> Iterator[Home]:
    """Return one whose store is in PostgreSQL."""
    yield from settled("postgres")


@given(node=json_filters)
@settings(max_examples=150, deadline=None)
def test_a_filter_alone_never_shows_what_is_anothers(home: Home, node: Node) -> None:
    home.check("", node)


@given(query=st.sampled_from(WORDS), node=json_filters)
@settings(max_examples=100, deadline=None)
def test_a_search_with_any_filter_never_shows_what_is_anothers(
    home: Home, query: str, node: Node
) -> None:
    home.check(query, node)


@given(query=st.sampled_from(("", *WORDS)), node=json_filters)
@settings(max_examples=25, deadline=None)
def test_no_filter_shows_what_is_anothers_in_postgresql(
    guarded_home: Home, query: str, node: Node
) -> None:
    guarded_home.check(query, node)


@pytest.mark.slow
@given(query=st.sampled_from(("", *WORDS)), node=json_filters)
@settings(max_examples=400, deadline=None)
def test_no_filter_of_very_many_shows_what_is_anothers(home: Home, query: str, node: Node) -> None:
    home.check(query, node)
