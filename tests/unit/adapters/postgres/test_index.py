"""The index in PostgreSQL: what is written when, by whom, and what a statement may see."""

# ruff: noqa: S608 - names of our own tables

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import replace

import psycopg
import pytest
from psycopg import AsyncConnection

from contextfind.adapters.memory.index import MemoryIndex
from contextfind.adapters.postgres import index_statements
from contextfind.adapters.postgres.conditions import TRUE
from contextfind.adapters.postgres.database import EVERY_ACCOUNT, Database
from contextfind.adapters.postgres.index import PostgresIndex
from contextfind.adapters.postgres.index_rules import IndexRules
from contextfind.adapters.postgres.index_snapshot import snapshot
from contextfind.domain.filters import And, Everything, OneOf, Or, Prefixed, Tagged
from contextfind.domain.records import RecordId
from contextfind.domain.scope import Scope
from contextfind.domain.uri import ROOT, Uri
from contextfind.ports.index import Probe, SearchIndex
from contextfind.ports.store import Change
from tests import databases
from tests.builders import DIMENSION, make_change, make_passages, make_record, make_removal, unit
from tests.fakes import SimpleTokenizer
from tests.indexes import MISERLY, TABLES, open_index, same
from tests.strategies import ACCOUNTS, USERS, WORDS, random_log

Opening = Callable[..., Awaitable[PostgresIndex]]
ANN = Scope("acme", "ann", (ROOT,))
NAMES = "SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relname ~ '^index_'"


@pytest.fixture
async def database() -> AsyncIterator[Database]:
    async with databases.opened() as opened:
        yield opened


@pytest.fixture
async def opening(database: Database) -> AsyncIterator[Opening]:
    """Give what opens the index, closed behind the test."""
    async with AsyncExitStack() as stack:

        async def opened(rules: IndexRules | None = None) -> PostgresIndex:
            index = await open_index(database, rules)
            stack.push_async_callback(index.aclose)
            return index

        yield opened


@pytest.fixture
async def index(opening: Opening) -> PostgresIndex:
    return await opening()


@asynccontextmanager
async def another(database: Database) -> AsyncIterator[PostgresIndex]:
    """Open the same index as another process does."""
    own = await Database.open(database.place)
    async with aclosing(own), aclosing(await open_index(own)) as index:
        yield index


async def rows(database: Database, sql: str) -> list[tuple[object, ...]]:
    """Return what the house sees."""

    async def work(connection: AsyncConnection) -> list[tuple[object, ...]]:
        return await (await connection.execute(sql.encode())).fetchall()

    return await database.house(work)


def ask(*terms: str, seed: int | None = None, limit: int = 10, scope: Scope = ANN) -> Probe:
    return Probe(scope, Everything(), limit, None if seed is None else unit(seed), terms)


def some_probes(seed: int) -> list[Probe]:
    rng = random.Random(seed)  # noqa: S311 - data for tests
    return [
        ask(
            *rng.choices(WORDS, k=2),
            seed=rng.randrange(20),
            limit=rng.choice((1, 3, 100)),
            scope=Scope(account, user, (ROOT,)),
        )
        for account in ACCOUNTS
        for user in USERS
    ]


async def held_to_memory(index: SearchIndex, log: Sequence[Change], seeds: range) -> None:
    memory = MemoryIndex(SimpleTokenizer(), DIMENSION)
    await memory.follow(log)
    assert await index.position() == await memory.position()
    for seed in seeds:
        questions = some_probes(seed)
        answers = zip(await index.search(questions), await memory.search(questions), strict=True)
        for got, right in answers:
            same(got, right)


async def test_a_long_log_is_answered_alike_through_graph_lists_and_deletes(
    opening: Opening,
) -> None:
    log = random_log(random.Random(7), 500, vector_seeds=800)  # noqa: S311 - data for tests
    index = await opening(replace(MISERLY, breadth=1_000))
    for begin in range(0, len(log), 70):
        await index.follow(log[begin : begin + 70])
    await held_to_memory(index, log, range(4))
    stats = index.stats()
    assert stats["graph_rows"] > 0
    assert {"plan_neighbours", "plan_words"} < set(stats)


