"""What happens behind the searches: following the log, merging, building graphs, writing snapshots.

Three kinds of threads meet here. One upkeep thread changes what there is (`load`, `apply`, `close`);
one background thread of low priority adds graphs and writes files; any thread reads `snapshot`, which
is only ever replaced as a whole.
"""

import logging
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from weakref import WeakSet

import numpy as np

from contextfind.adapters.embedded.building import Entry, build_segment
from contextfind.adapters.embedded.graph import build_graph
from contextfind.adapters.embedded.growth import Size, choose
from contextfind.adapters.embedded.merging import Source, merge_segments
from contextfind.adapters.embedded.rules import IndexRules
from contextfind.adapters.embedded.segment import Segment
from contextfind.adapters.embedded.shelf import Maker, Shelf
from contextfind.adapters.embedded.snapshot import Snapshot, View
from contextfind.domain.errors import InvalidArgumentError
from contextfind.ports.models import Tokenizer
from contextfind.ports.store import Change

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Workshop:
    """What upkeep works with; without a shelf nothing is written."""

    tokenizer: Tokenizer
    maker: Maker
    rules: IndexRules
    shelf: Shelf | None


class Upkeep:
    """Owner of the current snapshot."""

    def __init__(self, workshop: Workshop, background: ThreadPoolExecutor) -> None:
        self._workshop = workshop
        self._background = background
        self._publishing = threading.Lock()
        self._closing = threading.Event()
        self._snapshot = Snapshot()
        self._drawn: WeakSet[Segment] = WeakSet()  # a graph was asked for; once is enough
        self._unwritten = 0  # rows followed since the last snapshot on disk

    @property
    def snapshot(self) -> Snapshot:
        """The state that a search should take now."""
        return self._snapshot

    def load(self) -> None:
        """Begin with what is on the shelf."""
        if self._workshop.shelf is not None:
            self._snapshot = self._workshop.shelf.load()
            self._draw_graphs()

    def apply(self, changes: Sequence[Change]) -> None:
        """Follow changes; those at or before the current position are known already.

        Raises:
            InvalidArgumentError: vectors that do not fit; nothing has changed then.

        """
        known = self._snapshot.position
        last = {change.id: change for change in changes if change.position > known}
        if not last:
            return
        entries = [entry for entry in map(self._entry, last.values()) if entry is not None]
        added = [View(self._build(entries))] if entries else []
        ids = np.array(list(last), np.int64)
        position = max(change.position for change in last.values())
        with self._publishing:
            old = (view.without(ids) for view in self._snapshot.views)
            kept = [view for view in old if len(view.dead) < view.segment.size]
            self._snapshot = Snapshot((*kept, *added), position)
        self._merge()
        self._draw_graphs()
        self._write_behind(sum(len(entry.passages) for entry in entries))

    def close(self) -> None:
        """Stop the background thread and write the last snapshot, graphs included."""
        self._closing.set()
        self._background.shutdown(wait=True, cancel_futures=True)
        self._write(with_graphs=True)

    def _entry(self, change: Change) -> Entry | None:
        if change.record is None or not change.passages:
            return None
        vectors = change.vectors
        if vectors is not None:
            expected = (len(change.passages), self._workshop.maker.dimension)
            if vectors.shape != expected or not np.isfinite(vectors).all():
                raise InvalidArgumentError(
                    f"the vectors of {change.record.uri.text} have shape {vectors.shape}; "
                    f"expected {expected} finite numbers"
                )
        return Entry(change.record, change.passages, vectors)

    def _build(self, entries: Sequence[Entry]) -> Segment:
        return build_segment(entries, self._workshop.tokenizer, self._workshop.maker.dimension)

    def _merge(self) -> None:
        while True:
            views = self._snapshot.views
            sizes = [_size(view) for view in views]
            chosen = [views[place] for place in choose(sizes, self._workshop.rules)]
            if not chosen:
                return
            merged = View(merge_segments([Source(v.segment, v.kept) for v in chosen]))
            gone = {view.segment for view in chosen}
            with self._publishing:
                rest = (view for view in self._snapshot.views if view.segment not in gone)
                self._snapshot = replace(self._snapshot, views=(*rest, merged))

    def _draw_graphs(self) -> None:
        if not self._workshop.maker.graphs:
            return
        for view in self._snapshot.views:
            large = len(view.segment.vectors) >= self._workshop.rules.graph_from
            if large and view.graph is None and view.segment not in self._drawn:
                self._drawn.add(view.segment)
                self._behind(self._background.submit(self._draw_graph, view.segment))

    def _draw_graph(self, segment: Segment) -> None:
        def stopped() -> bool:
            current = (view.segment for view in self._snapshot.views)
            return self._closing.is_set() or segment not in current

        graph = build_graph(segment.vectors, stopped)
        if graph is None:
            return
        with self._publishing:
            views = tuple(
                replace(view, graph=graph) if view.segment is segment else view
                for view in self._snapshot.views
            )
            self._snapshot = replace(self._snapshot, views=views)

    def _write_behind(self, rows: int) -> None:
        self._unwritten += rows
        if self._workshop.shelf is not None and self._unwritten >= self._workshop.rules.write_after:
            self._unwritten = 0
            self._behind(self._background.submit(self._write, with_graphs=False))

    def _write(self, *, with_graphs: bool) -> None:
        if self._workshop.shelf is None:
            return
        try:
            self._workshop.shelf.write(self._snapshot, with_graphs=with_graphs)
        except OSError as error:
            _log.warning(
                "the search index was not written and will follow the log again: %s", error
            )

    def _behind(self, work: "Future[None]") -> None:
        work.add_done_callback(_report)


def _size(view: View) -> Size:
    gone = 0 if view.dead_rows is None else int(np.count_nonzero(view.dead_rows))
    return Size(view.segment.rows - gone, len(view.dead) / view.segment.size)


def _report(work: "Future[None]") -> None:
    """Say what became of background work that nobody waits for; searches go on without it."""
    error = None if work.cancelled() else work.exception()
    if error is not None:
        _log.error("background work of the search index failed", exc_info=error)
