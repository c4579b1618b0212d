"""find: one question, the best hits that the caller may see, and why."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from contextfind.domain.errors import InvalidArgumentError, NotFoundError, UnavailableError
from contextfind.domain.identity import Identity, RequestContext
from contextfind.domain.queries import FindQuestion, RetrieverMode, TypedQuery
from contextfind.domain.records import Record, Vector
from contextfind.domain.results import FindResult, MatchedContext, QueryResult
from contextfind.domain.scope import Scope, visible_to
from contextfind.domain.uri import Uri
from contextfind.ports import BlobStore, Embedder, RecordStore, Tokenizer, body_of
from contextfind.retrieval.duplicates import Page, PageMaker
from contextfind.retrieval.hotness import Stove
from contextfind.retrieval.lookups import indexable
from contextfind.retrieval.reasons import ReasonWriter
from contextfind.retrieval.reranking import Hearing, Panel
from contextfind.retrieval.seeing import Sight, blended, text_only
from contextfind.retrieval.shelves import shelve
from contextfind.retrieval.trace import trace_of
from contextfind.retrieval.uses import Count, uncounted
from contextfind.retrieval.walk import Ask, HierarchicalRetriever, Walk

LONGEST_QUERY = 20_000  # characters; taking the words of more would hold up everybody else
_READS_AT_ONCE = 8  # bodies fetched side by side for `read_content`
_WIDENING = (8, 64)  # times the candidates, while copies leave places on the page free


@dataclass(frozen=True, slots=True)
class Reading:
    """What the finder reads with.

    ready: returns when the index has caught up with what was stored at start; raises
        UnavailableError when that takes too long.
    timer: seconds of a steady clock.
    sight: what pictures are looked at with; None when the embedder takes text only.
    collapse_duplicates: files whose best passages say the same share one place.
    count: told of each hit whose body was given along.
    panel: the reranker of thinking questions; None when none is configured.
    stove: blends hotness into the scores; None where it does not count.
    """

    store: RecordStore
    blobs: BlobStore
    embedder: Embedder
    tokenizer: Tokenizer
    ready: Callable[[], Awaitable[None]]
    timer: Callable[[], float]
    sight: Sight | None = None
    collapse_duplicates: bool = True
    count: Count = uncounted
    panel: Panel | None = None
    stove: Stove | None = None


class Finder:
    """Answers questions; a quick one, as every find is, calls no language model and no reranker."""

    def __init__(self, reading: Reading, retriever: HierarchicalRetriever) -> None:
        self._with = reading
        self._retriever = retriever
        self._pages = PageMaker(reading.store, collapse=reading.collapse_duplicates)
        self._reasons = ReasonWriter(reading.tokenizer)

    async def find(self, context: RequestContext, question: FindQuestion) -> FindResult:
        """Return at most `question.limit` hits, best first, ties by address.

        Without text the filter alone selects: score 0, newest first. An embedder that is down
        costs the vector channel only, and a note says so. A picture is searched by its vector, with
        text by the middle of both and by the words; without its vector there is no answer.

        Raises:
            InvalidArgumentError: neither text nor an effective filter; a picture, and the embedder
                takes text only.
            PermissionDeniedError: a target in another user's tree.
            UnavailableError: the index does not answer or is still being rebuilt.

        """
        scope = visible_to(context.identity, question.targets)
        stages = _Stages(self._with.timer)
        text = question.query.strip()
        if question.image is not None and self._with.sight is None:
            raise text_only()
        asked = bool(text) or question.image is not None
        if not asked and not question.selective:
            raise InvalidArgumentError(
                "query is empty; expected a text, or at least one of filter, context_type, tags, "
                "since, until (target_uri or level alone select nothing)",
                {"field": "query"},
            )
        unknown = await self._unknown(scope, question.targets)
        notes: list[str] = []
        told: Sequence[QueryResult] = ()
        if asked:
            hits, told = await self._search(context, question, scope, notes, stages)
        else:
            records = await self._with.store.select(scope, question.where, question.limit)
            hits = [_matched(record, 0.0, "matches the filter") for record in records]
            if question.score_threshold is not None:
                hits = [hit for hit in hits if hit.score >= question.score_threshold]
            stages.mark("select_ms")
        if question.read_content:
            hits = await self._with_content(scope, hits)
            stages.mark("read_ms")
        return replace(
            shelve(hits),
            query_results=told,
            unknown_targets=unknown,
            notes=notes,
            timings=stages.spent,
        )

    async def _search(
        self,
        context: RequestContext,
        question: FindQuestion,
        scope: Scope,
        notes: list[str],
        stages: "_Stages",
    ) -> tuple[list[MatchedContext], Sequence[QueryResult]]:
        await self._with.ready()
        question = _bounded(question, notes)
        vector = await self._direction(context.identity, question, notes)
        stages.mark("embed_ms")
        terms = tuple(dict.fromkeys(self._with.tokenizer.terms(question.query)))
        where = await indexable(self._with.store, scope, question.where)
        hearing = self._hearing(question)
        ask = Ask(scope, where, question.limit, vector, terms, hearing)
        walk, page = await self._page(ask, question)
        notes.extend(walk.notes)
        stages.mark("search_ms")
        reasons = self._reasons.write(page.chosen, question.query, walk.judge)
        stages.mark("reasons_ms")
        hits = [
            _matched(one.record, one.scored.score, reason)
            for one, reason in zip(page.chosen, reasons, strict=True)
        ]
        if not question.include_provenance:
            return hits, ()
        trace = trace_of(walk, page, question, await self._retriever.explain(walk))
        opened = [opened.uri for opened in walk.frontier.opened]
        return hits, [QueryResult(TypedQuery(question.query), hits, opened, trace)]

    async def _direction(
        self, identity: Identity, question: FindQuestion, notes: list[str]
    ) -> Vector | None:
        """Return where to search: the vector of the text, of the picture, or the middle of both."""
        sight = self._with.sight
        if question.image is None or sight is None:
            return await self._vector(question.query, notes)
        seen = await sight.vector(identity, question.image)
        if not question.query.strip():
            return seen
        rows = await self._with.embedder.embed([question.query], "query")
        return blended([rows[0], seen])

    async def _vector(self, query: str, notes: list[str]) -> Vector | None:
        try:
            rows = await self._with.embedder.embed([query], "query")
        except UnavailableError as fault:
            notes.append(f"searched by words only: {fault}")
            return None
        vector: Vector = rows[0]
        return vector

    async def _page(self, ask: Ask, question: FindQuestion) -> tuple[Walk, Page]:
        """Search and fill a page; search wider where copies leave places free and more may match."""
        limit, floor = question.limit, question.score_threshold
        walk = await self._walk(ask)
        page = await self._pages.make(walk.ranked, limit, floor, ask.scope)
        for times in _WIDENING:
            if len(page.chosen) == limit or walk.exhausted or not page.collapsed:
                break
            walk = await self._walk(replace(ask, widen=times))
            page = await self._pages.make(walk.ranked, limit, floor, ask.scope)
        return walk, page

    async def _walk(self, ask: Ask) -> Walk:
        """Search, and let hotness count where it does, over all that was found."""
        walk = await self._retriever.retrieve(ask)
        if self._with.stove is None:
            return walk
        warmed = await self._with.stove.warm(walk.ranked(), walk.frontier.digits)
        return replace(walk, warmed=warmed)

    def _hearing(self, question: FindQuestion) -> Hearing | None:
        """Return the reranker for this question, None where it is not to be asked."""
        text = question.query.strip()
        if question.mode is RetrieverMode.QUICK or self._with.panel is None or not text:
            return None
        return Hearing(self._with.panel, text)

    async def _unknown(self, scope: Scope, targets: Sequence[Uri] | None) -> Sequence[Uri]:
        if not targets:
            return ()
        known = await self._with.store.known(scope, targets)
        return [uri for uri, there in zip(targets, known, strict=True) if not there]

    async def _with_content(
        self, scope: Scope, hits: Sequence[MatchedContext]
    ) -> list[MatchedContext]:
        """Add the body to each hit; one that cannot be read stays without."""
        gate = asyncio.Semaphore(_READS_AT_ONCE)

        async def one(hit: MatchedContext) -> MatchedContext:
            async with gate:
                body = await self._body(scope, hit)
            return hit if body is None else replace(hit, content=body)

        return list(await asyncio.gather(*(one(hit) for hit in hits)))

    async def _body(self, scope: Scope, hit: MatchedContext) -> str | None:
        records = await self._with.store.at(scope, hit.uri)
        record = next((r for r in records if r.level is hit.level), None)
        if record is None:
            return None
        try:
            text = await body_of(record, self._with.blobs)
        except (NotFoundError, UnavailableError):
            return None
        self._with.count(record.id)
        return text


def _bounded(question: FindQuestion, notes: list[str]) -> FindQuestion:
    if len(question.query) <= LONGEST_QUERY:
        return question
    notes.append(f"of the query the first {LONGEST_QUERY} characters were searched")
    return replace(question, query=question.query[:LONGEST_QUERY])


class _Stages:
    """Milliseconds spent per stage, for telemetry."""

    def __init__(self, timer: Callable[[], float]) -> None:
        self._timer = timer
        self._last = timer()
        self.spent: dict[str, float] = {}

    def mark(self, stage: str) -> None:
        now = self._timer()
        self.spent[stage] = round(1000 * (now - self._last), 3)
        self._last = now


def _matched(record: Record, score: float, reason: str) -> MatchedContext:
    return MatchedContext(
        uri=record.uri,
        context_type=record.context_type,
        level=record.level,
        abstract=record.abstract,
        score=score,
        tags=record.tags,
        match_reason=reason,
    )
