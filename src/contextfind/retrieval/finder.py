"""find: one question, the best hits that the caller may see, and why."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import NamedTuple

from contextfind.domain.errors import InvalidArgumentError, UnavailableError
from contextfind.domain.filters import Everything, Filter, OneOf, all_of
from contextfind.domain.identity import Identity, RequestContext
from contextfind.domain.queries import FindQuestion, TypedQuery
from contextfind.domain.records import Record, Vector
from contextfind.domain.results import FindResult, MatchedContext, QueryResult
from contextfind.domain.scope import Scope, visible_to
from contextfind.domain.uri import Uri
from contextfind.ports import BlobStore, Embedder, RecordStore, Tokenizer, bodies_of
from contextfind.retrieval.duplicates import PageMaker
from contextfind.retrieval.hotness import Stove
from contextfind.retrieval.inquiry import Answered, Inquirer, Inquiry
from contextfind.retrieval.lookups import indexable
from contextfind.retrieval.merging import Merged, merge
from contextfind.retrieval.reasons import ReasonWriter
from contextfind.retrieval.recent import RecentVectors
from contextfind.retrieval.reranking import Panel
from contextfind.retrieval.seeing import Sight, blended, text_only, unseen
from contextfind.retrieval.shelves import shelve
from contextfind.retrieval.trace import trace_of
from contextfind.retrieval.uses import Count, uncounted
from contextfind.retrieval.walk import HierarchicalRetriever

LONGEST_QUERY = 20_000  # characters; taking the words of more would hold up everybody else
MOST_READ = 32 * 1024 * 1024  # bytes of the texts in one answer; a hundred usual files have one MiB
_WORDS_ONLY = "searched by words only"  # so begins the note; clients may look for it
_REWORDED = 100  # characters of a planned query that a reason names


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
        pages = PageMaker(reading.store, collapse=reading.collapse_duplicates)
        self._inquirer = Inquirer(retriever, pages, reading.tokenizer, reading.panel, reading.stove)
        self._reasons = ReasonWriter(reading.tokenizer)
        self.recent = RecentVectors(reading.embedder)

    async def find(
        self, context: RequestContext, question: FindQuestion, queries: Sequence[TypedQuery] = ()
    ) -> FindResult:
        """Return at most `question.limit` hits, best first, ties by address.

        queries: what is asked in place of the question's text, side by side, each within the
        question's targets and conditions; their hits are merged into one list. Empty: the text itself.

        Without text the filter alone selects: score 0, newest first. An embedder that is down
        costs the vector channel only, and a note says so. A picture is searched by its vector, with
        text by the middle of both and by the words; without its vector there is no answer.

        Raises:
            InvalidArgumentError: neither text nor an effective filter; a picture, and the embedder
                takes text only.
            PermissionDeniedError: a target in another user's tree.
            UnavailableError: the index does not answer or is still being rebuilt; a picture, and the
                embedder does not answer.

        """
        scope = visible_to(context.identity, question.targets)
        self._check(question)
        request = _Request(context.identity, question, scope, [], _Stages(self._with.timer))
        unknown = await self.unknown(scope, question.targets)
        if _asks(question):
            found, told = await self._search(request, queries or (TypedQuery(question.query),))
        else:
            found, told = await self._selected(request), ()
        bodies: Sequence[str | None] = [None] * len(found)
        if question.read_content:
            bodies = await self._bodies([one.record for one in found], request.notes)
            request.stages.mark("read_ms")
        return replace(
            shelve([one.shown(body) for one, body in zip(found, bodies, strict=True)]),
            query_results=told,
            unknown_targets=unknown,
            notes=request.notes,
            words_only=any(note.startswith(_WORDS_ONLY) for note in request.notes),
            timings=request.stages.spent,
        )

    def _check(self, question: FindQuestion) -> None:
        if question.image is not None and self._with.sight is None:
            raise text_only()
        if not _asks(question) and not question.selective:
            raise InvalidArgumentError(
                "query is empty; expected a text, or at least one of filter, context_type, tags, "
                "since, until (target_uri or level alone select nothing)",
                {"field": "query"},
            )

    async def _selected(self, request: "_Request") -> list["_Found"]:
        question = request.question
        records = await self._with.store.select(request.scope, question.where, question.limit)
        request.stages.mark("select_ms")
        found = [_Found(record, 0.0, "matches the filter") for record in records]
        floor = question.score_threshold
        return [one for one in found if floor is None or one.score >= floor]

    async def _search(
        self, request: "_Request", queries: Sequence[TypedQuery]
    ) -> tuple[list["_Found"], Sequence[QueryResult]]:
        await self._with.ready()
        question, scope, stages = request.question, request.scope, request.stages
        asked = [_asking(question, _bounded(typed.query, request)) for typed in queries]
        vectors = await self._directions(request, [one.query for one in asked])
        stages.mark("embed_ms")
        where = await indexable(self._with.store, scope, question.where)
        inquiries = [
            Inquiry(typed, one, all_of(where, _kind(typed)), vector)
            for typed, one, vector in zip(queries, asked, vectors, strict=True)
        ]
        answered = await self._inquirer.answer(scope, inquiries)
        request.notes.extend(dict.fromkeys(note for one in answered for note in one.walk.notes))
        stages.mark("search_ms")
        collapse = self._with.collapse_duplicates
        merged = merge(answered, question.limit, question.score_threshold, collapse=collapse)
        found = self._found(merged, answered, question.query)
        told = [await self._told(one) for one in answered] if question.include_provenance else ()
        stages.mark("reasons_ms")
        return found, told

    def _found(
        self, merged: Sequence[Merged], answered: Sequence[Answered], original: str
    ) -> list["_Found"]:
        """Return the hits with the reasons of the query that gives each, named where it is reworded."""
        reasons: dict[int, str] = {}
        for by, one in enumerate(answered):
            mine = [at for at, hit in enumerate(merged) if hit.by == by]
            text = one.inquiry.question.query
            told = self._reasons.write([merged[at].chosen for at in mine], text, one.walk.judge)
            reworded = "" if one.inquiry.typed.query == original else f", asked as {_quoted(text)}"
            reasons |= {at: f"{why}{reworded}" for at, why in zip(mine, told, strict=True)}
        return [_Found(hit.chosen.record, hit.score, reasons[at]) for at, hit in enumerate(merged)]

    async def _told(self, one: Answered) -> QueryResult:
        """Return the hits of one query by its own scores, and how they were found."""
        typed, question, walk = one.inquiry.typed, one.inquiry.question, one.walk
        reasons = self._reasons.write(one.page.chosen, question.query, walk.judge)
        hits = [
            _Found(chosen.record, chosen.scored.score, reason).shown()
            for chosen, reason in zip(one.page.chosen, reasons, strict=True)
        ]
        trace = trace_of(walk, one.page, question, await self._retriever.explain(walk))
        if typed.weight < 1:
            line = f"on the list of all queries the scores of this one count {typed.weight:.2f}"
            trace = replace(trace, formulas=[*trace.formulas, line])
        return QueryResult(typed, hits, [opened.uri for opened in walk.frontier.opened], trace)

    async def _directions(
        self, request: "_Request", texts: Sequence[str]
    ) -> Sequence[Vector | None]:
        """Return where to search for each: the vector of the text, of the picture, or the middle of both.

        One call of the embedder for all texts.
        """
        sight, image = self._with.sight, request.question.image
        distinct = list(dict.fromkeys(text for text in texts if image is None or text.strip()))
        if image is None or sight is None:
            known = await self._vectors(distinct, request.notes)
            return [known.get(text) for text in texts]
        seen = await sight.vector(request.identity, image)
        if not distinct:
            return [seen] * len(texts)
        try:
            rows = await self.recent.of(distinct)
        except UnavailableError as fault:
            raise unseen(fault) from fault
        between = {text: blended([row, seen]) for text, row in zip(distinct, rows, strict=True)}
        return [between.get(text, seen) for text in texts]

    async def _vectors(self, texts: Sequence[str], notes: list[str]) -> Mapping[str, Vector]:
        try:
            rows = await self.recent.of(texts)
        except UnavailableError as fault:
            notes.append(f"{_WORDS_ONLY}: {fault}")
            return {}
        return dict(zip(texts, rows, strict=True))

    async def unknown(self, scope: Scope, targets: Sequence[Uri] | None) -> Sequence[Uri]:
        """Return the targets at which nothing is stored, in order."""
        if not targets:
            return ()
        known = await self._with.store.known(scope, targets)
        return [uri for uri, there in zip(targets, known, strict=True) if not there]

    async def _bodies(self, records: Sequence[Record], notes: list[str]) -> Sequence[str | None]:
        """Return the body of each hit, which counts as a use; None where it cannot be read, or is too much."""
        together = accumulate(record.size for record in records)
        fit = max(sum(size <= MOST_READ for size in together), 1)
        bodies = await bodies_of(records[:fit], self._with.blobs)
        for record, body in zip(records, bodies, strict=False):
            if body is not None:
                self._with.count(record.id)
        left = len(records) - len(bodies)
        if left > 0:
            notes.append(f"the texts of the last {left} hits would be too much for one answer")
        return [*bodies, *[None] * left]


def _asks(question: FindQuestion) -> bool:
    """Whether there is anything to be near to: a text or a picture."""
    return bool(question.query.strip()) or question.image is not None


def _asking(question: FindQuestion, text: str) -> FindQuestion:
    return question if text == question.query else replace(question, query=text)


def _bounded(query: str, request: "_Request") -> str:
    note = f"of the query the first {LONGEST_QUERY} characters were searched"
    if len(query) > LONGEST_QUERY and note not in request.notes:
        request.notes.append(note)
    return query[:LONGEST_QUERY]


def _kind(typed: TypedQuery) -> Filter:
    """Return the condition that keeps a query to its shelf."""
    if typed.context_type is None:
        return Everything()
    return OneOf("context_type", frozenset({typed.context_type.value}))


def _quoted(text: str) -> str:
    return f"'{text}'" if len(text) <= _REWORDED else f"'{text[:_REWORDED]}…'"


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


@dataclass(frozen=True, slots=True)
class _Request:
    """One request on its way; notes are added as it goes."""

    identity: Identity
    question: FindQuestion
    scope: Scope
    notes: list[str]
    stages: _Stages


class _Found(NamedTuple):
    """A hit before it is shown."""

    record: Record
    score: float
    reason: str

    def shown(self, body: str | None = None) -> MatchedContext:
        """Return it as it is answered, with its body where that was asked for."""
        record = self.record
        return MatchedContext(
            uri=record.uri,
            context_type=record.context_type,
            level=record.level,
            abstract=record.abstract,
            score=self.score,
            tags=record.tags,
            match_reason=self.reason,
            content=body,
        )
