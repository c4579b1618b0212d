import logging
import operator
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from contextfind.adapters.process.spare import COMMAND, SpareProcess

SECONDS = 30.0


@pytest.fixture
def behind() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


@pytest.fixture
def spare(behind: ThreadPoolExecutor) -> Iterator[SpareProcess]:
    with SpareProcess(behind, warm=["contextfind.domain.errors"]) as executor:
        yield executor


def until(held: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not held():
        assert time.monotonic() < end
        time.sleep(0.01)  # noqa: TID251 - another process is waited for


def started(spare: SpareProcess) -> int:
    """Return the id of the process, once it is there."""
    until(lambda: spare.submit(os.getpid).result(SECONDS) != os.getpid())
    return spare.submit(os.getpid).result(SECONDS)


def test_nothing_waits_for_the_start_and_then_work_is_done_elsewhere(spare: SpareProcess) -> None:
    assert not spare.ready
    assert spare.submit(os.getpid).result(SECONDS) == os.getpid()
    assert started(spare) != os.getpid()
    assert spare.ready


def test_results_and_errors_come_back_in_order(spare: SpareProcess) -> None:
    started(spare)
    assert list(spare.map(operator.mul, range(20), range(20))) == [n * n for n in range(20)]
    with pytest.raises(ZeroDivisionError):
        spare.submit(operator.truediv, 1, 0).result(SECONDS)
    assert len(spare.submit(operator.mul, b"x", 3_000_000).result(SECONDS)) == 3_000_000


def test_what_a_library_prints_does_not_disturb(spare: SpareProcess) -> None:
    started(spare)
    spare.submit(print, "hello").result(SECONDS)
    assert spare.submit(operator.add, 1, 1).result(SECONDS) == 2


def test_work_of_a_killed_process_is_done_behind_it_and_another_one_starts(
    spare: SpareProcess, caplog: pytest.LogCaptureFixture
) -> None:
    first = started(spare)
    under_way: Future[object] = spare.submit(select.select, [], [], [], 0.5)
    waiting = [spare.submit(os.getpid) for _ in range(3)]
    os.kill(first, 9)
    assert under_way.result(SECONDS) == ([], [], [])
    assert {one.result(SECONDS) for one in waiting} == {os.getpid()}
    assert started(spare) not in (first, os.getpid())
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


def test_a_process_that_cannot_start_is_given_up(behind: ThreadPoolExecutor) -> None:
    with SpareProcess(behind, command=[sys.executable, "-c", "pass"]) as spare:
        for _ in range(5):
            assert spare.submit(os.getpid).result(SECONDS) == os.getpid()
            until(lambda: spare._thread is None)
        assert spare._deaths == 3


def test_a_program_that_is_not_there_is_as_good_as_none(behind: ThreadPoolExecutor) -> None:
    with SpareProcess(behind, command=["/nowhere/python"]) as spare:
        assert spare.submit(os.getpid).result(SECONDS) == os.getpid()


def test_an_idle_process_ends_and_the_next_work_starts_another(behind: ThreadPoolExecutor) -> None:
    with SpareProcess(behind, idle_seconds=0.05) as spare:
        spare.submit(os.getpid).result(SECONDS)
        until(lambda: spare.ready)
        until(lambda: spare._thread is None)
        assert spare._deaths == 0
        spare.submit(os.getpid).result(SECONDS)
        until(lambda: spare.ready)


def test_shutting_down_does_not_wait_for_what_is_under_way(behind: ThreadPoolExecutor) -> None:
    spare = SpareProcess(behind)
    process = started(spare)
    under_way: Future[object] = spare.submit(select.select, [], [], [], 100)
    until(under_way.running)
    behind.shutdown()
    spare.shutdown()
    with pytest.raises(RuntimeError):
        under_way.result(SECONDS)
    with pytest.raises(RuntimeError):
        spare.submit(os.getpid)
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_cancelled_work_is_not_begun(spare: SpareProcess) -> None:
    started(spare)
    spare.submit(select.select, [], [], [], 0.2)
    waiting = spare.submit(os._exit, 1)
    assert waiting.cancel()
    assert spare.submit(operator.add, 1, 1).result(SECONDS) == 2
    assert spare.ready


def test_the_process_ends_with_whoever_started_it() -> None:
    with subprocess.Popen(  # noqa: S603 - our own program
        [*COMMAND, "0"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.read(8 + 5).endswith(b"ready")
        process.stdin.close()
        assert process.wait(SECONDS) == 0
