import asyncio

import pytest

from contextfind.ingestion.courtesy import Courtesy


async def test_nobody_waits_while_nobody_is_answered() -> None:
    courtesy = Courtesy(patience=60)
    await courtesy.give_way()
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
    await asyncio.sleep(0.25)
    await asyncio.wait_for(courtesy.give_way(), 1)


async def test_beside_requests_each_step_waits_for_an_answer_of_its_own() -> None:
    courtesy = Courtesy(patience=60)
    with courtesy.answering():
        pass
    steps = [asyncio.create_task(courtesy.give_way()) for _ in range(2)]
    await asyncio.sleep(0.01)
    assert [step.done() for step in steps] == [False, False]
    for done in ([True, False], [True, True]):
        with courtesy.answering():
            pass
        await asyncio.sleep(0.01)
        assert [step.done() for step in steps] == done


async def test_a_while_after_the_last_answer_nobody_waits_any_more() -> None:
    courtesy = Courtesy(patience=60)
    with courtesy.answering():
        pass
    await asyncio.sleep(0.25)
    await asyncio.wait_for(courtesy.give_way(), 1)
