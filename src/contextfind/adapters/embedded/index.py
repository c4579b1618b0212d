"""The door: a `SearchIndex` inside this process."""

import asyncio
import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from contextfind.adapters.embedded.answer import Answering, Bench
from contextfind.adapters.embedded.crew import Crew
from contextfind.adapters.embedded.graph import available
from contextfind.adapters.embedded.questions import Questions
from contextfind.adapters.embedded.rules import IndexRules
from contextfind.adapters.embedded.shelf import Maker, Shelf
from contextfind.adapters.embedded.upkeep import Upkeep, Workshop
from contextfind.domain.errors import InvalidArgumentError, UnavailableError
from contextfind.domain.records import Vector
from contextfind.ports.index import Dialogue, Hits, Probe, Result
from contextfind.ports.models import Tokenizer
from contextfind.ports.store import Change

# Threads. What a find does between its numpy calls holds the interpreter most of the time: two threads gave 170 to
# 187 finds a second where one gives 220 to 227, at 8 at once over 100,000 files. A second one that walks the graph while
# this one adds up words: 165 to 177, and 7.2 ms of processor time a find instead of 5.4.
_SEARCHERS = 1


class EmbeddedIndex:
    """Follows the log into write-once segments and searches them; made by `open`."""

    def __init__(self, workshop: Workshop, crew: Crew | None = None) -> None:
        self._dimension = workshop.maker.dimension
        self._rules = workshop.rules
        self._searchers = ThreadPoolExecutor(_SEARCHERS, "index-search")
        self._follower = ThreadPoolExecutor(1, "index-follow")
        self._crew = crew or Crew.hired()
        self._questions = Questions()
        self._upkeep = Upkeep(workshop, self._crew, self._questions.turn_to)
        self._bench = Bench(self._dimension)
        self._plans: Counter[str] = Counter()
        self._counting = threading.Lock()
        self._closed = False

    @classmethod
    async def open(
        cls,
        directory: Path | None,
        dimension: int,
        fingerprint: str,
        tokenizer: Tokenizer,
        rules: IndexRules | None = None,
    ) -> "EmbeddedIndex":
        """Return an index that begins with the snapshot in `directory`, if there is a good one.

        directory: None keeps everything in memory. dimension: length of the vectors. fingerprint:
        of embedder and tokenizer; a snapshot of another one is thrown away, and following begins at 0.
        """
        kept = rules or IndexRules()
        made = Maker(dimension, fingerprint, graphs=kept.graphs and available())
        shelf = None if directory is None else Shelf(directory, made)
        index = cls(Workshop(tokenizer, made, kept, shelf))
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(index._follower, index._upkeep.load)
        return index

    async def search(self, probes: Sequence[Probe]) -> Sequence[Hits]:
        """Answer all probes in one hop to a search thread."""
        self._check_probes(probes)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._searchers, self._answer, probes)

    async def converse(self, dialogue: Dialogue[Result]) -> Result:
        """Answer question after question in one hop to a search thread."""
        self._check_open()
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._searchers, self._lead, dialogue)

    async def explain(self, probes: Sequence[Probe]) -> Sequence[str]:
        """Say how the probes are answered, in one hop; counts no plans."""
        self._check_probes(probes)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._searchers, self._explain, probes)

    async def position(self) -> int:
        """Return the position of the last change followed."""
        return self._upkeep.snapshot.position

    @property
    def kept(self) -> int:
        """The position that the index stands at when the process is killed now; or it begins at 0."""
        return self._upkeep.written

    async def follow(self, changes: Sequence[Change]) -> None:
        """Take the records as they now are; searches see all of the batch or nothing.

        Raises:
            InvalidArgumentError: vectors of another shape, or not finite; nothing has changed then.
            UnavailableError: the index is closed.

        """
        self._check_open()
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._follower, self._upkeep.apply, changes)

    async def tidy(self) -> int:
        """Drop dead records where that is cheap and write the snapshot; return how many were dropped."""
        self._check_open()
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._follower, self._upkeep.tidy)

    async def move(self, directory: Path) -> None:
        """Lie in another directory from now on, in the place of what is there.

        Raises:
            OSError: the disk refuses; it lies where it was.

        """
        await asyncio.to_thread(self._upkeep.move, directory)

    async def rest(self) -> None:
        """Return when there is nothing more to merge, to draw or to write behind the searches."""
        await asyncio.to_thread(self._crew.rest)

    async def aclose(self) -> None:
        """Finish what was begun, searches too, write the snapshot and end the threads; again is harmless."""
        if not self._closed:
            self._closed = True
            await asyncio.to_thread(self._close)

    async def abandon(self) -> None:
        """Close it without writing anything more: it is of no use any more."""
        self._upkeep.abandon()
        await self.aclose()

    def stats(self) -> dict[str, int]:
        """Return counts for telemetry.

        The position in the log; records, rows and segments; vectors in graphs and those that every find
        scans; of the graph that is being drawn, how many of its vectors are in it; how many things are to be
        merged, drawn or written yet, 0 when it is at rest; plans chosen.
        """
        snapshot = self._upkeep.snapshot
        drawn, to_draw = self._upkeep.drawing
        with self._counting:
            plans = {f"plan_{name}": count for name, count in sorted(self._plans.items())}
        vectors = sum(len(view.segment.vectors) for view in snapshot.views)
        graphs = sum(v.graph.vectors for v in snapshot.views if v.graph is not None)
        return {
            "position": snapshot.position,
            "records": sum(view.segment.size - len(view.dead) for view in snapshot.views),
            "rows": sum(view.segment.rows for view in snapshot.views),
            "segments": len(snapshot.views),
            "graph_rows": graphs,
            "scanned_rows": vectors - graphs,
            "drawn_rows": drawn,
            "rows_to_draw": to_draw,
            "under_way": self._crew.under_way,
            **plans,
        }

    def _answer(self, probes: Sequence[Probe]) -> list[Hits]:
        answering = self._answering()
        answers = answering.answer(probes)
        with self._counting:
            self._plans.update(answering.plans)
        return answers

    def _lead(self, dialogue: Dialogue[Result]) -> Result:
        answering = self._answering()
        try:
            probes = next(dialogue)
            while True:
                self._check_vectors(probes)
                probes = dialogue.send(answering.answer(probes))
        except StopIteration as end:
            result: Result = end.value
            return result
        finally:
            with self._counting:
                self._plans.update(answering.plans)

    def _explain(self, probes: Sequence[Probe]) -> list[str]:
        answering = self._answering()
        return [answering.explain(probe) for probe in probes]

    def _answering(self) -> Answering:
        return Answering(self._upkeep.snapshot, self._rules, self._questions, self._bench)

    def _check_probes(self, probes: Sequence[Probe]) -> None:
        self._check_vectors(probes)
        self._check_open()

    def _check_vectors(self, probes: Sequence[Probe]) -> None:
        for probe in probes:
            if probe.vector is not None:
                self._check(probe.vector)

    def _check(self, vector: Vector) -> None:
        if vector.shape != (self._dimension,) or not np.isfinite(vector).all():
            raise InvalidArgumentError(
                f"a query vector has shape {vector.shape}; "
                f"expected {self._dimension} finite numbers"
            )

    def _check_open(self) -> None:
        if self._closed:
            raise UnavailableError("the search index is closed", {"retryable": False})

    def _close(self) -> None:
        self._searchers.shutdown(wait=True)
        self._follower.shutdown(wait=True)
        self._upkeep.close()
