from hypothesis import given
from hypothesis import strategies as st

from contextfind.adapters.embedded.planner import Neighbours, Scan, Skip, Task, plan, widen
from contextfind.adapters.embedded.rules import IndexRules

RULES = IndexRules()


def task(candidates: int, nodes: int = 100_000, wanted: int = 10, span: int | None = None) -> Task:
    return Task(candidates, nodes if span is None else span, wanted, nodes)


def test_nothing_is_done_without_candidates() -> None:
    assert plan(task(0), RULES) == Skip()


def test_few_candidates_are_scanned() -> None:
    assert plan(task(4_000), RULES) == Scan()


def test_everything_is_scanned_where_there_is_no_graph() -> None:
    assert plan(task(80_000, nodes=0), RULES) == Scan()


def test_most_of_a_large_segment_is_asked_of_its_graph() -> None:
    assert plan(task(100_000), RULES) == Neighbours(128)
    assert plan(task(50_000), RULES) == Neighbours(128)


def test_more_neighbours_are_asked_for_the_fewer_are_candidates() -> None:
    assert plan(task(50_000, wanted=100), RULES) == Neighbours(600)
    assert plan(task(10_000, wanted=10), RULES) == Neighbours(300)


def test_a_graph_that_costs_more_than_the_scan_is_not_asked() -> None:
    assert plan(task(10_000, wanted=100), RULES) == Scan()


def test_adjacent_candidates_are_cheaper_to_scan_than_scattered_ones() -> None:
    assert plan(task(10_000, wanted=10, span=10_000), RULES) == Scan()


def test_larger_graphs_are_asked_for_more() -> None:
    large = plan(task(1_000_000, nodes=1_000_000), RULES)
    huge = plan(task(9_000_000, nodes=9_000_000), RULES)
    assert large == Neighbours(404)
    assert huge == Neighbours(512)


def test_too_few_are_widened_and_at_last_scanned() -> None:
    asked = Neighbours(128)
    wider = widen(task(100_000), asked, RULES)
    assert wider == Neighbours(512)
    assert widen(task(100_000), Neighbours(512), RULES) == Scan()
    assert widen(task(500, nodes=500), Neighbours(500), RULES) == Scan()


@given(
    candidates=st.integers(0, 10**7),
    nodes=st.integers(0, 10**7),
    wanted=st.integers(1, 10**5),
    cost=st.floats(0, 10),
)
def test_every_plan_ends_in_a_scan_and_never_asks_for_more_than_there_is(
    candidates: int, nodes: int, wanted: int, cost: float
) -> None:
    rules = IndexRules(neighbour_cost=cost)
    question = Task(candidates, max(candidates, nodes), wanted, nodes)
    step = plan(question, rules)
    rounds = 0
    while isinstance(step, Neighbours):
        assert 0 < step.count <= nodes
        step = widen(question, step, rules)
        rounds += 1
    assert rounds < 14


def test_neighbours_that_are_there_are_used_again_where_they_must_hold_enough() -> None:
    some = Task(candidates=2_000, span=50_000, wanted=10, nodes=50_000)
    assert plan(some, RULES) == Scan()
    assert plan(some, RULES, had=300) == Scan()  # 12 of them are expected among the candidates
    assert plan(some, RULES, had=400) == Neighbours(400)
