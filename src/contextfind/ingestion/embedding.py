"""Gives every stored passage its vector, behind the requests."""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence

from contextfind.domain.errors import DamagedError, DiskRefusesError, UnavailableError
from contextfind.domain.records import Matrix, Vector, are_unit
from contextfind.ingestion.courtesy import Courtesy
from contextfind.ingestion.pulse import Pulse
from contextfind.ports import Embedder, PendingText, RecordStore

_log = logging.getLogger(__name__)

_SMALLEST, _LARGEST = (
    16,
    512,
)  # texts per step: a local model does some 16 a second, a stub thousands
_BESIDE = 48  # texts while requests come: what is done with so many vectors takes some 10 ms
_STEP_SECONDS = 1.0  # a step should take about this long: progress is seen, a crash costs little
_TEXT_STATUSES = frozenset({400, 413, 422})  # of a provider that dislikes what it was sent
_MOST_REFUSED = 5  # one after the other; from there on it is not the texts that are wrong
_LOOK_SECONDS = 2.0  # between two looks at what other processes may have left
_DISK_SECONDS = 1.0  # between two looks whether a disk takes something again
# Seconds to the first and the longest pause while the embedder is down: its own breaker keeps it from being asked more
# often. Nothing but this keeps one that is busy. What trying again does not change (a key, a name) may be mended where
# the model runs.
_PATIENCE = (1.0, 4.0)
_BUSY, _WHEN_BUSY = 429, 30.0
_RESIGNED = 15.0


class EmbeddingWorker:
    """Asks the store what has no vector yet and the embedder for it; survives restarts by design.

    alone: whether no other process embeds the same texts, so that whatever there is to do moves the log.
    embedded: texts that were given a vector since the start.
    failing: why the embedder gives nothing at the moment; empty while it works.
    refusing: what it will not embed and why, when nothing else is left to do; tried again at the
        next start, and when it works again after it gave nothing at all.
    idle_at: where the log stood when it last found nothing to do; what came later may still be embedded.
    """

    def __init__(
        self,
        store: RecordStore,
        embedder: Embedder,
        pulse: Pulse,
        timer: Callable[[], float],
        courtesy: Courtesy | None = None,
        *,
        alone: bool = False,
    ) -> None:
        self._look_seconds = None if alone else _LOOK_SECONDS
        self._store = store
        self._embedder = embedder
        self._pulse = pulse
        self._timer = timer
        self._courtesy = courtesy or Courtesy()
        self._step = _SMALLEST
        self.embedded = 0
        self.failing = ""
        self.refusing = ""
        self.idle_at = -1
        self._refused: set[str] = set()  # digests
        self._last_refusal = ""
        self._in_a_row = 0

    async def run(self) -> None:
        """Work until cancelled."""
        pause = _PATIENCE[0]
        while True:
            try:
                position = await self._store.position()
                found = await self._embed_some()
            except _RefusedError as refusal:
                self._give_in(refusal)
                continue
            except UnavailableError as fault:
                if not self.failing:
                    _log.warning("texts wait for their vectors: %s", fault)
                self.failing, self._step = str(fault), _SMALLEST
                self._pulse.beat()
                lasting = fault.details.get("retryable") is False
                await asyncio.sleep(_RESIGNED if lasting else pause)
                busy = fault.details.get("status") == _BUSY
                pause = min(2 * pause, _WHEN_BUSY if busy else _PATIENCE[1])
                continue
            if self.failing:
                self._refused.clear()  # it was not the texts that were wrong
            self.failing, pause = "", _PATIENCE[0]
            if not found:
                self.idle_at = position
                self._pulse.beat()
                await self._more(position)

    async def _more(self, position: int) -> None:
        """Return when there may be something to do: what another process was at, and has left, moves no log."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._look_seconds):
                await self._store.wait_beyond(position)

    async def _embed_some(self) -> bool:
        """Embed one step's worth; return whether there was anything to do."""
        step = min(self._step, _BESIDE) if self._courtesy.has_guests else self._step
        waiting = await self._store.pending(step + len(self._refused))
        texts = [text for text in waiting if text.digest not in self._refused]
        texts.sort(key=lambda text: len(text.text))  # an engine pads a batch to its longest text
        if not texts:
            self.refusing = self._last_refusal if waiting else ""
            return False
        await self._courtesy.give_way()
        started = self._timer()
        rows = await self._rows(texts)
        try:
            await self._keep([(text.digest, row) for text, row in zip(texts, rows, strict=True)])
        except DamagedError as fault:  # at one of them, perhaps, and the others are kept without it
            if self._in_a_row < _MOST_REFUSED:
                raise _RefusedError(texts, str(fault)) from fault
            raise
        self._in_a_row = 0
        self.embedded += len(texts)
        self._pulse.beat()
        took = self._timer() - started
        if took < _STEP_SECONDS / 2:
            self._step = min(2 * self._step, _LARGEST)
        elif took > 2 * _STEP_SECONDS:
            self._step = max(self._step // 2, _SMALLEST)
        return True

    async def _keep(self, vectors: Sequence[tuple[str, Vector]]) -> None:
        """Store vectors as soon as the disk takes them: they were paid for."""
        told = False
        while True:
            try:
                await self._store.add_vectors(vectors)
            except DiskRefusesError as fault:
                if not told:
                    _log.warning("vectors cannot be written, trying again: %s", fault)
                told = True
                await asyncio.sleep(_DISK_SECONDS)
            else:
                return

    async def _rows(self, texts: Sequence[PendingText]) -> Matrix:
        try:
            return await self._vectors(texts)
        except UnavailableError as fault:
            told = fault.details
            about_texts = told.get("status") in _TEXT_STATUSES or "about_texts" in told
            if about_texts and self._in_a_row < _MOST_REFUSED:
                raise _RefusedError(texts, str(fault)) from fault
            raise

    async def _vectors(self, texts: Sequence[PendingText]) -> Matrix:
        """Return one vector per text; what is none gets no further than here."""
        limit = self._embedder.max_characters
        rows = await self._embedder.embed([text.text[:limit] for text in texts], "document")
        if len(rows) != len(texts) or not are_unit(rows):
            raise UnavailableError("the embedder gave a vector that is none", {"about_texts": True})
        return rows

    def _give_in(self, refusal: "_RefusedError") -> None:
        """Try fewer texts at once until the one that is refused stands alone, and pass over that."""
        if len(refusal.texts) > 1:
            self._step = len(refusal.texts) // 2
            return
        self._in_a_row += 1
        self._refused.add(refusal.texts[0].digest)
        self._last_refusal = f"the embedder refuses {len(self._refused)} texts: {refusal}"
        self._step = _SMALLEST
        _log.warning("%s", self._last_refusal)


class _RefusedError(Exception):
    """The embedder works, but not with one of these texts."""

    def __init__(self, texts: Sequence[PendingText], reason: str) -> None:
        super().__init__(reason)
        self.texts = texts
