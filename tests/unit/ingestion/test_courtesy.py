import asyncio

import pytest

from contextfind.ingestion.courtesy import Courtesy


async def test_nobody_waits_while_nobody_is_answered() -> None:
    courtesy = Courtesy(patience=60)
    await courtesy.give_way()
    with courtesy.answering():
        pass
    await courtesy.give_way()


async def test_work_goes_on_when_the_last_of_several_has_been_answered() -> None:
    courtesy = Courtesy(patience=60)
    with courtesy.answering():
        with courtesy.answering():
            working = asyncio.create_task(courtesy.give_way())
            await asyncio.sleep(0)
        await asyncio.sleep(0.01)
        assert not working.done()
    await asyncio.wait_for(working, 10)


async def test_work_never_stands_still_however_many_ask() -> None:
    courtesy = Courtesy(patience=0.01)
    with courtesy.answering():
        await asyncio.wait_for(courtesy.give_way(), 10)


async def test_who_fails_is_answered_too() -> None:
    courtesy = Courtesy(patience=60)
    with pytest.raises(RuntimeError), courtesy.answering():
        raise RuntimeError
    await courtesy.give_way()


async def test_between_requests_that_come_one_after_the_other_work_takes_a_rest() -> None:
    courtesy = Courtesy()
    clock = asyncio.get_running_loop().time
    with courtesy.answering():
        pass
    began = clock()
    await courtesy.give_way()
    assert clock() - began >= 0.015  # a timer may be early by the clock's resolution
