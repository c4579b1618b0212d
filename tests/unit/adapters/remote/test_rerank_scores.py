import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextfind.adapters.remote.rerank_scores import is_raw, share, shares

raw = st.floats(-1e6, 1e6).map(lambda score: round(score, 3))


@settings(max_examples=300, deadline=None)
@given(scores=st.lists(raw, unique=True, max_size=30))
def test_the_order_of_raw_scores_is_kept(scores: list[float]) -> None:
    mapped = [share(score) for score in sorted(scores)]
    assert all(0 <= score <= 1 for score in mapped)
    assert mapped == sorted(mapped)


@settings(max_examples=300, deadline=None)
@given(scores=st.lists(st.integers(-1000, 1000), unique=True, max_size=30))
def test_whole_numbers_such_as_per_cents_stay_apart(scores: list[int]) -> None:
    mapped = [share(score) for score in sorted(scores)]
    assert all(low < high for low, high in itertools.pairwise(mapped))


@settings(max_examples=200, deadline=None)
@given(score=st.floats(allow_nan=False, allow_infinity=False))
def test_every_finite_score_becomes_a_share(score: float) -> None:
    assert 0 <= share(score) <= 1
    assert share(score) + share(-score) == pytest.approx(1)


@pytest.mark.parametrize("logit", [-12.0, -0.4, 0.0, 0.7, 15.9])
def test_a_logit_becomes_its_probability(logit: float) -> None:
    assert share(logit) == pytest.approx(1 / (1 + math.exp(-logit)), rel=1e-9)


def test_the_hyperbola_begins_where_the_logistic_function_ends() -> None:
    assert share(math.nextafter(16, 17)) == pytest.approx(share(16.0), abs=1e-12)


def test_scores_within_rounding_of_a_share_are_not_raw() -> None:
    assert not is_raw([0, 1, 1 + 1e-7, -1e-7, math.nan, math.inf])
    assert is_raw([0.5, 1.1])
    assert is_raw([0.5, -0.1])


@settings(max_examples=200, deadline=None)
@given(scores=st.dictionaries(st.text(max_size=3), st.floats(), max_size=20))
def test_shares_are_shares_whatever_the_scores(scores: dict[str, float]) -> None:
    mapped = shares(scores, raw=is_raw(scores.values()))
    assert mapped.keys() == scores.keys()
    assert all(0 <= score <= 1 for score in mapped.values())
    assert all(mapped[text] == 0 for text, score in scores.items() if not math.isfinite(score))
