"""POST search/search: a find with a session, and the plan in its answer."""

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict  # before 3.12 pydantic takes no other

from contextfind.domain.queries import QueryPlan
from contextfind.domain.results import FindResult
from contextfind.server.wire.answers import Kind, exact
from contextfind.server.wire.body import Text
from contextfind.server.wire.find import FindBody, answer_of
from contextfind.server.wire.hits import Found


class SearchBody(FindBody):
    """A question, as in a find, and the session in which it is asked."""

    session_id: Annotated[
        Text,
        Field(
            description="The conversation that says what is meant: its summary and its last messages plan "
            "the search. An unknown one has none."
        ),
    ] = ""


@exact
class Planned(TypedDict):
    """One query of a plan; `context_type` null is all kinds."""

    query: str
    context_type: Kind | None
    intent: str
    priority: Annotated[int, Field(ge=1, le=5, description="1 is most urgent.")]


@exact
class Plan(TypedDict):
    """What was searched, and why; no queries: there is nothing to look up, or the conditions alone select."""

    reasoning: str
    queries: list[Planned]


class Searched(Found):
    """What a find answers, and the plan."""

    query_plan: Plan


def search_answer_of(found: FindResult, *, provenance: bool) -> dict[str, object]:
    """Return the `result` of a search: that of a find, and the plan."""
    result = answer_of(found, provenance=provenance)
    if found.query_plan is not None:
        result["query_plan"] = _plan(found.query_plan)
    return result


def _plan(plan: QueryPlan) -> dict[str, object]:
    return {
        "reasoning": plan.reasoning,
        "queries": [
            {
                "query": typed.query,
                "context_type": None if typed.context_type is None else typed.context_type.value,
                "intent": typed.intent,
                "priority": typed.priority,
            }
            for typed in plan.queries
        ],
    }
