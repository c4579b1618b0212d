"""Processes on one schema, told apart by having each its own `Database`."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from contextfind.adapters.postgres.company import PostgresCompany
from contextfind.adapters.postgres.database import Database
from contextfind.domain.errors import UnavailableError
from contextfind.domain.uri import Uri
from tests import databases

DOCS, FILE, OTHER = (
    Uri("viking://resources/docs"),
    Uri("viking://resources/docs/a.md"),
    Uri("viking://resources/other"),
)


@asynccontextmanager
async def two() -> AsyncIterator[tuple[PostgresCompany, PostgresCompany]]:
    place = databases.place()
    opened = [await Database.open(place) for _ in range(2)]
    companies = [PostgresCompany(database) for database in opened]
    try:
        yield companies[0], companies[1]
    finally:
        for company in companies:
            await company.aclose()
        for database in opened:
            await database.aclose()
        databases.drop(place.schema)


@pytest.mark.parametrize(
    ("one", "other", "meet"),
    [
        (FILE, FILE, True),
        (DOCS, FILE, True),
        (FILE, DOCS, True),
        (FILE, OTHER, False),
        (DOCS, OTHER, False),
    ],
)
async def test_places_that_overlap_are_held_by_one_process_at_a_time(
    one: Uri, other: Uri, *, meet: bool
) -> None:
    async with two() as (first, second), first.holding("writing", "acme", one):
        if not meet:
            async with second.holding("writing", "acme", other, patience=0):
                return
        with pytest.raises(UnavailableError, match="another server works at"):
            async with second.holding("writing", "acme", other, patience=0.02):
                raise AssertionError
        async with second.holding("writing", "bolt", other, patience=0):  # another account's
            pass
        async with second.holding("archives", "acme", other, patience=0):  # another thing
            pass


async def test_who_waits_comes_when_the_other_has_left() -> None:
    order: list[str] = []
    async with two() as (first, second):

        async def wait() -> None:
            async with second.holding("writing", "acme", FILE):
                order.append("second")

        async with first.holding("writing", "acme", FILE):
            waiting = asyncio.create_task(wait())
            await asyncio.sleep(0.1)
            order.append("first")
        await asyncio.wait_for(waiting, 20)
    assert order == ["first", "second"]


async def test_who_gives_up_waiting_holds_nothing() -> None:
    async with two() as (first, second):
        async with first.holding("writing", "acme", FILE):
            waiting = asyncio.create_task(_hold(second, DOCS))
            await asyncio.sleep(0.05)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
        async with first.holding("writing", "acme", DOCS, patience=0):
            pass


async def test_what_a_process_held_is_free_when_its_connection_is_gone() -> None:
    async with two() as (first, second), first.holding("writing", "acme", FILE):
        await first.aclose()
        async with second.holding("writing", "acme", FILE, patience=20):
            pass


async def test_one_leads_and_the_next_one_when_it_is_gone() -> None:
    place = databases.place()
    first, second = await Database.open(place), await Database.open(place)
    try:
        assert await PostgresCompany(first).leads()
        assert not await PostgresCompany(second).leads()
        await first.aclose()
        async with asyncio.timeout(20):
            while not await PostgresCompany(second).leads():  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.02)
    finally:
        await first.aclose()
        await second.aclose()
        databases.drop(place.schema)


async def test_nobody_leads_who_cannot_ask() -> None:
    async with two() as (first, _):
        await first._database.aclose()
        assert not await first.leads()


async def test_who_is_cancelled_at_any_moment_holds_nothing() -> None:
    async with two() as (first, second):
        async with first.holding("writing", "acme", OTHER):  # it is connected
            pass
        for number in range(60):
            place = Uri(f"viking://resources/docs{number}/a.md")
            holding = asyncio.create_task(_come_and_go(first, place))
            for _ in range(number % 20):
                await asyncio.sleep(0)
            await asyncio.sleep(number % 5 * 0.0003)
            holding.cancel()
            await asyncio.gather(holding, return_exceptions=True)
        async with second.holding("writing", "acme", Uri("viking://resources"), patience=5):
            pass


async def test_what_was_lost_with_a_connection_is_not_given_back_in_the_place_of_others() -> None:
    async with two() as (first, second):
        async with first.holding("writing", "acme", FILE):
            await first.aclose()  # as a database that begins again does
            beside = first.holding("writing", "acme", Uri("viking://resources/docs/b.md"))
            await beside.__aenter__()
        with pytest.raises(UnavailableError, match="another server works at"):
            async with second.holding("writing", "acme", DOCS, patience=0.02):
                raise AssertionError
        await beside.__aexit__(None, None, None)


async def test_a_server_that_says_nothing_is_waited_for_no_longer_than_a_statement_may_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with two() as (first, _):
        async with first.holding("writing", "acme", OTHER):
            pass
        monkeypatch.setattr(first._database, "place", replace(first._database.place, seconds=0.2))
        assert first._connection is not None
        stolen = asyncio.create_task(first._connection.execute("SELECT pg_sleep(20)"))
        await asyncio.sleep(0.05)
        async with asyncio.timeout(10):
            async with first.holding("writing", "acme", FILE):
                pass
        await asyncio.gather(stolen, return_exceptions=True)


async def _come_and_go(company: PostgresCompany, place: Uri) -> None:
    async with company.holding("writing", "acme", place):
        await asyncio.sleep(0.001)


async def _hold(company: PostgresCompany, place: Uri) -> None:
    async with company.holding("writing", "acme", place):
        raise AssertionError
