"""Random filters from JSON, through the Finder's lookups, against every engine: all keep the same."""

import asyncio
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings

from contextfind.adapters.embedded.index import EmbeddedIndex
from contextfind.adapters.embedded.rules import IndexRules
from contextfind.adapters.memory.index import MemoryIndex
from contextfind.adapters.memory.store import MemoryRecordStore
from contextfind.adapters.postgres.database import Database as PostgresDatabase
from contextfind.adapters.postgres.place import Place
from contextfind.adapters.postgres.records import PostgresRecordStore
from contextfind.adapters.sqlite.database import Database
from contextfind.adapters.sqlite.records import SqliteRecordStore
from contextfind.domain.errors import ConflictError
from contextfind.domain.filter_text import parse_filter
from contextfind.domain.filters import Filter, matches
from contextfind.domain.records import ContextType, Level, Record, RecordId, shown_address
from contextfind.domain.scope import Scope
from contextfind.domain.uri import Uri
from contextfind.ports import Commit, Probe, RecordDraft, RecordStore, SearchIndex
from contextfind.retrieval.lookups import indexable
from tests import databases
from tests.builders import DIMENSION, NOON, make_passages, unit
from tests.clusters import engine_index
from tests.fakes import SimpleTokenizer
from tests.filters import NOW, Node, json_filters
from tests.indexes import MISERLY, open_index
from tests.strategies import ACCOUNTS, NAMES, ROOTS, TAGS, WORDS, scopes, store_filters

COMMITS = 150
ALL = 1_000  # more than there are records
MANY_SEGMENTS = IndexRules(small_rows=1, merge_ratio=0, quiet_ratio=0, rewrite_dead=2.0)


@dataclass(frozen=True, slots=True)
class World:
    """The same records in all stores and in indexes that follow them."""

    runner: asyncio.Runner
    stores: Sequence[RecordStore]
    indexes: Sequence[SearchIndex]
    records: Sequence[Record]

    def check(self, scope: Scope, where: Filter) -> None:
        """Hold every engine to the reference."""
        self.runner.run(self._check(scope, where))

    async def _check(self, scope: Scope, where: Filter) -> None:
        seen = [r for r in self.records if scope.allows(r) and matches(where, r)]
        seen.sort(key=lambda record: shown_address(record.uri, record.level))
        seen.sort(key=lambda record: record.updated_at, reverse=True)
        asked = await indexable(self.stores[0], scope, where)
        for store in self.stores:
            assert await store.select(scope, where, ALL) == seen
            assert await indexable(store, scope, where) == asked
        for index in self.indexes:
            [hits] = await index.search([Probe(scope, asked, ALL, unit(1), ())])
            assert {hit.id for hit in hits} == {record.id for record in seen}


def commit_of(rng: random.Random) -> Commit:
    """Return a commit of one record in any place, found by one passage."""
    uri = Uri.parse(rng.choice(ROOTS))
    for _ in range(rng.choice((0, 1, 1, 2, 2, 3))):
        uri = uri.child(rng.choice(NAMES))
    draft = RecordDraft(
        uri,
        rng.choice(list(Level)),
        rng.choice(list(ContextType)),
        rng.choice((f"about {uri.name}", f"About a roll{rng.choice(WORDS)}", "%_\0", "")),
        make_passages(rng.choice(WORDS)),
        tuple(tag for tag in TAGS if rng.random() < 0.3),
    )
    moment = NOON + timedelta(hours=rng.randrange(24), microseconds=rng.choice((-1, 0, 1)))
    return Commit(rng.choice(ACCOUNTS), moment, put=[draft])


async def fill(store: RecordStore) -> None:
    """Write the same into any store, with some records used and changed."""
    rng = random.Random(17)  # noqa: S311
    for _ in range(COMMITS):
        try:
            await store.commit(commit_of(rng))
        except ConflictError:
            continue
    pending = await store.pending(ALL)
    vectors = [(item.digest, unit(seed)) for seed, item in enumerate(pending)]
    await store.add_vectors(vectors)
    await store.touch([RecordId(rng.randrange(COMMITS)) for _ in range(COMMITS)])


async def settle(directory: Path, place: Place, runner: asyncio.Runner) -> World:
    database = await PostgresDatabase.open(place)
    stores: list[RecordStore] = [
        SqliteRecordStore(await Database.open(directory)),
        MemoryRecordStore(),
        PostgresRecordStore(database),
    ]
    indexes: list[SearchIndex] = [
        await EmbeddedIndex.open(None, DIMENSION, "tests", SimpleTokenizer(), MANY_SEGMENTS),
        MemoryIndex(SimpleTokenizer(), DIMENSION),
        await engine_index(),
        await open_index(database, MISERLY),
    ]
    for store in stores:
        await fill(store)
    changes = await stores[0].changes(0, ALL)
    for index in indexes:
        for begin in range(0, len(changes), 20):
            await index.follow(changes[begin : begin + 20])
    records = await stores[0].get([change.id for change in changes])
    found = [record for record in records if record is not None]
    for store in stores[1:]:
        assert found == list(await store.get([change.id for change in changes]))
    assert len({record.active_count for record in found}) > 3
    return World(runner, stores, indexes, found)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    place = databases.place()
    with asyncio.Runner() as runner:
        made = runner.run(settle(tmp_path_factory.mktemp("world"), place, runner))
        yield made
        for engine in (*made.indexes, *made.stores):
            runner.run(engine.aclose())
    databases.drop(place.schema)


questions = given(scope=scopes(), node=json_filters)


@questions
@settings(max_examples=150, deadline=None)
def test_every_engine_keeps_what_the_filter_means(world: World, scope: Scope, node: Node) -> None:
    world.check(scope, parse_filter(node, scope.user or "ann", NOW))


@pytest.mark.slow
@questions
@settings(max_examples=3_000, deadline=None)
def test_every_engine_keeps_what_thousands_of_filters_mean(
    world: World, scope: Scope, node: Node
) -> None:
    world.check(scope, parse_filter(node, scope.user or "ann", NOW))


trees = given(scope=scopes(), where=store_filters)


@trees
@settings(max_examples=80, deadline=None)
def test_every_engine_keeps_what_any_tree_of_nodes_means(
    world: World, scope: Scope, where: Filter
) -> None:
    world.check(scope, where)


@pytest.mark.slow
@trees
@settings(max_examples=1_000, deadline=None)
def test_every_engine_keeps_what_very_many_trees_of_nodes_mean(
    world: World, scope: Scope, where: Filter
) -> None:
    world.check(scope, where)
