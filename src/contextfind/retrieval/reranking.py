"""Thinking mode's judge: the reranker reads the best passages, in bounded batches and bounded time."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from contextfind.domain.errors import UnavailableError
from contextfind.domain.records import RecordId
from contextfind.ports import Hit, RecordStore, Reranker

RERANK_CANDIDATES = 50  # what rerankers are usually given; ten pages of five hits
RERANK_SECONDS = 10.0


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
    """The reranker in one search; silent from its first failure on."""

    def __init__(self, panel: Panel, query: str) -> None:
        self.candidates = panel.candidates
        self.fault = ""  # why the reranker is not asked any more
        self._panel = panel
        self._query = query
        self._left = panel.seconds
        self._read = 0
        self._holes = 0

    async def judge(self, hits: Sequence[Hit]) -> Mapping[RecordId, float | None]:
        """Return what the reranker says of the best passage of each hit, None where it says nothing.

        Nothing at all is returned when it has failed, now or before; then `notes` say why.
        """
        if self.fault or not hits:
            return {}
        passages = await self._panel.store.passages([(hit.id, hit.passage) for hit in hits])
        texts = {
            hit.id: passage.indexed_text
            for hit, passage in zip(hits, passages, strict=True)
            if passage is not None  # deleted a moment ago
        }
        scores = await self._ask(list(texts.values()))
        self._read += sum(score is not None for score in scores)
        self._holes += sum(score is None for score in scores)
        return dict(zip(texts, scores, strict=False))  # no scores at all after a failure

    @property
    def notes(self) -> Sequence[str]:
        """What was done without, in words; nothing when all was judged."""
        told: list[str] = []
        if self._holes:
            total = self._read + self._holes
            told.append(f"not reranked: {self._holes} of {total} texts got no score")
        if self.fault:
            told.append(f"not reranked{' any further' if self._read else ''}: {self.fault}")
        return told

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
