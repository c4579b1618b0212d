"""Who gets a seat in the house, and when."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from starlette.types import Message

from contextfind.domain.errors import ResourceExhaustedError, UnavailableError
from contextfind.server.rules import ServerRules
from contextfind.server.seats import Seat, Seats


async def stays() -> Message:
    await asyncio.Event().wait()
    raise AssertionError


async def leaves() -> Message:
    return {"type": "http.disconnect"}


@dataclass
class House:
    """Seats, and the order in which accounts got one."""

    seats: Seats
    came: list[str] = field(default_factory=list)
    waiting: list[asyncio.Task[None]] = field(default_factory=list)

    async def ask(self, *accounts: str) -> None:
        """Let each ask for a seat, one after the other."""
        for account in accounts:
            self.waiting.append(asyncio.create_task(self._come(account)))
            await asyncio.sleep(0)

    async def _come(self, account: str) -> None:
        await self.seats.take(account, stays)
        self.came.append(account)

    async def leave(self, accounts: Sequence[str]) -> None:
        for account in accounts:
            self.seats.leave(account)
            for _ in range(3):
                await asyncio.sleep(0)


def house(seats: int, waiting: int = 100, seconds: float = 60.0) -> House:
    rules = ServerRules(max_requests=seats, max_waiting=waiting, queue_seconds=seconds)
    return House(Seats(rules))


async def test_the_accounts_take_turns_however_many_requests_one_has_sent() -> None:
    place = house(seats=4)
    await place.ask("a", "a", "a", "b")  # all seats are taken
    await place.ask("a", "a", "a", "a", "b", "b", "c")
    assert place.came == ["a", "a", "a", "b"]
    await place.leave(["a", "b", "a", "b", "a", "b", "c", "a"])
    assert place.came[4:] == ["a", "b", "c", "a", "b", "a", "a"]
    assert place.seats.waiting == 0
    await place.ask("d", "d")  # three of the four are taken
    assert place.came[11:] == ["d"]


async def test_an_account_leaves_a_quarter_of_the_seats_to_others() -> None:
    place = house(seats=4)
    await place.ask("a", "a", "a", "a")
    assert (place.came, place.seats.waiting) == (["a", "a", "a"], 1)
    await place.ask("b")
    assert place.came == ["a", "a", "a", "b"]
    await place.leave(["b"])
    assert place.seats.waiting == 1
    await place.leave(["a"])
    assert place.came[4:] == ["a"]


async def test_one_seat_is_enough_for_one_account() -> None:
    place = house(seats=1)
    await place.ask("a", "a")
    await place.leave(["a"])
    assert place.came == ["a", "a"]


async def test_a_full_queue_refuses_its_own_account_and_no_other() -> None:
    place = house(seats=2, waiting=1)
    await place.ask("a", "b", "a")
    with pytest.raises(ResourceExhaustedError) as refused:
        await place.seats.take("a", stays)
    assert refused.value.details == {"retry_after_seconds": 1, "retryable": True}
    await place.ask("b")
    assert place.seats.waiting == 2


async def test_who_waited_too_long_or_left_is_out_of_the_queue() -> None:
    place = house(seats=1, seconds=0.01)
    await place.ask("a")
    with pytest.raises(UnavailableError) as refused:
        await place.seats.take("a", stays)
    assert refused.value.details == {"retry_after_seconds": 1, "retryable": True}
    place = house(seats=1)
    await place.ask("a")
    with pytest.raises(UnavailableError):
        await place.seats.take("a", leaves)
    assert place.seats.waiting == 0
    await place.leave(["a"])
    await place.ask("b", "b")
    assert place.came == ["a", "b"]


async def test_one_that_is_cancelled_passes_its_turn_on_even_when_it_was_just_called() -> None:
    place = house(seats=1)
    await place.ask("a", "b", "c", "d")
    place.waiting[1].cancel()  # while it waits
    place.seats.leave("a")  # calls c
    place.waiting[2].cancel()  # before it could sit down
    for _ in range(5):
        await asyncio.sleep(0)
    assert place.came == ["a", "d"]
    assert place.seats.waiting == 0
    await place.leave(["d"])
    await place.ask("e", "e")
    assert place.came == ["a", "d", "e"]


async def test_a_request_takes_and_leaves_one_seat_only() -> None:
    place = house(seats=1)
    seat = Seat(place.seats, "a")
    seat.leave()
    await seat.take(stays)  # its answer had begun
    seat = Seat(place.seats, "a")
    await seat.take(stays)
    await seat.take(stays)
    await place.ask("b", "b")
    assert place.came == []
    seat.leave()
    await asyncio.sleep(0)
    seat.leave()
    await asyncio.sleep(0)
    assert place.came == ["b"]
