from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextfind.server.throttle import Allowance, Throttle, too_often


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_burst_is_let_through_and_then_one_by_one() -> None:
    clock = Clock()
    throttle = Throttle(Allowance(60, 3), clock)
    assert [throttle.take("a") for _ in range(4)] == [0, 0, 0, 1.0]
    clock.now = 0.25
    assert throttle.take("a") == pytest.approx(0.75)
    clock.now = 1.0
    assert [throttle.take("a"), throttle.take("a")] == [0, pytest.approx(1.0)]


def test_what_is_saved_up_never_exceeds_the_burst() -> None:
    clock = Clock()
    throttle = Throttle(Allowance(60, 2), clock)
    throttle.take("a")
    clock.now = 3_600.0
    assert [throttle.take("a") > 0 for _ in range(3)] == [False, False, True]


def test_names_do_not_share_a_bucket() -> None:
    throttle = Throttle(Allowance(1, 1), Clock())
    assert [throttle.take(name) > 0 for name in "abab"] == [False, False, True, True]


def test_asking_for_the_wait_takes_nothing() -> None:
    throttle = Throttle(Allowance(1, 1), Clock())
    assert [throttle.wait("a") for _ in range(3)] == [0, 0, 0]
    assert len(throttle) == 0
    throttle.take("a")
    assert throttle.wait("a") == 60


def test_never_more_buckets_are_kept_than_allowed_and_the_busy_ones_stay() -> None:
    throttle = Throttle(Allowance(1, 2), Clock(), capacity=10)
    for number in range(1_000):
        throttle.take(f"passing {number}")
        throttle.take("busy")
    assert len(throttle) == 10
    assert throttle.take("busy") > 0


@settings(max_examples=150, deadline=None)
@given(
    per_minute=st.integers(1, 100_000),
    burst=st.integers(1, 50),
    steps=st.lists(st.floats(0, 100, allow_nan=False), max_size=60),
)
def test_in_any_time_no_more_is_let_through_than_the_burst_and_what_came_back(
    per_minute: int, burst: int, steps: list[float]
) -> None:
    clock = Clock()
    throttle = Throttle(Allowance(per_minute, burst), clock)
    through = 0
    for step in steps:
        clock.now += step
        wait = throttle.take("a")
        through += wait == 0
        if wait > 0:
            clock.now += wait
            assert throttle.take("a") == 0  # whoever waits as told is let through
            through += 1
    assert through <= burst + clock.now * per_minute / 60 + 1e-6 * (len(steps) + 1)


@pytest.mark.parametrize(
    ("seconds", "told"), [(1e-12, 1), (0.2, 1), (1.0, 1), (1.000000000001, 1), (1.1, 2), (59.5, 60)]
)
def test_the_wait_is_told_in_whole_seconds_and_never_as_none(seconds: float, told: int) -> None:
    error = too_often("too many", seconds)
    assert error.code == "RESOURCE_EXHAUSTED"
    assert error.details == {"retry_after_seconds": told, "retryable": True}
    assert str(error) == f"too many; try again in {told} s"
