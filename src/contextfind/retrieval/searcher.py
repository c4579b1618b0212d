"""search: a question that may be planned and may think, answered like a find."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

from contextfind.domain.conversation import Conversation
from contextfind.domain.errors import UnavailableError
from contextfind.domain.identity import Identity, RequestContext
from contextfind.domain.queries import FindQuestion, QueryPlan, RetrieverMode
from contextfind.domain.results import FindResult
from contextfind.domain.scope import visible_to
from contextfind.retrieval import ellipsis, plans
from contextfind.retrieval.finder import Finder
from contextfind.retrieval.intent import IntentAnalyzer

Recollect = Callable[[Identity, str], Awaitable[Conversation]]  # what is left of a session

_PICTURE = "A picture is searched by itself: nothing is planned."
_NO_QUERY = "No query: the conditions alone select."
_AS_ASKED = "The query is searched as it was asked"


async def no_sessions(_identity: Identity, _session_id: str) -> Conversation:
    """Return what a house without sessions remembers."""
    return Conversation()


class Searcher:
    """Answers searches: in thinking mode, and with the plan of what was searched.

    analyzer: the language model that plans; None: rules resolve what is obvious.
    timer: seconds of a steady clock.
    """

    def __init__(
        self,
        finder: Finder,
        timer: Callable[[], float],
        recollect: Recollect = no_sessions,
        analyzer: IntentAnalyzer | None = None,
    ) -> None:
        self._finder = finder
        self._timer = timer
        self._recollect = recollect
        self._analyzer = analyzer

    async def search(
        self, context: RequestContext, question: FindQuestion, session_id: str = ""
    ) -> FindResult:
        """Return what `Finder.find` returns for the plan's queries in thinking mode, and the plan.

        session_id: whose messages say what is meant; empty for none, an unknown one has none. A plan
        without queries answers nothing. A planner that fails costs its time only: the query is searched
        as it was asked, the plan says why, and a note too.

        Raises:
            As `Finder.find`.

        """
        scope = visible_to(context.identity, question.targets)  # refuses before a model is asked
        began = self._timer()
        notes: list[str] = []
        plan = await self.plan(context, question, session_id, notes)
        spent = {"plan_ms": round(1000 * (self._timer() - began), 3)}
        if plan.queries or not question.query.strip():
            thinking = replace(question, mode=RetrieverMode.THINKING)
            found = await self._finder.find(context, thinking, plan.queries)
        else:
            unknown = await self._finder.unknown(scope, question.targets)
            found = FindResult((), (), (), unknown_targets=unknown)
        timings = {**spent, **found.timings}
        return replace(found, query_plan=plan, notes=[*notes, *found.notes], timings=timings)

    async def plan(
        self, context: RequestContext, question: FindQuestion, session_id: str, notes: list[str]
    ) -> QueryPlan:
        """Return what is searched for a question asked in a session; why nothing was planned is noted."""
        query = question.query
        if question.image is not None:
            return plans.only(query, _PICTURE)
        if not query.strip():
            return plans.only(query, _NO_QUERY)
        try:
            conversation = await self._told(context.identity, session_id)
            if self._analyzer is None:
                return ellipsis.planned(query, conversation)
            return await self._analyzer.plan(context, question, conversation)
        except UnavailableError as fault:
            notes.append(f"not planned: {fault}")
            return plans.only(query, f"{_AS_ASKED}, because nothing could be planned: {fault}")

    async def _told(self, identity: Identity, session_id: str) -> Conversation:
        return await self._recollect(identity, session_id) if session_id else Conversation()