async def test_what_a_filter_leaves_is_counted_and_sorted_and_the_graph_is_asked_for_more(
    opening: Opening,
) -> None:
    """R047, R099: a filter costs what it leaves; a look at the graph that would find too little is not taken."""
    rules = IndexRules(scanned=5, sorted=40, counted=40, graph_from=3, breadth=1_000)
    index, memory = await opening(rules), MemoryIndex(SimpleTokenizer(), DIMENSION)
    log = [
        make_change(
            i,
            make_record(
                i,
                f"viking://resources/{i}.md",
                tags=("rare",) * (i % 4 == 0) + ("common",) * (i % 10 != 0) + (f"n{i % 2}",),
            ),
            ["cache" if i % 3 else "deploy", "deploy"],
            [i % 70, i + 200],  # some vectors are those of two records
        )
        for i in range(1, 121)
    ]
    await index.follow(log)
    await memory.follow(log)
    rare, common = Tagged("rare"), Tagged("common")
    for where, told in (
        (rare, "exact scan of 30 records"),
        (And((rare, Or((common, Tagged("n1"))))), "exact scan of 24 records"),
        (And((rare, common, OneOf("level", frozenset({"2"})))), "exact scan of 24 records"),
        (Or((rare, Tagged("none"))), "exact scan of 30 records"),
        (And((common, Prefixed("viking://resources/11"))), "exact scan of 10 records"),
        (common, "graph search among at least 41 records"),
        (Prefixed("viking://resources/"), "graph search among at least 41 records"),
    ):
        for limit in (1, 7, 30):
            probe = replace(ask("cache", seed=5, limit=limit), where=where)
            assert (await index.explain([probe]))[0].startswith(told)
            [got], [right] = await index.search([probe]), await memory.search([probe])
            same(list(got), list(right))


async def test_the_best_by_words_are_exact_with_few_of_the_lists(opening: Opening) -> None:
    rng = random.Random(9)  # noqa: S311 - data for tests
    words = [f"w{number}" for number in range(40)]
    weights = [1 / (number + 1) for number in range(40)]
    texts = [" ".join(rng.choices(words, weights, k=rng.randrange(3, 20))) for _ in range(300)]
    log = [
        make_change(i, make_record(i, f"viking://resources/{i % 7}/{i}.md"), [text])
        for i, text in enumerate(texts, 1)
    ]
    index, memory = await opening(MISERLY), MemoryIndex(SimpleTokenizer(), DIMENSION)
    await index.follow(log)
    await memory.follow(log)
    narrow = Scope("acme", "ann", (Uri("viking://resources/3"),))
    questions = [
        ask(*rng.choices(words, k=rng.randrange(1, 9)), limit=limit, scope=scope)
        for limit in (1, 2, 5, 20)
        for scope in (ANN, narrow)
        for _ in range(12)
    ]
    told = await index.explain(questions)
    assert any("sets of the others" in line for line in told)
    assert any("lists of 1 of" in line and "sets of" not in line for line in told)
    for question in questions:
        [got], [right] = await index.search([question]), await memory.search([question])
        same(got, right)


async def test_processes_that_follow_the_same_at_once_do_no_harm(
    database: Database, index: PostgresIndex
) -> None:
    log = random_log(random.Random(3), 120)  # noqa: S311 - data for tests

    async def follow(one: PostgresIndex, step: int) -> None:
        for begin in range(0, len(log), step):
            await one.follow(log[begin : begin + step])
            assert await one.position() >= log[min(begin + step, len(log)) - 1].position

    async with another(database) as other:
        await asyncio.gather(follow(index, 20), follow(other, 30), follow(other, 7))
        await held_to_memory(other, log, range(2))


async def test_what_is_gone_leaves_nothing_behind(database: Database, index: PostgresIndex) -> None:
    log = random_log(random.Random(5), 60)  # noqa: S311 - data for tests
    await index.follow(log)
    last = log[-1].position
    ids = sorted({change.id for change in log})
    await index.follow([make_removal(last + n, gone) for n, gone in enumerate(ids, start=1)])
    t = TABLES
    for table in (t.entries, t.tags, t.passages, t.vectors, t.holders):
        assert await rows(database, f"SELECT * FROM {table}") == []
    assert await rows(database, f"SELECT * FROM {t.sizes} WHERE passages <> 0 OR length <> 0") == []
    assert await rows(database, f"SELECT * FROM {t.counts} WHERE passages <> 0") == []
    assert await index.tidy() > 0
    assert await rows(database, f"SELECT * FROM {t.counts}") == []
    assert await index.position() == last + len(ids)
    stats = index.stats()
    assert [stats[name] for name in ("records", "rows", "scanned_rows")] == [0, 0, 0]


