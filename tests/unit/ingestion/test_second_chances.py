from dataclasses import dataclass

import pytest

from contextfind.domain.uri import Uri
from contextfind.ingestion.second_chances import FAILURES, REST_SECONDS, Place, SecondChances


@dataclass
class Timer:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


def place(name: str) -> Place:
    return "acme", Uri(f"viking://resources/{name}")


@pytest.fixture
def timer() -> Timer:
    return Timer()


@pytest.fixture
def chances(timer: Timer) -> SecondChances:
    return SecondChances(timer)


def test_one_failure_is_no_reason_to_rest(chances: SecondChances, timer: Timer) -> None:
    chances.failed(place("a"), again=True)
    assert not chances.resting
    assert chances.due() == []
    timer.now = REST_SECONDS
    assert chances.due() == [place("a")]
    assert chances.due() == []  # it is being tried


def test_a_model_that_keeps_failing_rests_and_then_gets_one_question(
    chances: SecondChances, timer: Timer
) -> None:
    for n in range(FAILURES):
        chances.failed(place(f"d{n}"), again=True)
    assert chances.resting
    chances.passed_over(place("late"))
    assert chances.due() == []
    timer.now = REST_SECONDS
    assert not chances.resting
    assert chances.doubtful
    assert chances.due() == [place("d0")]
    chances.failed(place("d0"), again=True)
    assert chances.resting


def test_once_it_answers_all_that_is_owed_is_due(chances: SecondChances, timer: Timer) -> None:
    for n in range(FAILURES):
        chances.failed(place(f"d{n}"), again=True)
    chances.passed_over(place("late"))
    timer.now = REST_SECONDS
    chances.succeeded(chances.due()[0])
    assert chances.due() == [place("d1"), place("d2"), place("late")]


def test_what_cannot_get_better_is_not_owed(chances: SecondChances, timer: Timer) -> None:
    chances.failed(place("a"), again=False)
    timer.now = 1e9
    assert chances.due() == []


def test_a_directory_is_tried_five_times(chances: SecondChances, timer: Timer) -> None:
    tries = 0
    for _ in range(20):
        chances.failed(place("a"), again=True)
        tries += 1
        timer.now += 1e6
        if not chances.due():
            break
    assert tries == 5


def test_removed_directories_take_no_room_from_others(
    monkeypatch: pytest.MonkeyPatch, chances: SecondChances, timer: Timer
) -> None:
    monkeypatch.setattr("contextfind.ingestion.second_chances._MOST", 3)
    for n in range(3):
        chances.failed(place(f"removed{n}"), again=True)
    for _ in range(3):
        timer.now += REST_SECONDS
        chances.due()  # marked as stale, which nobody hears of: they are gone
        chances.succeeded(place("other"))
    chances.failed(place("new"), again=True)
    timer.now += REST_SECONDS
    assert chances.due() == [place("new")]
