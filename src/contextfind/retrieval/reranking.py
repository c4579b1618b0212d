"""Thinking mode's judge: the reranker reads the best passages, in bounded batches and bounded time."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from contextfind.domain.errors import UnavailableError
from contextfind.domain.records import RecordId
from contextfind.ports import Hit, RecordStore, Reranker

RERANK_CANDIDATES = (
    50  # five pages of ten hits; a small cross-encoder reads them in a second or two
)
RERANK_SECONDS = 15.0  # one request that hangs (10) and some of the next one


@dataclass(frozen=True, slots=True)
class Panel:
    """Who judges, and within which bounds.

    candidates: texts in one batch, and so in one request's worth of work. seconds: for all batches
    of one search together, reading the texts not counted.
    """

    reranker: Reranker
    store: RecordStore
    candidates: int = RERANK_CANDIDATES
    seconds: float = RERANK_SECONDS


class Hearing:
    """The reranker in one search: reads nothing twice, is silent from its first failure on."""

    def __init__(self, panel: Panel, query: str) -> None:
        self.candidates = panel.candidates
        self.fault = ""  # why the reranker is not asked any more
        self._panel = panel
        self._query = query
        self._left = panel.seconds
        self._said: dict[RecordId, float | None] = {}

    async def judge(self, hits: Sequence[Hit]) -> Mapping[RecordId, float | None]:
        """Return what the reranker says of the best passage of each hit, None where it says nothing.

        Of what it could not be asked for, because it has failed now or before, nothing is returned;
        then `notes` say why.
        """
        unread = [hit for hit in hits if hit.id not in self._said]
        if unread and not self.fault:
            await self._read(unread)
        return {hit.id: self._said[hit.id] for hit in hits if hit.id in self._said}

    @property
    def notes(self) -> Sequence[str]:
        """What was done without, in words; nothing when all was judged."""
        told: list[str] = []
        holes = sum(score is None for score in self._said.values())
        if holes:
            told.append(f"not reranked: {holes} of {len(self._said)} texts got no score")
        if self.fault:
            told.append(f"not reranked{' any further' if self._said else ''}: {self.fault}")
        return told

    async def _read(self, hits: Sequence[Hit]) -> None:
        passages = await self._panel.store.passages([(hit.id, hit.passage) for hit in hits])
        texts = {
            hit.id: passage.indexed_text
            for hit, passage in zip(hits, passages, strict=True)
            if passage is not None  # deleted a moment ago
        }
        scores = await self._ask(list(texts.values()))
        self._said.update(zip(texts, scores, strict=False))  # no scores at all after a failure

    async def _ask(self, texts: Sequence[str]) -> Sequence[float | None]:
        if not texts:
            return ()
        clock = asyncio.get_running_loop().time
        began = clock()
        try:
            async with asyncio.timeout(self._left):
                return await self._panel.reranker.rerank(self._query, texts)
        except UnavailableError as fault:
            self.fault = str(fault)
        except TimeoutError:
            self.fault = f"the reranker needed more than {self._panel.seconds:g} seconds"
        finally:
            self._left -= clock() - began
        return ()
