import math
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextfind.domain.scoring import (
    Calibration,
    HotnessRules,
    below_one,
    directory_score,
    lone_directory_score,
    own_score,
    propagate,
    words_alone,
)
from tests.builders import NOON

E5 = Calibration(floor=0.7, span=0.2)
shares = st.floats(0, 1)


@pytest.mark.parametrize(("cosine", "meaning"), [(-1, 0), (0.7, 0), (0.8, 0.5), (0.9, 1), (1, 1.5)])
def test_a_cosine_means_its_distance_from_the_floor(cosine: float, meaning: float) -> None:
    assert E5.meaning(cosine) == pytest.approx(meaning)


def test_the_channels_are_blended_by_weight() -> None:
    assert own_score(0.8, 0.4, 0.5) == pytest.approx(0.6)
    assert own_score(0.8, 0.4, 1.0) == pytest.approx(0.8)


def test_a_missing_channel_leaves_the_other_alone() -> None:
    assert own_score(None, 0.4, 0.5) == 0.4
    assert own_score(0.8, None, 0.5) == 0.8
    assert own_score(None, None, 0.5) == 0.0


def test_texts_that_all_fit_well_are_still_told_apart() -> None:
    near, nearer = (own_score(E5.meaning(cosine), None, 0.5) for cosine in (0.91, 0.93))
    assert 0.9 < near < nearer < 1


@given(st.floats(0, 5), st.floats(0, 5))
def test_the_bend_below_one_changes_no_order(one: float, other: float) -> None:
    assert 0 <= below_one(one) <= 1
    assert below_one(min(one, other)) <= below_one(max(one, other))
    assert one > 0.8 or below_one(one) == one


def test_alpha_one_ignores_the_directory() -> None:
    assert propagate(0.3, 0.9, 1.0) == 0.3


@given(st.none() | st.floats(0, 3), st.none() | st.floats(0, 3), shares)
def test_scores_stay_between_zero_and_one(
    meaning: float | None, words: float | None, weight: float
) -> None:
    assert 0 <= own_score(meaning, words, weight) <= 1


@given(shares, shares, shares)
def test_the_evidence_of_a_directory_keeps_a_score_between_zero_and_one(
    own: float, evidence: float, alpha: float
) -> None:
    assert 0 <= propagate(own, evidence, alpha) <= 1 + 1e-9


@given(shares, shares, shares)
def test_a_directory_never_outranks_the_file_that_makes_it_interesting(
    own: float, evidence: float, share: float
) -> None:
    assert 0 <= directory_score(own, evidence, share) <= evidence


def test_a_directory_without_known_files_counts_by_its_own_text_with_a_discount() -> None:
    assert lone_directory_score(0.5, 0.2) == pytest.approx(0.4)


uses = st.integers(0, 10**9)
ages = st.integers(0, 10**8)  # seconds


def hot(active_count: int, age: int, half_life: float = 7.0) -> float:
    return HotnessRules(1.0, half_life).hotness(active_count, NOON - timedelta(seconds=age), NOON)


@given(uses, uses, ages)
def test_more_uses_are_never_colder(one: int, other: int, age: int) -> None:
    assert hot(min(one, other), age) <= hot(max(one, other), age)


@given(uses, ages, ages)
def test_what_is_older_is_never_hotter(active_count: int, one: int, other: int) -> None:
    assert hot(active_count, max(one, other)) <= hot(active_count, min(one, other))


@given(uses, ages, st.floats(0.01, 1_000))
def test_hotness_is_the_sigmoid_of_the_logarithm_of_uses_halved_with_age(
    active_count: int, age: int, half_life: float
) -> None:
    often = 1 / (1 + math.exp(-math.log1p(active_count)))
    halved = 0.5 ** (age / 86_400 / half_life)
    assert hot(active_count, age, half_life) == pytest.approx(often * halved)
    assert 0 <= hot(active_count, age, half_life) <= 1


def test_what_was_never_used_has_a_half_on_its_first_day_and_half_of_that_a_week_later() -> None:
    assert (hot(0, 0), hot(0, 7 * 86_400)) == (0.5, 0.25)


def test_what_claims_to_come_from_the_future_is_of_today() -> None:
    assert hot(3, -86_400) == hot(3, 0)


@given(shares, shares)
def test_the_share_of_hotness_runs_from_nothing_to_everything(score: float, heat: float) -> None:
    assert HotnessRules(0.0).blend(score, heat) == score
    assert HotnessRules(1.0).blend(score, heat) == heat
    assert min(score, heat) - 1e-12 <= HotnessRules(0.3).blend(score, heat)
    assert HotnessRules(0.3).blend(score, heat) <= max(score, heat) + 1e-12


def test_words_alone_keep_their_order_and_are_worth_what_a_blend_would_show() -> None:
    shares = np.array([0.0, 0.1, 0.2, 0.41, 0.54, 1.0])
    worth = words_alone(shares)
    assert list(worth) == sorted(worth)
    assert [words_alone(float(share)) for share in shares] == pytest.approx(list(worth))
    assert worth[1] < 0.35  # noise stays noise
    assert worth[3] > 0.6  # the median of Chinese answers, whose blended scores are .65 to .7
