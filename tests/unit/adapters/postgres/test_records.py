"""The record store as several processes share it, and as row-level security guards it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace

import numpy as np
import psycopg
import pytest
from psycopg import AsyncConnection

from contextfind.adapters.postgres import rows
from contextfind.adapters.postgres.compaction import PostgresCompaction
from contextfind.adapters.postgres.database import Database
from contextfind.adapters.postgres.records import PostgresRecordStore
from contextfind.domain.errors import ConflictError, UnavailableError
from contextfind.domain.filters import Under
from contextfind.domain.records import ContextType, Level, RecordId
from contextfind.domain.scope import Scope
from contextfind.domain.uri import ROOT, Uri
from contextfind.ports.moves import Move
from contextfind.ports.store import Commit, RecordDraft, StaleDirectory
from tests import databases
from tests.builders import NOON, make_passages, unit

Opener = Callable[[], Awaitable[PostgresRecordStore]]
ANN = Scope("acme", "ann", (ROOT,))
OF_ACCOUNTS = ("records", "tags", "passages", "stale")
OF_THE_HOUSE = ("vectors", "log")


@pytest.fixture
async def opened() -> AsyncIterator[Opener]:
    """Return what opens the same store once more, as another process would."""
    async with AsyncExitStack() as stack:
        place = stack.enter_context(databases.borrowed())

        async def another() -> PostgresRecordStore:
            store = PostgresRecordStore(await Database.open(place))
            stack.push_async_callback(store.aclose)
            return store

        yield another


def at(path: str) -> Uri:
    return Uri.parse(f"viking://resources/{path}")


def draft(path: str, *texts: str, level: Level = Level.DETAIL) -> RecordDraft:
    return RecordDraft(at(path), level, ContextType.RESOURCE, "", make_passages(*texts), ("k=v",))


async def until(true: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(20):
        while not await true():  # noqa: ASYNC110 - another process tells nobody
            await asyncio.sleep(0.02)


async def sql(store: PostgresRecordStore, statement: str) -> list[tuple[object, ...]]:
    async def work(connection: AsyncConnection) -> list[tuple[object, ...]]:
        return await (await connection.execute(statement)).fetchall()

    return await store._database.house(work)


# what one process commits


async def test_what_one_process_commits_another_sees_at_once(opened: Opener) -> None:
    one, two = await opened(), await opened()
    waiting = asyncio.ensure_future(two.wait_beyond(0))
    done = await one.commit(Commit("acme", NOON, put=[draft("a", "x")]))
    assert await two.position() == done.position == 1
    assert [record.uri for record in await two.at(ANN, at("a"))] == [at("a")]
    await asyncio.wait_for(waiting, 20)


async def test_of_two_commits_that_exclude_each_other_one_is_refused(opened: Opener) -> None:
    stores = [await opened(), await opened()]
    for number in range(10):
        file, inside = draft(f"{number}"), draft(f"{number}/a")
        done = await asyncio.gather(
            stores[0].commit(Commit("acme", NOON, put=[file])),
            stores[1].commit(Commit("acme", NOON, put=[inside])),
            return_exceptions=True,
        )
        assert [isinstance(one, ConflictError) for one in done].count(True) == 1
    assert (await stores[0].counts())["files"] == 10


async def test_who_follows_misses_nothing_while_several_write(opened: Opener) -> None:
    writers, follower = [await opened(), await opened()], await opened()
    seen: dict[RecordId, int] = {}
    last, writing = 0, True

    async def write(number: int) -> None:
        for turn in range(25):
            put = [draft(f"{number}/{turn % 7}", f"{number} {turn}"), draft(f"{number}/{turn + 9}")]
            remove = [at(f"{number}/{turn}")] if turn > 9 else []
            await writers[number].commit(Commit("acme", NOON, put=put, remove=remove))
            found = await writers[number].pending(2)
            await writers[number].add_vectors([(text.digest, unit(turn)) for text in found])

    async def follow() -> None:
        nonlocal last
        while True:
            over = not writing  # before it is read: so nothing can come after
            changes = await follower.changes(last, 5)
            if over and not changes:
                return
            for change in changes:
                assert change.position > last
                last = change.position
                seen[change.id] = change.position

    following = asyncio.ensure_future(follow())
    await asyncio.gather(write(0), write(1))
    writing = False
    await following
    whole = await follower.changes(0, 1_000)
    assert {change.id: change.position for change in whole} == seen
    assert len(whole) > 60
    assert last == await follower.position()


async def test_writers_that_touch_the_same_records_do_not_wait_in_a_circle(opened: Opener) -> None:
    one, two = await opened(), await opened()
    names = [f"{number}" for number in range(20)]
    put = [draft(name, name) for name in names]
    await one.commit(Commit("acme", NOON, put=put))
    ids = [(await one.at(ANN, at(name)))[0].id for name in names]

    async def retext(text: str, order: Sequence[str]) -> None:
        for turn in range(8):
            new = [draft(name, f"{text} {turn}") for name in order]
            await one.commit(Commit("acme", NOON, put=new))

    async def use(order: Sequence[RecordId]) -> None:
        for _ in range(8):
            await two.touch(order)

    await asyncio.gather(retext("x", names), retext("y", names[::-1]), use(ids), use(ids[::-1]))
    assert {record.active_count for record in await one.get(ids) if record} == {16}


async def test_a_record_that_is_damaged_counts_as_gone_and_holds_no_follower_up(
    opened: Opener,
) -> None:
    store = await opened()
    await store.commit(Commit("acme", NOON, put=[draft("a"), draft("b"), draft("c")]))

    async def damage(connection: AsyncConnection) -> None:
        await connection.execute("UPDATE records SET context_type = 'x' WHERE name = 'b'")

    await store._database.write(damage)
    told = [change.record and change.record.name for change in await store.changes(0, 9)]
    assert told == ["a", None, "c"]


async def test_a_tree_of_very_many_records_is_removed_in_statements_that_end_in_time(
    opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "_AT_ONCE", 3)
    store = await opened()
    put = [draft(f"d/{number}", f"{number}", "same") for number in range(10)]
    await store.commit(Commit("acme", NOON, put=put))
    await store.add_vectors([(text.digest, unit(1)) for text in await store.pending(99)])
    done = await store.commit(Commit("acme", NOON, remove=[at("d")], put=[draft("x", "same")]))
    assert (done.removed, done.position) == (10, 10 + 10 + 10 + 1)
    assert (await store.counts())["vectors"] == 1
    gone = [change.record for change in await store.changes(0, 99)]
    assert [record and record.name for record in gone] == [None] * 10 + ["x"]


async def test_a_commit_that_is_cancelled_is_whole_or_not_there_and_holds_nobody_up(
    opened: Opener,
) -> None:
    store = await opened()
    for number in range(30):
        put = [draft(f"{number}/{part}", f"{number} {part}") for part in range(3)]
        task = asyncio.ensure_future(store.commit(Commit("acme", NOON, put=put)))
        await asyncio.sleep(number / 5_000)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        found = await asyncio.gather(store.select(ANN, Under(at(f"{number}")), 9), store.pending(1))
        assert len(found[0]) in (0, 3)
    done = await store.commit(Commit("acme", NOON, put=[draft("last")]))
    assert done.position == (await store.counts())["records"] > 1
    assert (await store.counts())["passages"] == done.position - 1


async def test_who_waits_too_long_for_another_writer_is_told_to_try_again(opened: Opener) -> None:
    busy = await opened()
    soon = replace(busy._database.place, seconds=1.0)
    waiting = PostgresRecordStore(await Database.open(soon))
    held, over = asyncio.Event(), asyncio.Event()

    async def hold(connection: AsyncConnection) -> None:
        await (await connection.execute("SELECT 1")).fetchone()  # only now it is the only one
        held.set()
        await over.wait()

    holding = asyncio.ensure_future(busy._database.commit(hold))
    await held.wait()
    with pytest.raises(UnavailableError) as refused:
        await waiting.commit(Commit("acme", NOON, put=[draft("a")]))
    assert refused.value.details == {"retryable": True}
    assert "timeout" in str(refused.value)
    over.set()
    await holding
    assert (await waiting.commit(Commit("acme", NOON, put=[draft("a")]))).position == 1
    await waiting.aclose()


async def test_a_commit_whose_connection_breaks_is_not_there_and_the_next_one_is(
    opened: Opener,
) -> None:
    store, other = await opened(), await opened()

    async def broken(connection: AsyncConnection) -> None:
        await connection.execute("UPDATE head SET position = 99")
        pid = connection.info.backend_pid
        await sql(other, f"SELECT pg_terminate_backend({pid})")
        await connection.execute("SELECT 1")

    with pytest.raises(UnavailableError):
        await store._database.commit(broken)
    assert await other.position() == 0
    assert (await store.commit(Commit("acme", NOON, put=[draft("a")]))).position == 1


# shares of the work


def texts(found: Sequence[object]) -> set[str]:
    return {getattr(text, "text", "") for text in found}


async def claims(store: PostgresRecordStore) -> int:
    [(count,)] = await sql(store, "SELECT count(*) FROM claims")
    assert isinstance(count, int)
    return count


async def test_vectors_of_two_embedders_never_meet_while_processes_of_both_run(
    opened: Opener,
) -> None:
    old, new = await opened(), await opened()
    await old.set_fingerprint("hash/8")
    await old.commit(Commit("acme", NOON, put=(draft("a.md", "one", "two"),)))
    (one, two) = await old.pending(9)
    await old.add_vectors([(one.digest, np.ones(8, np.float32))])
    assert await new.fingerprint() == "hash/8"
    await new.forget_vectors(
        "hash/16"
    )  # as a server does that is started to embed everything again
    with pytest.raises(UnavailableError, match="embedded by 'hash/16' since this one was started"):
        await old.add_vectors([(two.digest, np.ones(8, np.float32))])
    with pytest.raises(UnavailableError, match="start it again with the embedder of the other"):
        await old.changes(0, 9)
    with pytest.raises(UnavailableError, match="hash/16"):
        await old.restore([])
    with pytest.raises(UnavailableError, match="hash/16"):
        await old.pending(9)
    assert await new.pending(9) == [one, two]  # though the old one was given them, and lives
    assert (await new.counts())["vectors"] == 0
    await new.add_vectors([(two.digest, np.ones(16, np.float32))])
    assert [change.vectors for change in await new.changes(0, 9)] == [None]


async def test_each_process_that_lives_embeds_a_share_of_its_own(opened: Opener) -> None:
    one, two = await opened(), await opened()
    await one.commit(Commit("acme", NOON, put=[draft("a", *"abcdef"), draft("b", "a")]))
    mine, theirs = await one.pending(2), await two.pending(3)
    assert (texts(mine), texts(theirs)) == ({"a", "b"}, {"c", "d", "e"})
    assert await one.pending(2) == mine
    assert (await one.backlog()).texts == (await two.backlog()).texts == 6
    await one.add_vectors([(text.digest, unit(1)) for text in mine])
    assert await claims(one) == 3
    assert texts(await one.pending(9)) == {"f"}
    await two.aclose()

    async def taken_over() -> bool:
        return texts(await one.pending(9)) == {"c", "d", "e", "f"}

    await until(taken_over)


async def test_processes_that_ask_at_the_same_time_never_get_the_same_text(opened: Opener) -> None:
    stores = [await opened() for _ in range(3)]
    await stores[0].commit(Commit("acme", NOON, put=[draft("a", *map(str, range(60)))]))
    while (await stores[0].backlog()).texts:
        shares = await asyncio.gather(*(store.pending(7) for store in stores))
        assert sum(map(len, shares)) == len(set().union(*map(texts, shares)))
        for store, share in zip(stores, shares, strict=True):
            await store.add_vectors([(text.digest, unit(1)) for text in share])
    assert await claims(stores[0]) == 0


def marked(path: str) -> Commit:
    folder = draft(path, level=Level.ABSTRACT)
    return Commit("acme", NOON, put=[folder], stale=[folder.uri])


def names(found: Sequence[StaleDirectory]) -> list[str]:
    return [one.uri.text.removeprefix("viking://resources/") for one in found]


async def test_a_directory_is_summarised_by_one_process_after_what_lies_in_it(
    opened: Opener,
) -> None:
    one, two = await opened(), await opened()
    for path in ("d", "d/e", "d0", "x"):
        await one.commit(marked(path))
    mine = await one.stale(1)
    assert names(mine) == ["d/e"]
    assert names(await two.stale(9)) == ["d0", "x"]
    await one.commit(marked("d/e"))  # marked again: it still is who is at it that will see to it
    assert names(await two.stale(9)) == ["d0", "x"]
    await one.commit(Commit("acme", NOON, fresh=mine))
    assert names(await two.stale(9)) == ["d/e", "d", "d0", "x"]
    assert await one.stale(9) == []
    assert (await one.backlog()).directories == 4


async def test_nothing_is_left_of_a_claim_on_what_is_gone(opened: Opener) -> None:
    store = await opened()
    for path in ("d", "d/e", "x"):
        await store.commit(marked(path))
    await store.commit(Commit("acme", NOON, put=[draft("d/a", "a", "b"), draft("f", "b", "c")]))
    await store.pending(9)
    await store.stale(9)
    assert await claims(store) == 3 + 3
    move = Move(at("d/e"), at("y"), lambda _old, _new, line: line)
    await store.commit(Commit("acme", NOON, put=[draft("f", "b")], move=move))
    assert await claims(store) == 2 + 2
    await store.commit(Commit("acme", NOON, remove=[at("d"), at("f"), at("x")]))
    assert await claims(store) == 0


# row-level security


async def filled(opened: Opener) -> PostgresRecordStore:
    store = await opened()
    for account in ("acme", "bolt"):
        put = [draft(name, f"{account} {name}") for name in "ab"]
        folder = draft("d", level=Level.ABSTRACT)
        await store.commit(Commit(account, NOON, put=[*put, folder], stale=[folder.uri]))
    found = await store.pending(99)
    await store.add_vectors([(text.digest, unit(1)) for text in found])
    return store


async def counted(store: PostgresRecordStore, account: str) -> dict[str, int]:
    async def work(connection: AsyncConnection) -> dict[str, int]:
        counts: dict[str, int] = {}
        for table in (*OF_ACCOUNTS, *OF_THE_HOUSE):
            cursor = await connection.execute(f"SELECT count(*) FROM {table}")  # noqa: S608 - a constant
            row = await cursor.fetchone()
            assert row is not None
            counts[table] = row[0]
        return counts

    return await store._database.read(account, work)


async def test_a_query_that_forgets_its_scope_shows_nothing_of_others(opened: Opener) -> None:
    store = await filled(opened)
    nothing = dict.fromkeys((*OF_ACCOUNTS, *OF_THE_HOUSE), 0)
    for nobody in ("", "none", "%", "acme' OR '1' = '1"):
        assert await counted(store, nobody) == nothing
    own = {"records": 3, "tags": 3, "passages": 2, "stale": 1}
    assert await counted(store, "acme") == nothing | own
    everything = await sql(store, "SELECT count(*) FROM records")
    assert everything == [(6,)]

    async def stolen(connection: AsyncConnection) -> list[tuple[object, ...]]:
        cursor = await connection.execute(
            "SELECT account FROM records WHERE account = 'bolt' OR 1 = 1"
        )
        return await cursor.fetchall()

    assert set(await store._database.read("acme", stolen)) == {("acme",)}


async def test_a_statement_of_one_account_writes_nothing_for_another(opened: Opener) -> None:
    store = await filled(opened)

    async def foist(connection: AsyncConnection) -> None:
        await connection.execute("SELECT set_config('contextfind.account', 'acme', true)")
        with contextlib.suppress(psycopg.errors.InsufficientPrivilege):
            async with connection.transaction():
                await connection.execute("INSERT INTO stale VALUES (99, 'bolt', 'viking://x', 1)")
                raise AssertionError
        done = await connection.execute(
            "UPDATE records SET abstract = 'theirs' WHERE account = 'bolt'"
        )
        assert done.rowcount == 0

    await store._database.write(foist)
    assert await counted(store, "bolt") == await counted(store, "acme")


async def test_a_move_within_one_account_leaves_the_same_tree_of_another(opened: Opener) -> None:
    store = await filled(opened)
    move = Move(at("a"), at("c"), lambda _old, _new, line: line)
    await store.commit(Commit("acme", NOON, move=move))
    bolts = await store.below(Scope("bolt", "ann", (ROOT,)), ROOT, 9)
    assert [record.name for record in bolts] == ["a", "b", "d"]


async def test_no_position_of_the_log_means_two_states(opened: Opener) -> None:
    store, other = await opened(), await opened()
    kept = (await store.commit(Commit("acme", NOON, put=[draft("a")]))).position
    lost = (await store.commit(Commit("acme", NOON, put=[draft("b")]))).position
    # Behind both of them, as a restore does; then they write before they have looked.
    schema = store._database.place.schema
    databases.execute(f'UPDATE "{schema}".head SET position = {kept}')  # noqa: S608 - ours
    compaction = PostgresCompaction(store._database)
    assert lost not in await compaction.reach()
    await store.touch([RecordId(1)])  # enters no log, so nothing is left out yet
    assert (await compaction.reach()).last == kept
    later = (await store.commit(Commit("acme", NOON, put=[draft("c")]))).position
    log = await compaction.reach()
    assert [at in log for at in (0, kept, lost, later - 1, later)] == [
        True,
        True,
        False,
        False,
        True,
    ]
    again = (await other.commit(Commit("acme", NOON, put=[draft("d")]))).position
    assert again == later + 1
    assert later - 1 not in await compaction.reach()
