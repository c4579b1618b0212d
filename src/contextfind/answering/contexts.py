"""The texts behind hits, within a budget of tokens: small files whole, of long ones what fits the question."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from contextfind.answering.excerpts import beginning, excerpt
from contextfind.domain.errors import DamagedError, UnavailableError
from contextfind.domain.filters import OneOf
from contextfind.domain.identity import Identity
from contextfind.domain.records import Level, Passage, Record, Vector
from contextfind.domain.results import MatchedContext
from contextfind.domain.scope import Scope, visible_to
from contextfind.domain.tokens import estimated_tokens
from contextfind.ports import (
    BlobStore,
    Embedder,
    Hit,
    Probe,
    RecordStore,
    SearchIndex,
    Tokenizer,
    body_of,
)
from contextfind.retrieval.uses import Count, uncounted

FILES = OneOf("level", frozenset({str(Level.DETAIL.value)}))
_READS_AT_ONCE = 8  # bodies fetched side by side
_PASSAGES_AT_ONCE = 256  # passages asked of the store in one call
_MOST_PASSAGES = 1_024  # of one file that are looked at, and as many around its best one


@dataclass(frozen=True, slots=True)
class Budget:
    """How much text stands behind the hits of one question, in estimated tokens.

    tokens: together, and the most that a model is shown; small enough for models with a window of 8,000.
    least: of each text however many there are: a passage is never longer than about that.
    """

    tokens: int = 5_000
    least: int = 450


@dataclass(frozen=True, slots=True)
class Library:
    """What texts are read with; count: told of each file that was read."""

    store: RecordStore
    blobs: BlobStore
    index: SearchIndex
    embedder: Embedder
    tokenizer: Tokenizer
    count: Count = uncounted


class ContextReader:
    """Reads the texts behind hits."""

    def __init__(self, library: Library, budget: Budget) -> None:
        self._with = library
        self.budget = budget

    async def read(
        self, identity: Identity, question: str, hits: Sequence[MatchedContext]
    ) -> list[str]:
        """Return a text for each hit, in order.

        Files share the budget: what small ones do not need goes to the long ones. A file that cannot be
        read any more is represented by its abstract.

        Raises:
            UnavailableError: the store does not answer.

        """
        scope = visible_to(identity)
        gate = asyncio.Semaphore(_READS_AT_ONCE)

        async def one(hit: MatchedContext) -> tuple[Record | None, str]:
            async with gate:
                return await self._body(scope, hit)

        found = await asyncio.gather(*(one(hit) for hit in hits))
        rooms = shares([estimated_tokens(body) for _, body in found], self.budget)
        long = [
            record
            for (record, body), room in zip(found, rooms, strict=True)
            if record is not None and estimated_tokens(body) > room
        ]
        best = await self._best(scope, question, long)
        texts: list[str] = []
        for (record, body), room in zip(found, rooms, strict=True):
            if record is None or estimated_tokens(body) <= room:
                texts.append(beginning(body, room))
            else:
                texts.append(await self._excerpt(record, best.get(record.uri.text), question, room))
        return texts

    async def quoted(
        self, identity: Identity, question: str, records: Sequence[Record], room: int
    ) -> list[str]:
        """Return what of each file fits the question best, at most `room` tokens of each, in order."""
        best = await self._best(visible_to(identity), question, records)
        return [
            await self._excerpt(record, best.get(record.uri.text), question, room)
            for record in records
        ]

    async def _body(self, scope: Scope, hit: MatchedContext) -> tuple[Record | None, str]:
        records = await self._with.store.at(scope, hit.uri)
        record = next((one for one in records if one.level is hit.level), None)
        if record is None:
            return None, hit.abstract
        try:
            text = await body_of(record, self._with.blobs)
        except DamagedError:
            return None, hit.abstract
        self._with.count(record.id)
        return record, text

    async def _best(self, scope: Scope, question: str, records: Sequence[Record]) -> dict[str, int]:
        """Return the ordinal of the best passage by address; without an index nobody knows."""
        if not records:
            return {}
        vector = await self._vector(question)
        terms = tuple(self._with.tokenizer.terms(question))
        probes = [
            Probe(Scope(scope.account, scope.user, (record.uri,)), FILES, 1, vector, terms)
            for record in records
        ]
        try:
            answers = await self._with.index.search(probes)
        except UnavailableError:
            return {}
        hits: list[Hit] = [hit for answer in answers for hit in answer]
        return {hit.uri.text: hit.passage for hit in hits}

    async def _vector(self, question: str) -> Vector | None:
        try:
            vector: Vector = (await self._with.embedder.embed([question], "query"))[0]
        except UnavailableError:
            return None
        return vector

    async def _excerpt(self, record: Record, best: int | None, question: str, room: int) -> str:
        passages = await self._passages(record, best)
        tokenizer = self._with.tokenizer
        return await asyncio.to_thread(
            lambda: excerpt(passages, best, tokenizer.terms(question), tokenizer.terms, room)
        )

    async def _passages(self, record: Record, best: int | None) -> list[Passage]:
        """Return the first passages of a file, and those around the best one where it lies further on."""
        found = await self._some(record, 0)
        if best is not None and len(found) == _MOST_PASSAGES <= best:
            found += await self._some(record, max(best - _MOST_PASSAGES // 2, _MOST_PASSAGES))
        return found

    async def _some(self, record: Record, begin: int) -> list[Passage]:
        found: list[Passage] = []
        for start in range(begin, begin + _MOST_PASSAGES, _PASSAGES_AT_ONCE):
            wanted = [(record.id, at) for at in range(start, start + _PASSAGES_AT_ONCE)]
            there = [one for one in await self._with.store.passages(wanted) if one is not None]
            found += there
            if len(there) < _PASSAGES_AT_ONCE:
                break
        return found


def shares(sizes: Sequence[int], budget: Budget) -> list[int]:
    """Return how many tokens each text may have: all it needs, or an equal part of what the others leave.

    Never less than `budget.least`, so that the sum may be more than `budget.tokens` where they are many.
    """
    rooms = [0] * len(sizes)
    left = budget.tokens
    by_size = sorted(range(len(sizes)), key=lambda at: sizes[at])
    for done, at in enumerate(by_size):
        rooms[at] = max(min(sizes[at], left // (len(sizes) - done)), min(sizes[at], budget.least))
        left = max(left - rooms[at], 0)
    return rooms
