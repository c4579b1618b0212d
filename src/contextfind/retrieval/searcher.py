"""search: a question that may be planned and may think, answered like a find."""

from dataclasses import replace

from contextfind.domain.identity import RequestContext
from contextfind.domain.queries import FindQuestion, QueryPlan, RetrieverMode, TypedQuery
from contextfind.domain.results import FindResult
from contextfind.retrieval.finder import Finder

_ORIGINAL_PRIORITY = 1  # what was asked is the most urgent of what is searched
_UNPLANNED = "No language model plans searches here: the query is searched as it was asked."
_PICTURE = "A picture is searched by itself: nothing is planned."
_NO_QUERY = "No query: the conditions alone select."
_NO_SESSION = " Sessions are not kept yet: this one counts as one without messages."


class Searcher:
    """Answers searches: in thinking mode, and with the plan of what was searched."""

    def __init__(self, finder: Finder) -> None:
        self._finder = finder

    async def search(
        self, context: RequestContext, question: FindQuestion, session_id: str = ""
    ) -> FindResult:
        """Return what `Finder.find` returns in thinking mode, and the plan.

        session_id: whose messages say what is meant; empty for none.

        Raises:
            As `Finder.find`.

        """
        plan = _plan(question)
        if session_id:
            plan = replace(plan, reasoning=plan.reasoning + _NO_SESSION)
        thinking = replace(question, mode=RetrieverMode.THINKING)
        found = await self._finder.find(context, thinking)
        return replace(found, query_plan=plan)


def _plan(question: FindQuestion) -> QueryPlan:
    """Return the original query alone, and why."""
    queries = (TypedQuery(question.query, priority=_ORIGINAL_PRIORITY),) if question.query else ()
    if question.image is not None:
        return QueryPlan(queries, _PICTURE)
    return QueryPlan(queries, _UNPLANNED if queries else _NO_QUERY)