async def test_tags_write_no_words_and_a_move_no_vector(
    database: Database, index: PostgresIndex
) -> None:
    await index.follow(
        [make_change(1, make_record(1, "viking://resources/a/x.md"), ["cache"], [1])]
    )
    written = f"SELECT v.xmin, p.xmin FROM {TABLES.vectors} AS v, {TABLES.passages} AS p"
    before = await rows(database, written)
    moved = make_record(1, "viking://resources/b/y.md", tags=("lang=en",))
    await index.follow([make_change(2, moved, ["cache"], [1])])
    assert await rows(database, written) == before
    [[hit]] = await index.search([ask("cache", seed=1)])
    assert hit.uri.text == "viking://resources/b/y.md"


async def test_words_go_along_to_who_may_see_them(index: PostgresIndex) -> None:
    await index.follow([make_change(1, make_record(1, "viking://user/ben/x.md"), ["cache"], [1])])
    assert [list(hits) for hits in await index.search([ask("cache", seed=1)])] == [[]]
    await index.follow([make_change(2, make_record(1, "viking://user/ann/x.md"), ["cache"], [1])])
    [[hit]] = await index.search([ask("cache", seed=1)])
    assert (hit.words > 0, hit.known) == (True, 1.0)


async def test_equal_vectors_are_kept_once_for_as_long_as_somebody_has_one(
    database: Database, index: PostgresIndex
) -> None:
    kept = f"SELECT count(*) FROM {TABLES.vectors}"
    uris = [f"viking://resources/{i}.md" for i in range(3)]
    await index.follow(
        [make_change(i, make_record(i, uri), ["cache"], [1]) for i, uri in enumerate(uris, 1)]
    )
    assert await rows(database, kept) == [(1,)]
    await index.follow(
        [make_removal(5, 1), make_change(6, make_record(2, uris[1]), ["cache"], [2])]
    )
    assert await rows(database, kept) == [(2,)]
    await index.follow([make_removal(7, 3)])
    assert await rows(database, kept) == [(1,)]


