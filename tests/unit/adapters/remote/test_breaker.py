import pytest

from contextfind.adapters.remote.breaker import Breaker, BreakerState


class Hands:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.time = 100.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def clock() -> Hands:
    return Hands()


def opened(clock: Hands) -> Breaker:
    breaker = Breaker(failures=3, rest_seconds=5, now=clock)
    for _ in range(3):
        assert breaker.admit()
        breaker.failed()
    return breaker


def test_it_opens_after_failures_in_a_row_only(clock: Hands) -> None:
    breaker = Breaker(failures=3, rest_seconds=5, now=clock)
    for _ in range(5):
        breaker.failed()
        breaker.failed()
        breaker.succeeded()
    assert breaker.state is BreakerState.CLOSED
    assert opened(clock).state is BreakerState.OPEN
    assert not opened(clock).admit()


def test_after_its_rest_it_lets_one_call_through(clock: Hands) -> None:
    breaker = opened(clock)
    clock.time += 5
    assert breaker.state is BreakerState.HALF_OPEN
    assert [breaker.admit(), breaker.admit()] == [True, False]


def test_a_good_probe_closes_it(clock: Hands) -> None:
    breaker = opened(clock)
    clock.time += 5
    breaker.admit()
    breaker.succeeded()
    assert breaker.state is BreakerState.CLOSED


def test_a_bad_probe_opens_it_at_once(clock: Hands) -> None:
    breaker = opened(clock)
    clock.time += 5
    breaker.admit()
    breaker.failed()
    assert breaker.state is BreakerState.OPEN
    clock.time += 5
    assert breaker.admit()


def test_a_cancelled_probe_makes_room_for_the_next(clock: Hands) -> None:
    breaker = opened(clock)
    clock.time += 5
    breaker.admit()
    breaker.abandoned()
    assert breaker.admit()


def test_calls_that_run_out_of_time_open_it_sooner(clock: Hands) -> None:
    breaker = Breaker(failures=5, hangs=2, now=clock)
    for _ in range(2):
        breaker.admit()
        clock.time += 10
        breaker.failed(10, late=True)
    assert breaker.state is BreakerState.OPEN


def test_a_call_that_runs_out_of_time_while_others_are_answered_is_one_failure_as_others(
    clock: Hands,
) -> None:
    breaker = Breaker(failures=5, hangs=1, now=clock)
    breaker.admit()
    clock.time += 9
    breaker.succeeded()
    clock.time += 1
    breaker.failed(10, late=True)
    assert breaker.state is BreakerState.CLOSED


def test_a_probe_that_hangs_keeps_the_next_one_from_nothing(clock: Hands) -> None:
    breaker = opened(clock)
    admitted = []
    for _ in range(20):
        clock.time += 1
        admitted.append(breaker.admit())
        if len(admitted) == 12:
            breaker.failed(7, late=True)  # the first one, at last
    assert [at for at, good in enumerate(admitted, 1) if good] == [5, 10, 15, 20]


def test_after_a_probe_that_nobody_followed_it_rests_again(clock: Hands) -> None:
    breaker = opened(clock)
    clock.time += 5
    assert breaker.admit()
    clock.time += 30
    breaker.failed(30, late=True)
    assert breaker.state is BreakerState.OPEN
    clock.time += 5
    assert breaker.admit()
