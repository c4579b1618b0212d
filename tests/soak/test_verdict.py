import pytest

from tests.soak.verdict import BOUNDS, findings

FLAT = dict.fromkeys(BOUNDS, 100.0)


def flat_names(samples: list[dict[str, float]]) -> list[str]:
    return [one.name for one in findings(samples) if one.flat]


def test_what_only_warms_up_is_flat() -> None:
    samples = [{name: min(number, 25) * 4.0 for name in BOUNDS} for number in range(100)]
    assert flat_names(samples) == list(BOUNDS)


@pytest.mark.parametrize("name", BOUNDS)
def test_what_grows_on_is_not(name: str) -> None:
    samples = [{**FLAT, name: 100 + number / 2} for number in range(100)]
    assert flat_names(samples) == [one for one in BOUNDS if one != name]


def test_a_moment_is_no_trend() -> None:
    samples = [{**FLAT, "tasks": 900.0 if number > 95 else 100.0} for number in range(100)]
    assert flat_names(samples) == list(BOUNDS)
