"""The figures are right."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextfind.answering.measures import mean_of, quality_of, quantile


def test_a_perfect_ranking_scores_one_everywhere() -> None:
    judged = quality_of(["a", "b", "c"], {"a": 2, "b": 1})
    assert (judged.ndcg, judged.recall, judged.mrr) == (1.0, 1.0, 1.0)


def test_figures_worked_out_by_hand() -> None:
    judged = quality_of(["x", "a", "y"], {"a": 1, "b": 1})
    assert judged.ndcg == pytest.approx((1 / math.log2(3)) / (1 + 1 / math.log2(3)))
    assert (judged.recall, judged.mrr) == (0.5, 0.5)


def test_what_comes_after_the_tenth_does_not_count() -> None:
    judged = quality_of([*"0123456789", "a"], {"a": 1})
    assert (judged.ndcg, judged.recall, judged.mrr) == (0.0, 0.0, 0.0)


@settings(max_examples=50, deadline=None)
@given(
    st.permutations("abcdefghijkl"), st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 3))
)
def test_no_ranking_beats_the_ideal_one(ranked: list[str], relevant: dict[str, int]) -> None:
    judged = quality_of(ranked, relevant)
    assert 0.0 <= judged.ndcg <= 1.0 + 1e-12
    assert 0.0 <= judged.mrr <= 1.0


def test_quantiles_are_values_that_occurred() -> None:
    values = [float(n) for n in range(100, 0, -1)]
    assert (quantile(values, 0.5), quantile(values, 0.95), quantile(values, 0)) == (50, 95, 1)
    assert math.isnan(quantile([], 0.5))


def test_a_mean_over_no_queries_is_zero() -> None:
    assert mean_of([]).ndcg == 0.0
