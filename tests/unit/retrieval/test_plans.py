from dataclasses import replace

import pytest

from contextfind.domain.queries import QueryPlan, TypedQuery
from contextfind.domain.records import ContextType
from contextfind.retrieval import plans

ROLL = TypedQuery("roll back a release", ContextType.RESOURCE, "steps", 1)
TASTE = TypedQuery("user's taste", ContextType.MEMORY, "style", 4)


def texts(plan: QueryPlan) -> list[str]:
    return [typed.query for typed in plan.queries]


def test_the_original_is_asked_first_untyped_and_at_full_weight():
    plan = plans.together("undo a release", [TASTE, ROLL], "because", leans=False)
    assert plan.reasoning == "because"
    assert plan.queries[0] == TypedQuery("undo a release", priority=1)
    assert texts(plan)[1:] == ["roll back a release", "user's taste"]


def test_an_original_that_leans_on_the_conversation_comes_last_and_counts_less():
    plan = plans.together("undo it", [ROLL], "", leans=True)
    assert plan.queries[0] == ROLL
    assert plan.queries[1] == TypedQuery("undo it", priority=5, weight=plans.LEANING)


@pytest.mark.parametrize(("priority", "weight"), [(1, 1.0), (2, 0.99), (3, 0.98), (5, 0.96)])
def test_less_urgent_queries_count_a_hundredth_less_per_step(priority, weight):
    plan = plans.together("q", [replace(ROLL, priority=priority)], "", leans=False)
    assert plan.queries[1].weight == pytest.approx(weight)


def test_only_the_five_most_urgent_are_asked_besides_the_original():
    many = [TypedQuery(f"q{n}", priority=1 + n % 5) for n in range(8)]
    plan = plans.together("q", many, "", leans=False)
    assert texts(plan) == ["q", "q0", "q5", "q1", "q6", "q2"]


def test_each_question_to_each_shelf_is_asked_once():
    twice = [ROLL, replace(ROLL, query="  Roll back  a RELEASE", priority=2)]
    elsewhere = replace(ROLL, context_type=ContextType.SKILL)
    plan = plans.together("q", [*twice, elsewhere], "", leans=False)
    assert list(plan.queries[1:]) == [ROLL, elsewhere]


def test_the_original_is_never_narrowed_by_a_planned_copy_of_it():
    copy = TypedQuery("Undo  it", ContextType.SKILL, "x", 3)
    assert plans.together("undo it", [copy], "", leans=True) == plans.only("undo it", "")
    assert texts(plans.together("undo it", [copy, ROLL], "", leans=False)) == [
        "undo it",
        "roll back a release",
    ]


def test_a_blank_query_makes_a_plan_of_nothing():
    assert plans.only(" ", "why") == QueryPlan((), "why") == plans.nothing("why")
