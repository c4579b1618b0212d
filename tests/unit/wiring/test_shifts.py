"""Workers go on after what nobody foresaw."""

import asyncio
import logging

import pytest

from contextfind.wiring.shifts import Shift


class Worker:
    """Fails so many times, then works until it is cancelled."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.begun = 0
        self.at_work = asyncio.Event()
        self.ended = False

    async def run(self) -> None:
        self.begun += 1
        await asyncio.sleep(0)
        if self.begun <= self.failures:
            raise RuntimeError("none of the rules matched")
        self.at_work.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            self.ended = True


async def test_a_worker_that_fell_over_begins_again_after_a_pause_that_grows(
    caplog: pytest.LogCaptureFixture,
) -> None:
    worker, pauses, told = Worker(8), list[float](), list[str]()

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        told.append(shift.standing)

    with caplog.at_level(logging.ERROR):
        shift = Shift("summaries", worker.run, sleep)
        await worker.at_work.wait()
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60]
    assert {line.startswith("stopped; the log says why") for line in told} == {True}
    assert "worker summaries stopped; it begins again in 1 s" in caplog.text
    assert "none of the rules matched" in caplog.text
    assert shift.standing == "ok"
    shift.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await shift.task
    assert worker.ended
    assert shift.standing == "stopped; the log says why"


async def test_a_worker_whose_own_wait_was_cancelled_begins_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    at_work = asyncio.Event()
    begun = 0

    async def work() -> None:
        nonlocal begun
        begun += 1
        if begun == 1:
            raise asyncio.CancelledError  # as of an executor that was shut down
        at_work.set()
        await asyncio.Event().wait()

    async def sleep(seconds: float) -> None:
        assert seconds == 1

    with caplog.at_level(logging.ERROR):
        shift = Shift("follower", work, sleep)
        await asyncio.wait_for(at_work.wait(), 10)
    assert "worker follower stopped" in caplog.text
    shift.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await shift.task