async def test_a_question_that_forgets_the_scope_sees_nothing_of_others(
    opening: Opening, index: PostgresIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Row-level security is the second lock: it holds where the first one is left open on purpose."""
    await index.follow(
        [
            make_change(
                1, make_record(1, "viking://resources/a.md", account="bolt"), ["cache"], [1]
            ),
            make_change(
                2, make_record(2, "viking://resources/b.md", account="acme"), ["cache"], [1]
            ),
        ]
    )
    monkeypatch.setattr(index_statements, "within", lambda _: TRUE)
    miserly = await opening(MISERLY)
    for one in (index, miserly):
        for terms, seed in ((("cache",), None), ((), 1), (("cache",), 1)):
            found = await one.search([ask(*terms, seed=seed)])
            assert [hit.id for hit in found[0]] == [2]
            nobody = Scope("", "ann", (ROOT,))
            assert [list(h) for h in await one.search([ask(*terms, seed=seed, scope=nobody)])] == [
                []
            ]


async def test_a_question_of_common_words_alone_reads_so_much_and_says_so(
    opening: Opening,
) -> None:
    index = await opening(IndexRules(scanned=1, postings=20))
    await index.follow(
        [
            make_change(i, make_record(i, f"viking://resources/{i}.md"), ["the"])
            for i in range(1, 60)
        ]
    )
    [hits] = await index.search([ask("the")])
    assert len(hits) == 10
    [told] = await index.explain([ask("the")])
    assert "the beginning was read" in told


async def test_another_embedder_has_tables_of_its_own_and_those_before_are_gone(
    database: Database, index: PostgresIndex
) -> None:
    await index.follow([make_change(1, make_record(1), ["cache"], [1])])
    opened = await PostgresIndex.open(database, DIMENSION + 1, "others", SimpleTokenizer())
    async with aclosing(opened) as other:
        assert await other.position() == 0
        await other.follow([make_change(1, make_record(1), ["cache"])])
        assert len((await other.search([ask("cache")]))[0]) == 1
    names = await rows(database, NAMES)
    assert len({str(name).split("_")[1] for (name,) in names}) == 1


async def test_while_many_changes_come_no_graph_is_drawn_and_then_one_of_them_all(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contextfind.adapters.postgres.index._BULK", 30)
    monkeypatch.setattr("contextfind.adapters.postgres.index._QUIET_SECONDS", 0.01)
    log = [
        make_change(i, make_record(i, f"viking://resources/{i}.md"), ["x"], [i])
        for i in range(1, 62)
    ]
    index = await opening(MISERLY)
    await index.follow(log[:30])
    assert index.stats()["graph_rows"] == 0
    await index.rest()
    assert (await index.position(), index.stats()["graph_rows"]) == (30, 30)
    await index.follow(log[30:])
    await held_to_memory(index, log, range(1))
    assert index.stats()["graph_rows"] == 61


async def test_a_graph_that_a_process_left_undrawn_is_drawn_by_the_next_one(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contextfind.adapters.postgres.index._BULK", 30)
    index = await opening(MISERLY)
    await index.follow(
        [
            make_change(i, make_record(i, f"viking://resources/{i}.md"), ["x"], [i])
            for i in range(1, 31)
        ]
    )
    await index.aclose()
    monkeypatch.setattr("contextfind.adapters.postgres.index._QUIET_SECONDS", 0.01)
    index = await opening(MISERLY)
    assert index.stats()["graph_rows"] == 0
    await index.rest()
    assert index.stats()["graph_rows"] == 30


async def test_vectors_that_are_long_stand_in_a_graph_too(database: Database) -> None:
    rules = IndexRules(scanned=1, sorted=1, graph_from=3)
    opened = await PostgresIndex.open(database, 2_100, "long", SimpleTokenizer(), rules)
    vectors = [unit(seed, 2_100) for seed in range(9)]
    records = [make_record(i, f"viking://resources/{i}.md") for i in range(1, 10)]
    passages = make_passages("x")
    async with aclosing(opened) as index:
        await index.follow(
            [
                Change(record.id, record.id, record, passages, vector[None, :])
                for record, vector in zip(records, vectors, strict=True)
            ]
        )
        [hits] = await index.search([Probe(ANN, Everything(), 2, vectors[4])])
        assert {hit.id: hit.cosine for hit in hits}[RecordId(5)] == pytest.approx(1.0, abs=1e-6)
        assert index.stats()["plan_neighbours"] == 1


async def test_a_connection_that_the_database_has_closed_is_replaced(
    database: Database, index: PostgresIndex
) -> None:
    await index.follow([make_change(1, make_record(1), ["cache"], [1])])
    assert len((await index.search([ask("cache")]))[0]) == 1
    ended = f"SELECT pg_terminate_backend({pid_of(index)}, 5_000)"
    assert await rows(database, ended) == [(True,)]
    assert len((await index.search([ask("cache")]))[0]) == 1


def pid_of(index: PostgresIndex) -> int:
    """Return the process that answers the finds of an index, of which there is one."""
    (connection,) = index._readers._open
    return connection.info.backend_pid


class Log:
    """A log that can be read, and stops where it is told to."""

    def __init__(self, changes: Sequence[Change]) -> None:
        self.changes = list(changes)
        self.hold: asyncio.Event | None = None
        self.asked = asyncio.Event()

    async def __call__(self, after: int, limit: int) -> Sequence[Change]:
        self.asked.set()
        if self.hold is not None:
            await self.hold.wait()
        return [change for change in self.changes if change.position > after][:limit]


async def step(position: int) -> None:
    """Let the work go on."""


async def test_it_is_built_anew_beside_itself_while_it_answers_and_is_followed(
    database: Database, index: PostgresIndex
) -> None:
    changes = random_log(random.Random(11), 80)  # noqa: S311 - data for tests
    log = Log(changes)
    await index.follow(changes[:60])
    log.hold = asyncio.Event()
    building = asyncio.create_task(index.rebuild(log, step))
    await log.asked.wait()
    async with another(database) as other:
        await other.follow(changes[60:])
        await held_to_memory(index, changes, range(1))
        log.hold.set()
        assert list(await building) == []
        await held_to_memory(other, changes, range(2))
        more = [
            make_change(
                changes[-1].position + 1,
                make_record(9_999, "viking://resources/new.md"),
                ["new"],
                [1],
            )
        ]
        await other.follow(more)
        await held_to_memory(index, [*changes, *more], range(2))


async def test_searches_go_on_while_new_tables_take_the_place_of_the_old(
    database: Database, index: PostgresIndex
) -> None:
    changes = random_log(random.Random(6), 40)  # noqa: S311 - data for tests
    await index.follow(changes)
    before = [list(hits) for hits in await index.search(some_probes(1))]
    done = False

    async def search(one: PostgresIndex) -> int:
        rounds = 0
        while not done:
            assert [list(hits) for hits in await one.search(some_probes(1))] == before
            assert await one.position() == changes[-1].position
            rounds += 1
        return rounds

    async with another(database) as other:
        searching = [asyncio.create_task(search(one)) for one in (index, other, other)]
        for _ in range(5):
            await index.rebuild(Log(changes), step)
        done = True
        assert min(await asyncio.gather(*searching)) > 0


async def test_new_tables_wait_for_who_reads_the_old_ones(
    database: Database, index: PostgresIndex
) -> None:
    changes = random_log(random.Random(6), 40)  # noqa: S311 - data for tests
    await index.follow(changes)
    with (
        psycopg.connect(database.place.conninfo(EVERY_ACCOUNT), autocommit=True) as connection,
        snapshot(connection, TABLES.state) as one,
    ):
        one.connection.execute("SELECT 1").fetchone()  # what is seen from now on is fixed
        building = asyncio.create_task(index.rebuild(Log(changes), step))
        await asyncio.wait([building], timeout=1)
        (seen,) = one.connection.execute(f"SELECT count(*) FROM {TABLES.entries}").fetchone() or ()
    assert seen == index.stats()["records"] > 0
    await building


async def test_a_rebuild_names_the_records_whose_vectors_are_damaged(index: PostgresIndex) -> None:
    good = make_change(1, make_record(1, "viking://resources/a.md"), ["cache"], [1])
    await index.follow(
        [good, make_change(2, make_record(2, "viking://resources/b.md"), ["cache"], [2])]
    )
    damaged = make_change(2, make_record(2, "viking://resources/b.md"), ["cache"], [2])
    assert damaged.vectors is not None
    log = Log([good, replace(damaged, vectors=damaged.vectors * float("nan"))])
    assert list(await index.rebuild(log, step)) == [2]
    [hits] = await index.search([ask("cache", seed=1)])
    assert [hit.cosine is None for hit in hits] == [False, True]


async def test_a_rebuild_that_is_cancelled_or_fails_leaves_the_old_one(
    database: Database, index: PostgresIndex
) -> None:
    changes = random_log(random.Random(2), 40)  # noqa: S311 - data for tests
    await index.follow(changes)
    log = Log(changes)
    log.hold = asyncio.Event()
    building = asyncio.create_task(index.rebuild(log, step))
    await log.asked.wait()
    building.cancel()
    with pytest.raises(asyncio.CancelledError):
        await building

    async def broken(after: int, limit: int) -> Sequence[Change]:
        raise OSError(f"no log after {after}, of {limit}")

    with pytest.raises(OSError, match="no log"):
        await index.rebuild(broken, step)
    await held_to_memory(index, changes, range(1))
    assert not [name for (name,) in await rows(database, NAMES) if "_new_" in str(name)]


async def test_an_index_of_a_log_that_is_no_more_gives_its_place_to_one_of_the_log_that_is(
    index: PostgresIndex,
) -> None:
    changes = random_log(random.Random(4), 30)  # noqa: S311 - data for tests
    await index.follow(changes)
    async with asyncio.timeout(60):
        await index.rebuild(Log(changes[:20]), step)
    await held_to_memory(index, changes[:20], range(1))


async def test_two_processes_build_one_after_the_other(
    database: Database, index: PostgresIndex
) -> None:
    changes = random_log(random.Random(4), 30)  # noqa: S311 - data for tests
    await index.follow(changes)
    async with another(database) as other:
        await asyncio.gather(index.rebuild(Log(changes), step), other.rebuild(Log(changes), step))
        await held_to_memory(other, changes, range(1))
