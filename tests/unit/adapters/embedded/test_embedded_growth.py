from hypothesis import given
from hypothesis import strategies as st

from contextfind.adapters.embedded.growth import Size, choose
from contextfind.adapters.embedded.rules import IndexRules

RULES = IndexRules()


def sizes(*rows: int) -> list[Size]:
    return [Size(count, 0.0) for count in rows]


def test_small_segments_are_merged_together() -> None:
    assert sorted(choose(sizes(900, 50_000, 10), RULES)) == [0, 2]


def test_a_much_larger_segment_is_left_alone() -> None:
    assert choose(sizes(100_000, 40_000, 3_000, 900), RULES) == []


def test_a_segment_as_large_as_the_smaller_ones_together_joins_them() -> None:
    assert sorted(choose(sizes(100_000, 3_000, 1_500, 900), RULES)) == [1, 2, 3]


def test_a_segment_with_many_dead_records_is_written_again() -> None:
    assert choose([Size(50_000, 0.1), Size(5_000, 0.4)], RULES) == [1]
    assert choose([Size(5_000, 0.3)], RULES) == []


def test_one_small_segment_alone_is_no_work() -> None:
    assert choose(sizes(5), RULES) == []
    assert choose([], RULES) == []


@given(st.lists(st.integers(1, 3_000), max_size=200))
def test_segments_stay_a_handful_while_batches_come(batches: list[int]) -> None:
    rows: list[int] = []
    for batch in batches:
        rows.append(batch)
        while chosen := choose(sizes(*rows), RULES):
            merged = sum(rows[place] for place in chosen)
            rows = [count for place, count in enumerate(rows) if place not in chosen] + [merged]
        assert len(rows) <= 10
    assert sum(rows) == sum(batches)
