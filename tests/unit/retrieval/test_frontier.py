import pytest

from contextfind.domain.records import Level, RecordId
from contextfind.domain.scoring import Calibration, ScoreRules
from contextfind.domain.uri import Uri
from contextfind.ports import Hit, Hits
from contextfind.retrieval.frontier import Frontier, WalkRules
from contextfind.retrieval.judging import Judge

JUDGE = Judge(Calibration(0.0, 1.0), ScoreRules(score_propagation_alpha=0.7), known=1.0)


def hit(number: int, uri: str, cosine: float | None, words: float = 0.0, level: int = 2) -> Hit:
    return Hit(RecordId(number), Uri.parse(uri), Level(level), 0, cosine, words)


def frontier(**rules: int) -> Frontier:
    return Frontier(JUDGE, WalkRules(**rules), limit=10)


def test_the_best_directory_is_opened_first_and_ties_go_by_address() -> None:
    walk = frontier(batch=4)
    for name, own in [("c", 0.2), ("b", 0.2), ("a", 0.9), ("d", 0.1)]:
        walk.push(Uri.parse(f"viking://resources/{name}"), own)
    assert [uri.name for uri in walk.take()] == ["a", "b", "c", "d"]


def test_a_directory_is_worth_its_best_child_more_than_its_own_text() -> None:
    walk = frontier(batch=1)
    walk.push(Uri.parse("viking://resources/loud"), 0.6)
    walk.push(Uri.parse("viking://resources/quiet"), 0.0)
    walk.see([hit(1, "viking://resources/quiet/a.md", 0.9, 0.9)], keep=True)
    assert walk.take() == [Uri.parse("viking://resources/quiet")]


def test_no_directory_is_opened_twice() -> None:
    walk = frontier(batch=4)
    here = Uri.parse("viking://resources/a")
    walk.push(here, 0.5)
    assert walk.take() == [here]
    walk.push(here, 0.9)
    assert walk.take() == []


def test_the_walk_ends_when_the_best_hits_stayed_the_same() -> None:
    walk = frontier(batch=1, max_convergence_rounds=3)
    for number in range(10):
        walk.push(Uri.parse(f"viking://resources/{number}"))
    walk.see([hit(1, "viking://resources/0/a.md", 0.9)], keep=True)
    rounds = 0
    while walk.take():
        walk.end_round()
        rounds += 1
    assert rounds == 4  # one that sees the hit for the first time, three without news


def test_the_walk_ends_at_the_latest_after_max_rounds() -> None:
    walk = frontier(batch=1, max_rounds=2, max_convergence_rounds=99)
    for number in range(10):
        walk.push(Uri.parse(f"viking://resources/{number}"))
    assert [len(walk.take()) for _ in range(4)] == [1, 1, 0, 0]


def test_doors_that_did_not_pass_the_filter_are_opened_but_never_answered() -> None:
    walk = frontier()
    walk.see([hit(1, "viking://resources/a", 0.8, level=0)], keep=False)
    walk.see([hit(2, "viking://resources/b.md", 0.2)], keep=True)
    assert [scored.hit.id for scored in walk.ranked()] == [2]
    assert walk.take() == [Uri.parse("viking://resources/a")]


def test_a_file_lifts_its_neighbours_and_a_little_the_directories_above() -> None:
    walk = frontier()
    walk.see([hit(1, "viking://resources/a/b/good.md", 1.0, 0.6)], keep=True)
    walk.see([hit(2, "viking://resources/a/b/weak.md", 0.2)], keep=True)
    walk.see(
        [hit(n, f"viking://resources/{d}", 0.0, level=0) for n, d in [(3, "a"), (4, "a/b")]],
        keep=True,
    )
    scores = {scored.hit.id: scored.score for scored in walk.ranked()}
    assert scores == {1: 0.8, 2: 0.31, 3: 0.512, 4: 0.64}


def test_scores_stay_between_zero_and_one_also_for_opposite_vectors() -> None:
    walk = frontier()
    walk.see(
        [hit(1, "viking://resources/a.md", -1.0), hit(2, "viking://resources/b.md", 1.0, 0.99)],
        keep=True,
    )
    assert all(0.0 <= scored.score <= 1.0 for scored in walk.ranked())


def test_equal_scores_are_ranked_by_address() -> None:
    walk = frontier()
    walk.see(
        [hit(n, f"viking://resources/{name}.md", 0.5) for n, name in enumerate("cab")], keep=True
    )
    assert [scored.hit.uri.name for scored in walk.ranked()] == ["a.md", "b.md", "c.md"]


def test_a_query_without_any_known_word_is_judged_by_meaning_alone() -> None:
    hits = [hit(1, "viking://resources/a.md", 0.6)]
    deaf = Judge(Calibration(0.0, 1.0), ScoreRules(), known=Hits.of(hits).known)
    assert deaf.own(hits[0]) == 0.6
    assert JUDGE.own(hits[0]) == 0.3


def test_a_directory_testifies_as_far_as_the_words_of_the_query_are_known() -> None:
    scores = []
    for known in (1.0, 0.5, 0.0):
        walk = Frontier(Judge(Calibration(0.0, 1.0), ScoreRules(0.5), known), WalkRules(), 10)
        walk.see([hit(1, "viking://resources/a/good.md", 0.8, 0.8)], keep=True)
        walk.see([hit(2, "viking://resources/a/weak.md", 0.4, 0.4)], keep=True)
        scores.append(walk.ranked()[1].score)
    assert scores == [0.6, 0.5, 0.4]


