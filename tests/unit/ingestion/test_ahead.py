import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import aclosing

import pytest

from contextfind.ingestion.ahead import ahead


class Bakery:
    """Works that note when they begin, end, or are cancelled."""

    def __init__(self) -> None:
        self.noted: list[str] = []

    def works(self, count: int) -> Iterator[Coroutine[None, None, int]]:
        return (self._bake(number) for number in range(count))

    async def _bake(self, number: int) -> int:
        self.noted.append(f"begin {number}")
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            self.noted.append(f"cancel {number}")
            raise
        if number == 13:
            raise ValueError(number)
        self.noted.append(f"end {number}")
        return number


async def test_results_come_in_order_while_the_next_one_is_made() -> None:
    bakery = Bakery()
    eaten: list[int] = []
    async with aclosing(ahead(bakery.works(4))) as coming:
        async for loaf in coming:
            await asyncio.sleep(0.01)
            eaten.append(loaf)
            begun = sum(note.startswith("begin") for note in bakery.noted)
            assert begun == min(loaf + 2, 4)  # the one eaten and the next, never more
    assert eaten == [0, 1, 2, 3]


async def test_nothing_to_do_yields_nothing() -> None:
    assert [loaf async for loaf in ahead(Bakery().works(0))] == []


async def test_who_leaves_early_cancels_what_is_under_way() -> None:
    bakery = Bakery()
    async with aclosing(ahead(bakery.works(4))) as coming:
        async for _ in coming:
            await asyncio.sleep(0)
            break
    assert bakery.noted == ["begin 0", "end 0", "begin 1", "cancel 1"]


async def test_a_failure_comes_in_its_turn() -> None:
    coming = ahead(Bakery()._bake(number) for number in (1, 13, 2))
    assert await anext(coming) == 1
    with pytest.raises(ValueError, match="13"):
        await anext(coming)
