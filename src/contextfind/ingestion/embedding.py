"""Gives every stored passage its vector, behind the requests."""

import asyncio
import logging
from collections.abc import Callable

from contextfind.domain.errors import UnavailableError
from contextfind.ingestion.pulse import Pulse
from contextfind.ports import Embedder, RecordStore

_log = logging.getLogger(__name__)

_SMALLEST, _LARGEST = (
    16,
    512,
)  # texts per step: a local model does some 16 a second, a stub thousands
_STEP_SECONDS = 1.0  # a step should take about this long: progress is seen, a crash costs little
_PATIENCE = (1.0, 30.0)  # seconds to the first and the longest pause while the embedder is down


class EmbeddingWorker:
    """Asks the store what has no vector yet and the embedder for it; survives restarts by design.

    failing: why the embedder gives nothing at the moment; empty while it works.
    """

    def __init__(
        self,
        store: RecordStore,
        embedder: Embedder,
        pulse: Pulse,
        timer: Callable[[], float],
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._pulse = pulse
        self._timer = timer
        self._step = _SMALLEST
        self.failing = ""

    async def run(self) -> None:
        """Work until cancelled."""
        pause = _PATIENCE[0]
        while True:
            position = await self._store.position()
            try:
                found = await self._embed_some()
            except UnavailableError as fault:
                if not self.failing:
                    _log.warning("embedder does not answer, texts wait: %s", fault)
                self.failing = str(fault)
                self._pulse.beat()
                await asyncio.sleep(pause)
                pause = min(2 * pause, _PATIENCE[1])
                continue
            self.failing, pause = "", _PATIENCE[0]
            if not found:
                await self._store.wait_beyond(position)

    async def _embed_some(self) -> bool:
        """Embed one step's worth; return whether there was anything to do."""
        texts = await self._store.pending(self._step)
        if not texts:
            return False
        started = self._timer()
        limit = self._embedder.max_characters
        rows = await self._embedder.embed([text.text[:limit] for text in texts], "document")
        await self._store.add_vectors(
            [(text.digest, row) for text, row in zip(texts, rows, strict=True)]
        )
        self._pulse.beat()
        took = self._timer() - started
        if took < _STEP_SECONDS / 2:
            self._step = min(2 * self._step, _LARGEST)
        elif took > 2 * _STEP_SECONDS:
            self._step = max(self._step // 2, _SMALLEST)
        return True