def test_a_record_without_vector_is_judged_by_words_alone() -> None:
    assert JUDGE.own(hit(1, "viking://resources/a.md", None, 0.4)) == 0.4


def test_ties_go_by_the_address_that_is_shown() -> None:
    walk = frontier()
    walk.see([hit(2, "viking://resources/a", 0.0, level=0)], keep=True)  # shown as a/.abstract.md
    walk.see([hit(1, "viking://resources/a-b.md", 0.0)], keep=True)  # "-" comes before "/"
    assert [scored.hit.id for scored in walk.ranked()] == [1, 2]


def thinking(said: dict[int, float | None], **rules: int) -> Frontier:
    """Return a frontier that saw a (best by itself), b, c, d, of which some were read."""
    walk = Frontier(JUDGE, WalkRules(**rules), limit=10, thinking=True)
    for number, name in enumerate("abcd", 1):
        own = 0.8 - number / 10
        walk.see([hit(number, f"viking://resources/{name}/x.md", own, own)], keep=True)
    walk.hear({RecordId(number): score for number, score in said.items()})
    return walk


def test_what_the_reranker_scored_stands_in_its_order_with_its_scores() -> None:
    walk = thinking({1: 0.2, 2: 0.00002, 3: 0.9, 4: 0.00001})
    assert [(s.hit.id, s.score, s.reranked) for s in walk.ranked()] == [
        (3, 0.9, 0.9),
        (1, 0.2, 0.2),
        (2, 0.00002, 0.00002),
        (4, 0.00001, 0.00001),
    ]


def test_what_the_reranker_was_not_shown_stands_below_all_that_it_scored_in_its_old_order() -> None:
    walk = thinking({3: 0.5, 4: 0.1})
    assert [(s.hit.id, s.score) for s in walk.ranked()] == [
        (3, 0.5),
        (4, 0.1),
        (1, 0.07),
        (2, 0.06),
    ]


def test_a_zero_of_the_reranker_keeps_the_order_of_what_it_was_not_shown() -> None:
    walk = thinking({1: 0.0, 4: 0.0}, batch=1)
    walk.see([hit(5, "viking://resources/a/a.md", 0.1, 0.1)], keep=True)
    ranked = walk.ranked()
    assert [scored.hit.id for scored in ranked] == [1, 4, 2, 3, 5]
    assert ranked[1].score > ranked[2].score > ranked[3].score > 0
    walk.push(Uri.parse("viking://resources/b"))
    assert [uri.name for uri in walk.take()] == ["b"]


def test_a_hole_in_the_answer_leaves_the_hit_its_blended_score() -> None:
    walk = thinking({1: None, 2: 0.95, 3: 0.3, 4: None})
    assert [(s.hit.id, s.score) for s in walk.ranked()] == [
        (2, 0.95),
        (1, 0.7),
        (4, 0.4),
        (3, 0.3),
    ]


def test_an_answer_of_holes_alone_changes_nothing() -> None:
    walk = thinking(dict.fromkeys((1, 2, 3, 4)))
    assert [(s.hit.id, s.score) for s in walk.ranked()] == [(1, 0.7), (2, 0.6), (3, 0.5), (4, 0.4)]


def test_where_the_reranker_found_the_best_file_is_opened_first() -> None:
    assert [uri.name for uri in opened(thinking({}))] == ["a", "b", "c", "d"]
    assert [uri.name for uri in opened(thinking({3: 0.5, 4: 0.7}))] == ["d", "c", "a", "b"]


def opened(walk: Frontier) -> list[Uri]:
    for name in "abcd":
        walk.push(Uri.parse(f"viking://resources/{name}"))
    return list(walk.take())


def test_the_reranker_is_shown_the_best_first_and_nothing_twice() -> None:
    walk = thinking({1: 0.1, 3: None})
    assert [found.id for found in walk.unread(1)] == [2]
    assert [found.id for found in walk.unread(9)] == [2, 4]
    assert [found.id for found in walk.unread(9, {RecordId(4), RecordId(1)})] == [4]


def test_thinking_waits_for_more_quiet_rounds() -> None:
    rounds: dict[bool, int] = {}
    for is_thinking in (False, True):
        walk = Frontier(JUDGE, WalkRules(batch=1), limit=10, thinking=is_thinking)
        for number in range(10):
            walk.push(Uri.parse(f"viking://resources/{number}"))
        while walk.take():
            walk.end_round()
        rounds[is_thinking] = walk.rounds
    assert rounds == {False: 2, True: 4}


def test_own_scores_are_the_same_one_by_one_and_all_at_once() -> None:
    hits = Hits.of(
        [
            hit(1, "viking://resources/a.md", 0.7, 0.4),
            hit(2, "viking://resources/b.md", None, 0.9),
            hit(3, "viking://resources/c.md", -0.2),
            hit(4, "viking://resources/d.md", 1.0, 0.99),
        ]
    )
    for known in (0.0, 0.5, 1.0):
        judge = Judge(Calibration(0.1, 0.5), ScoreRules(), known)
        assert judge.owns(hits).tolist() == pytest.approx([judge.own(one) for one in hits])
