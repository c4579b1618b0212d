"""The state that counts now: one snapshot, only ever replaced as a whole."""

import threading
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from pyroaring import BitMap

from contextfind.adapters.embedded.graph import Graph
from contextfind.adapters.embedded.postings import Longs
from contextfind.adapters.embedded.segment import Segment, numbers_of
from contextfind.adapters.embedded.snapshot import Snapshot, View


class Current:
    """Holds the snapshot. Any thread may read it; changes to it wait for one another."""

    def __init__(self) -> None:
        self._changing = threading.Lock()
        self._snapshot = Snapshot()

    @property
    def snapshot(self) -> Snapshot:
        """The state that a search should take now."""
        return self._snapshot

    def begin(self, snapshot: Snapshot) -> None:
        """Take a state as it is."""
        for view in snapshot.views:
            _warm(view.segment)
        self._snapshot = snapshot

    def advance(self, ids: Longs, added: Sequence[View], position: int) -> None:
        """Go on to a position of the log: records of these ids count only where they are in `added`."""
        with self._changing:
            old = (view.without(ids) for view in self._snapshot.views)
            self._snapshot = Snapshot((*filter(_living, old), *added), position)

    def swap(self, sources: Sequence[View], merged: Segment, graph: Graph | None) -> None:
        """Put a merged segment in the place of its sources.

        sources: as they were when it was begun; what died in them since is dead in it.
        """
        _warm(merged)
        view = View(merged, graph=graph)
        with self._changing:
            now = {view.segment: view for view in self._snapshot.views}
            gone = [_lost(then, now.get(then.segment)) for then in sources]
            before = {source.segment for source in sources}
            rest = (view for view in self._snapshot.views if view.segment not in before)
            after = view.without(np.concatenate(gone))
            self._snapshot = replace(self._snapshot, views=(*rest, *filter(_living, (after,))))

    def draw(self, segment: Segment, graph: Graph) -> None:
        """Give a segment its graph, if it still counts."""
        with self._changing:
            views = tuple(
                replace(view, graph=graph) if view.segment is segment else view
                for view in self._snapshot.views
            )
            self._snapshot = replace(self._snapshot, views=views)


def _living(view: View) -> bool:
    return len(view.dead) < view.segment.size


def _lost(then: View, now: View | None) -> Longs:
    """Return the ids of the records that died between two states; without a second one all did."""
    dead = BitMap(range(then.segment.size)) if now is None else now.dead
    lost: Longs = then.segment.ids[numbers_of(dead - then.dead)]
    return lost


def _warm(segment: Segment) -> None:
    """Work out now what the first search or the next change would otherwise wait for."""
    _ = (segment.record_of, segment.total_length, segment.of_level, segment.of_context_type)
    segment.holding(np.zeros(0, np.int64))
