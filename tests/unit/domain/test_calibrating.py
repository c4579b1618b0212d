import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextfind.answering.measures import quality_of
from contextfind.domain.calibrating import Judged, fit, left_out, ndcg
from contextfind.domain.errors import InvalidArgumentError
from contextfind.domain.scoring import Calibration, own_score

USUAL = Calibration(0.7, 0.2)


def judged(seed: int = 1, queries: int = 30, texts: int = 40, floor: float = 0.75) -> Judged:
    """Return a set whose unrelated cosines begin at `floor`; its related ones lie .1 above on average."""
    draw = np.random.default_rng(seed)
    grades = np.zeros((queries, texts), np.int64)
    grades[np.arange(queries), draw.integers(0, texts, queries)] = 1
    cosines = (
        floor + draw.random((queries, texts)) * 0.08 + 0.1 * grades * draw.random(grades.shape)
    )
    words = draw.random((queries, texts)) * 0.4 + 0.2 * grades * draw.random(grades.shape)
    return Judged(f"set{seed}", cosines, words, grades)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1_000), st.floats(0.1, 0.9), st.floats(0.5, 0.9), st.floats(0.05, 0.5))
def test_the_figure_is_the_one_of_the_scorer_and_of_the_benchmark(
    seed: int, weight: float, floor: float, span: float
) -> None:
    one, calibration = judged(seed, 4, 25), Calibration(floor, span)
    expected = []
    for cosines, words, grades in zip(one.cosines, one.words, one.grades, strict=True):
        pairs = zip(cosines.tolist(), words.tolist(), strict=True)
        scores = [own_score(calibration.meaning(c), w, weight) for c, w in pairs]
        ranked = sorted(range(len(scores)), key=lambda n: (-scores[n], n))
        relevant = {str(n): int(grade) for n, grade in enumerate(grades)}
        expected.append(quality_of([str(n) for n in ranked], relevant).ndcg)
    assert ndcg(one, calibration, weight) == pytest.approx(np.mean(expected))


def test_a_query_of_another_language_is_ranked_by_meaning_alone() -> None:
    one = judged()
    silent = Judged(one.name, one.cosines, np.zeros_like(one.words), one.grades)
    assert ndcg(silent, USUAL, 0.0) == ndcg(silent, USUAL, 1.0) > 0.3


def test_what_is_out_of_reach_is_not_found() -> None:
    cosines = np.array([[np.nan, 0.9], [0.8, np.nan]])
    one = Judged("a", cosines, np.zeros((2, 2)), np.array([[0, 1], [0, 1]]))
    assert ndcg(one, USUAL, 0.5) == 0.5


def test_the_start_lies_where_unrelated_pairs_begin_and_related_ones_end() -> None:
    sets = [judged(floor=0.75)]
    start = fit(sets, 0.5).start
    assert start.floor == pytest.approx(0.75, abs=0.01)
    assert start.floor + start.span == pytest.approx(0.90, abs=0.03)


@pytest.mark.parametrize("shift", [-0.5, -0.2, 0.1])
def test_constants_move_with_the_cosines_of_the_model(shift: float) -> None:
    here = fit([judged(floor=0.75)], 0.5).chosen
    there = fit([judged(floor=0.75 + shift)], 0.5).chosen
    assert there.floor - here.floor == pytest.approx(shift, abs=0.02)
    assert there.span == pytest.approx(here.span, abs=0.02)


def test_the_fit_ranks_about_as_well_as_anything_near_it() -> None:
    sets = [judged(seed) for seed in (1, 2, 3)]
    chosen = fit(sets, 0.5).chosen
    best = np.mean([ndcg(one, chosen, 0.5) for one in sets])
    for floor in (0.65, 0.7, 0.75):
        for span in (0.1, 0.2):
            other = np.mean([ndcg(one, Calibration(floor, span), 0.5) for one in sets])
            assert best >= other - 0.02


def test_without_any_difference_the_start_is_taken() -> None:
    one = judged()
    perfect = Judged("a", one.cosines, one.grades * 0.9, one.grades)
    found = fit([perfect], 0.1)
    assert found.chosen == found.start


def test_a_set_is_left_out_of_its_own_choice() -> None:
    sets = [judged(1), judged(2), judged(3)]
    assert left_out(sets, 0.5)[0] == fit(sets[1:], 0.5).chosen
    assert left_out(sets[:1], 0.5) == [fit(sets[:1], 0.5).chosen]


def test_the_same_sets_give_the_same_constants() -> None:
    assert fit([judged(1), judged(2)], 0.5) == fit([judged(1), judged(2)], 0.5)


def test_pairs_that_all_look_the_same_cannot_be_told_apart() -> None:
    flat = Judged("a", np.full((2, 3), 0.8), np.zeros((2, 3)), np.eye(2, 3, dtype=np.int64))
    with pytest.raises(InvalidArgumentError, match="no more alike"):
        fit([flat], 0.5)


def test_nothing_judged_is_nothing_to_fit() -> None:
    one = judged()
    with pytest.raises(InvalidArgumentError, match="no pairs"):
        fit([Judged("a", one.cosines, one.words, np.zeros_like(one.grades))], 0.5)
