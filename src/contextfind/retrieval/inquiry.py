"""One query of a find: its walk and the page made of it; those of a plan side by side."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from contextfind.domain.filters import Filter
from contextfind.domain.queries import FindQuestion, RetrieverMode, TypedQuery
from contextfind.domain.records import Vector
from contextfind.domain.scope import Scope
from contextfind.ports import Tokenizer
from contextfind.retrieval.duplicates import Page, PageMaker
from contextfind.retrieval.hotness import Stove
from contextfind.retrieval.reranking import Hearing, Panel
from contextfind.retrieval.walk import Ask, HierarchicalRetriever, Walk

# Of all requests together: more would not end sooner, and a request that is short (/health) would have to
# wait for one step of each.
_WALKS_AT_ONCE = 8
_WIDENING = (8, 64)  # times the candidates, while copies leave places on the page free


@dataclass(frozen=True, slots=True)
class Inquiry:
    """One query, ready to be walked.

    question: the request, with this query's own text. where: which hits to keep, as an index can
    answer it. vector: None when the embedder has nothing to say.
    """

    typed: TypedQuery
    question: FindQuestion
    where: Filter
    vector: Vector | None


@dataclass(frozen=True, slots=True)
class Answered:
    """What one query found, best first, by its own scores."""

    inquiry: Inquiry
    walk: Walk
    page: Page


@dataclass(frozen=True, slots=True)
class Inquirer:
    """Walks queries and makes their pages; those of a plan are all under way at once.

    panel: the reranker of thinking questions, None when there is none. stove: blends hotness into the
    scores; None where it does not count.
    """

    retriever: HierarchicalRetriever
    pages: PageMaker
    tokenizer: Tokenizer
    panel: Panel | None
    stove: Stove | None
    _gate: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_WALKS_AT_ONCE))

    async def answer(self, scope: Scope, inquiries: Sequence[Inquiry]) -> Sequence[Answered]:
        """Return what each query found, in order; the first failure ends them all.

        Raises:
            UnavailableError: the index or the store does not answer.

        """
        if len(inquiries) == 1:
            return [await self._answer(scope, inquiries[0])]
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._answer(scope, one)) for one in inquiries]
        except ExceptionGroup as failures:  # the first failure has stopped the others
            failure = failures.exceptions[0]
        else:
            return [task.result() for task in tasks]
        raise failure

    async def _answer(self, scope: Scope, inquiry: Inquiry) -> Answered:
        question = inquiry.question
        terms = tuple(self.tokenizer.terms(question.query))
        hearing = self._hearing(question)
        ask = Ask(scope, inquiry.where, question.limit, inquiry.vector, terms, hearing)
        if hearing is not None:  # it waits for a reranker, and nobody else shall wait for that
            return Answered(inquiry, *await self._page(ask, question))
        async with self._gate:
            return Answered(inquiry, *await self._page(ask, question))

    async def _page(self, ask: Ask, question: FindQuestion) -> tuple[Walk, Page]:
        """Search and fill a page; search wider where copies leave places free and more may match."""
        limit, floor = question.limit, question.score_threshold
        walk = await self._walk(ask)
        page = await self.pages.make(walk.ranked, limit, floor, ask.scope)
        for times in _WIDENING:
            if len(page.chosen) == limit or walk.exhausted or not page.collapsed:
                break
            walk = await self._walk(replace(ask, widen=times))
            page = await self.pages.make(walk.ranked, limit, floor, ask.scope)
        return walk, page

    async def _walk(self, ask: Ask) -> Walk:
        """Search, and let hotness count where it does, over all that was found."""
        walk = await self.retriever.retrieve(ask)
        if self.stove is None:
            return walk
        warmed = await self.stove.warm(walk.ranked(), walk.frontier.digits)
        return replace(walk, warmed=warmed)

    def _hearing(self, question: FindQuestion) -> Hearing | None:
        """Return the reranker for this question, None where it is not to be asked."""
        text = question.query.strip()
        if question.mode is RetrieverMode.QUICK or self.panel is None or not text:
            return None
        return Hearing(self.panel, text)
