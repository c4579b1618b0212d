import asyncio

from contextfind.ingestion.pulse import Pulse


async def test_a_beat_wakes_everybody_who_waits() -> None:
    pulse = Pulse()
    waiting = [asyncio.create_task(pulse.wait(5, pulse.beats)) for _ in range(3)]
    await asyncio.sleep(0)
    pulse.beat()
    assert await asyncio.gather(*waiting) == [True, True, True]


async def test_a_beat_between_looking_and_waiting_is_not_missed() -> None:
    pulse = Pulse()
    before = pulse.beats
    pulse.beat()
    assert await pulse.wait(0.001, before)


async def test_without_a_beat_the_wait_ends_at_its_bound() -> None:
    pulse = Pulse()
    assert not await pulse.wait(0.001, pulse.beats)


async def test_a_cancel_beside_a_beat_is_not_swallowed() -> None:
    pulse = Pulse()
    task = asyncio.create_task(pulse.wait(5, pulse.beats))
    await asyncio.sleep(0)
    pulse.beat()
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
