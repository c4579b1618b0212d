from hypothesis import given
from hypothesis import strategies as st

from contextfind.adapters.embedded.growth import Size, choose, gather
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


def test_when_it_is_quiet_all_of_a_bulk_becomes_one() -> None:
    bulk = sizes(512_000, 256_000, 128_000, 64_000, 32_000, 8_000)
    assert choose(bulk, RULES) == []
    assert sorted(gather(bulk, RULES)) == [0, 1, 2, 3, 4, 5]


def test_a_trickle_leaves_the_largest_alone_until_it_is_a_quarter_of_it() -> None:
    assert gather(sizes(1_000_000, 20_000), RULES) == []
    assert sorted(gather(sizes(1_000_000, 150_000, 60_000), RULES)) == [1, 2]
    assert sorted(gather(sizes(1_000_000, 150_000, 110_000), RULES)) == [0, 1, 2]


def test_what_is_too_small_for_a_graph_is_not_gathered() -> None:
    assert gather(sizes(8_000, 4_000, 2_000), RULES) == []


def test_a_segment_with_many_dead_records_is_gathered_alone() -> None:
    assert gather([Size(500_000, 0.31), Size(5_000, 0.1)], RULES) == [0]


def test_a_row_is_drawn_some_nine_times_until_it_is_part_of_the_largest() -> None:
    plain: list[int] = []
    graphs = [1_000_000]
    drawn = 0
    for _ in range(2_000):
        plain.append(250)
        while chosen := choose(sizes(*plain), RULES):
            together = sum(plain[place] for place in chosen)
            plain = [n for place, n in enumerate(plain) if place not in chosen] + [together]
        every = plain + graphs
        while chosen := gather(sizes(*every), RULES):
            together = sum(every[place] for place in chosen)
            every = [n for place, n in enumerate(every) if place not in chosen] + [together]
            drawn += together
        drawn += sum(n for n in every if n in plain and n >= RULES.graph_from)
        graphs = [n for n in every if n >= RULES.graph_from]
        plain = [n for n in every if n < RULES.graph_from]
        assert len(every) <= 7
    assert drawn < 10 * 500_000


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
