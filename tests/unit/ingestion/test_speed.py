from datetime import timedelta

from contextfind.ingestion.speed import Forecast, Speed
from tests.builders import NOON


def test_rate_and_time_left_come_of_what_was_done_lately() -> None:
    speed = Speed()
    assert speed.at(NOON, "reading", 0, 1_000) == Forecast()
    found = [speed.at(NOON + timedelta(seconds=s), "reading", s * 10, 1_000) for s in range(1, 61)]
    assert found[-1] == Forecast(10, 40)
    # from here on twice as fast: after a while only that counts
    found += [
        speed.at(NOON + timedelta(seconds=60 + s), "reading", 600 + s * 20, 1_000)
        for s in range(1, 21)
    ]
    assert found[-1] == Forecast(20, 0)


def test_nothing_is_said_at_once_nor_while_nothing_moves() -> None:
    speed = Speed()
    speed.at(NOON, "reading", 0, 10)
    assert speed.at(NOON + timedelta(seconds=0.1), "reading", 5, 10) == Forecast()
    assert Speed().at(NOON, "reading", 5, 10) == Forecast()
    still = Speed()
    still.at(NOON, "reading", 5, 10)
    assert still.at(NOON + timedelta(seconds=9), "reading", 5, 10) == Forecast()


def test_each_stage_begins_anew() -> None:
    speed = Speed()
    speed.at(NOON, "reading", 0, 100)
    speed.at(NOON + timedelta(seconds=1), "reading", 100, 100)
    assert speed.when_left(NOON + timedelta(seconds=2), "embedding", 300) == Forecast()
    assert speed.when_left(NOON + timedelta(seconds=4), "embedding", 260) == Forecast(20, 13)


def test_what_is_added_meanwhile_makes_the_way_longer() -> None:
    speed = Speed()
    speed.when_left(NOON, "embedding", 100)
    speed.when_left(NOON + timedelta(seconds=1), "embedding", 90)
    assert speed.when_left(NOON + timedelta(seconds=2), "embedding", 120) == Forecast()
    later = speed.when_left(NOON + timedelta(seconds=4), "embedding", 100)
    assert later == Forecast(10, 10)


def test_a_clock_that_is_set_back_begins_anew() -> None:
    speed = Speed()
    speed.at(NOON, "reading", 0, 100)
    speed.at(NOON + timedelta(seconds=10), "reading", 50, 100)
    back = NOON - timedelta(days=1)
    assert speed.at(back, "reading", 60, 100) == Forecast()
    assert speed.at(back + timedelta(seconds=2), "reading", 80, 100) == Forecast(10, 2)
