import asyncio

import pytest
from starlette.requests import Request
from starlette.types import Message

from contextfind.domain.errors import DeadlineExceededError
from contextfind.server.presence import while_awaited


def request_of(left: asyncio.Event) -> Request:
    async def receive() -> Message:
        await left.wait()
        return {"type": "http.disconnect"}

    return Request({"type": "http"}, receive)


@pytest.mark.parametrize("deadline", [None, 10.0**9])
async def test_what_is_awaited_ends_when_the_caller_leaves(deadline: float | None) -> None:
    left = asyncio.Event()
    left.set()
    with pytest.raises(DeadlineExceededError):
        async with while_awaited(request_of(left), deadline):
            await asyncio.Event().wait()


async def test_what_ends_in_time_is_told_and_so_is_what_fails() -> None:
    request = request_of(asyncio.Event())
    there = asyncio.all_tasks()
    async with while_awaited(request, None):
        await asyncio.sleep(0)
    with pytest.raises(TimeoutError):
        async with while_awaited(request, None):
            raise TimeoutError
    assert asyncio.all_tasks() == there


async def test_a_task_that_is_cancelled_from_outside_stays_cancelled() -> None:
    begun = asyncio.Event()

    async def serve() -> None:
        async with while_awaited(request_of(asyncio.Event()), None):
            begun.set()
            await asyncio.Event().wait()

    serving = asyncio.create_task(serve())
    await begun.wait()
    serving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await serving


async def test_nobody_looks_for_the_caller_of_an_answer_that_is_there_soon() -> None:
    looked = False

    async def receive() -> Message:
        nonlocal looked
        looked = True
        return {"type": "http.disconnect"}

    async with while_awaited(Request({"type": "http"}, receive), None):
        await asyncio.sleep(0)
    assert not looked
