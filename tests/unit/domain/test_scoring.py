import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextfind.domain.scoring import (
    Calibration,
    directory_score,
    lone_directory_score,
    own_score,
    propagate,
)

E5 = Calibration(floor=0.7, span=0.2)
shares = st.floats(0, 1)


@pytest.mark.parametrize(("cosine", "meaning"), [(-1, 0), (0.7, 0), (0.8, 0.5), (0.9, 1), (1, 1)])
def test_a_cosine_means_its_distance_from_the_floor(cosine: float, meaning: float) -> None:
    assert E5.meaning(cosine) == pytest.approx(meaning)


def test_the_channels_are_blended_by_weight() -> None:
    assert own_score(0.8, 0.4, 0.5) == pytest.approx(0.6)
    assert own_score(0.8, 0.4, 1.0) == pytest.approx(0.8)


def test_a_missing_channel_leaves_the_other_alone() -> None:
    assert own_score(None, 0.4, 0.5) == 0.4
    assert own_score(0.8, None, 0.5) == 0.8
    assert own_score(None, None, 0.5) == 0.0


def test_alpha_one_ignores_the_directory() -> None:
    assert propagate(0.3, 0.9, 1.0) == 0.3


@given(shares, shares, shares, shares)
def test_scores_stay_between_zero_and_one(
    meaning: float, words: float, weight: float, alpha: float
) -> None:
    own = own_score(meaning, words, weight)
    assert 0 <= own <= 1
    assert 0 <= propagate(own, words, alpha) <= 1 + 1e-9


@given(shares, shares, shares)
def test_a_directory_never_outranks_the_file_that_makes_it_interesting(
    own: float, evidence: float, share: float
) -> None:
    assert 0 <= directory_score(own, evidence, share) <= evidence


def test_a_directory_without_known_files_counts_by_its_own_text_with_a_discount() -> None:
    assert lone_directory_score(0.5, 0.2) == pytest.approx(0.4)
