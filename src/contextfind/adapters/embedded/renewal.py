"""Segments made anew behind the searches: merged, and given graphs.

A merge whose sources have no graph replaces them as soon as it is done. One whose sources have some
waits for its own, so that nothing that was found fast is scanned meanwhile; they go on counting, and
what dies in them until then is dead in the new one. Whatever touches a graph waits until no more rows
come in by the thousand: graphs drawn in between would be thrown away.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from contextfind.adapters.embedded.arrays import Heap
from contextfind.adapters.embedded.crew import Crew
from contextfind.adapters.embedded.current import Current
from contextfind.adapters.embedded.graph import Graph, build_graph
from contextfind.adapters.embedded.growth import Size, choose, gather
from contextfind.adapters.embedded.merging import Site, Source, StoppedError, merge_segments
from contextfind.adapters.embedded.pages import let_go, mapping_of
from contextfind.adapters.embedded.rules import IndexRules
from contextfind.adapters.embedded.segment import Segment
from contextfind.adapters.embedded.shelf import Shelf
from contextfind.adapters.embedded.snapshot import View

_log = logging.getLogger(__name__)
_LET_GO = 50_000  # nodes drawn until the vectors that were read for it leave the memory: 75 MB


@dataclass(frozen=True, slots=True)
class Place:
    """Where segments are made: by which rules, whether with graphs, on which shelf."""

    rules: IndexRules
    graphs: bool
    shelf: Shelf | None


class Renewal:
    """Decides what is merged and drawn, and has it done.

    renewed: called when something large was replaced or drawn, and is worth writing down.
    """

    def __init__(
        self, current: Current, place: Place, crew: Crew, renewed: Callable[[], None]
    ) -> None:
        self._current = current
        self._place = place
        self._crew = crew
        self._renewed = renewed
        self._planning = threading.Lock()
        self._taken: set[Segment] = set()  # under work; nobody else may merge or draw them
        self._merging = self._drawing = False
        self._stopping = threading.Event()
        self._followed = 0
        self.drawn = 0  # nodes in the graph that is being drawn
        self.to_draw = 0

    def stop(self) -> None:
        """Let what is under way come to nothing, soon; what is queued is not begun."""
        self._stopping.set()

    def follow(self, rows: int) -> None:
        """Merge what is small at once, and begin what is due; called after each step along the log."""
        self._followed += rows
        while chosen := self._take_small():
            merged = merge_segments([Source(view.segment, view.kept) for view in chosen])
            self._replace(chosen, merged, None)
        self.consider()

    def tidy(self) -> int:
        """Write segments without a graph again where records of them are dead; return how many were.

        Those with a graph wait until `rewrite_dead` of them are.
        """
        with self._planning:
            plain = [view for view in self._free() if view.graph is None and view.dead]
            chosen = [v for v in plain if v.segment.rows < self._place.rules.graph_from]
            self._taken.update(view.segment for view in chosen)
        if chosen:
            self._replace(chosen, self._merged(chosen), None)
        return sum(len(view.dead) for view in chosen)

    def consider(self) -> None:
        """Begin what is due, unless it is under way."""
        with self._planning:
            if self._merging or self._stopping.is_set():
                return
            free = self._free()
            chosen = self._chosen([view for view in free if view.graph is None])
            self._taken.update(view.segment for view in chosen)
            self._merging = bool(chosen)
            waiting = not (chosen or self._drawing) and bool(self._due(free) or self._bare(free))
            self._drawing = self._drawing or waiting
        if chosen:
            self._crew.file(partial(self._merge, quiet=False), chosen)
        if waiting:
            self._crew.draw(self._draw_when_quiet)

    def _take_small(self) -> list[View]:
        """Return what is merged in no time, now under work."""
        with self._planning:
            chosen = self._chosen(self._small())
            self._taken.update(view.segment for view in chosen)
        return chosen

    def _small(self) -> list[View]:
        """Return the smallest segments that have few rows together."""
        plain = [view for view in self._free() if view.graph is None]
        small: list[View] = []
        rows = 0
        for view in sorted(plain, key=lambda view: view.segment.rows):
            rows += view.segment.rows
            if rows > self._place.rules.merge_at_once:
                break
            small.append(view)
        return small

    def _free(self) -> list[View]:
        return [v for v in self._current.snapshot.views if v.segment not in self._taken]

    def _chosen(self, views: Sequence[View]) -> list[View]:
        return [views[place] for place in choose([_size(v) for v in views], self._place.rules)]

    def _due(self, views: Sequence[View]) -> list[View]:
        """Return what is to be merged when there is time for it."""
        return [views[place] for place in gather([_size(v) for v in views], self._place.rules)]

    def _bare(self, views: Sequence[View]) -> list[View]:
        """Return the segments that lack a graph, the largest last."""
        if not self._place.graphs:
            return []
        bare = [view for view in views if view.graph is None and self._large(view.segment)]
        return sorted(bare, key=lambda view: len(view.segment.vectors))

    def _large(self, segment: Segment) -> bool:
        return self._place.graphs and bool(self._ranges(segment))

    def _ranges(self, segment: Segment) -> Sequence[tuple[int, int]]:
        """Return the vectors of each group that is large enough for a net of its own."""
        spans = map(segment.vector_range, segment.groups)
        return [(low, high) for low, high in spans if high - low >= self._place.rules.graph_from]

    def _merge(self, sources: Sequence[View], *, quiet: bool) -> None:
        """Merge; replace the sources, or leave that to whoever draws the graph.

        quiet: it was begun by the one who draws, who begins nothing else until it is done.
        """
        try:
            merged = self._merged(sources)
        except StoppedError:
            return
        drawn = any(view.graph is not None for view in sources) and self._large(merged)
        if drawn:
            self._crew.draw(self._draw_merged, sources, merged)
        else:
            self._replace(sources, merged, None)
            self._renewed()
        with self._planning:
            self._merging = False
            self._drawing = drawn if quiet else self._drawing
        self.consider()

    def _merged(self, sources: Sequence[View]) -> Segment:
        parts = [Source(view.segment, view.kept) for view in sources]
        shelf = self._place.shelf
        stopped = self._stopping.is_set
        if (
            shelf is not None
            and sum(view.segment.rows for view in sources) >= self._place.rules.merge_at_once
        ):
            try:
                return shelf.keep(lambda room: merge_segments(parts, Site(room, stopped)))
            except OSError as error:
                _log.warning("merged in memory, since the disk does not take it: %s", error)
        return merge_segments(parts, Site(Heap(), stopped))

    def _replace(self, sources: Sequence[View], merged: Segment, graph: Graph | None) -> None:
        self._current.swap(sources, merged, graph)
        with self._planning:
            self._taken.difference_update(view.segment for view in sources)
        for pages in (mapping_of(view.segment.ids) for view in sources):
            if pages is not None:
                let_go(pages)

    def _draw_when_quiet(self) -> None:
        """Draw what lacks a graph most, or have merged what has some; one of both."""
        self._wait_for_quiet()
        with self._planning:
            free = self._free()
            busy = self._merging or self._stopping.is_set()
            chosen = [] if busy else self._due(free)
            bare = [] if busy or chosen else self._bare(free)[-1:]
            self._taken.update(view.segment for view in (*chosen, *bare))
            self._merging = self._merging or bool(chosen)
            self._drawing = bool(chosen or bare)
        if chosen:
            self._crew.file(partial(self._merge, quiet=True), chosen)
        elif bare:
            self._draw_bare(bare[0].segment)
        elif not busy:
            self.consider()

    def _draw_bare(self, segment: Segment) -> None:
        graph = self._drawn_graph(segment, lambda: self._counts(segment))
        if graph is not None:
            self._current.draw(segment, graph)
        with self._planning:
            self._taken.discard(segment)
        self._crew.draw(self._finish)

    def _draw_merged(self, sources: Sequence[View], merged: Segment) -> None:
        graph = self._drawn_graph(merged, lambda: True)
        if graph is not None:
            self._replace(sources, merged, graph)
        self._crew.draw(self._finish)

    def _finish(self) -> None:
        """Go on after something was drawn; a step of its own, in which nothing holds what was replaced."""
        with self._planning:
            self._drawing = False
        self._renewed()
        self.consider()

    def _counts(self, segment: Segment) -> bool:
        return any(view.segment is segment for view in self._current.snapshot.views)

    def _drawn_graph(self, segment: Segment, wanted: Callable[[], bool]) -> Graph | None:
        pages = mapping_of(segment.vectors)

        def told(nodes: int) -> bool:
            self.drawn = nodes
            if pages is not None and nodes % _LET_GO == 0:
                let_go(pages)  # the graph has a copy of what was read
            return wanted() and not self._stopping.is_set()

        ranges = self._ranges(segment)
        self.to_draw = sum(high - low for low, high in ranges)
        try:
            return build_graph(segment.vectors, ranges, told)
        finally:
            self.drawn = self.to_draw = 0

    def _wait_for_quiet(self) -> None:
        rules = self._place.rules
        before = -rules.quiet_rows - 1
        while self._followed - before > rules.quiet_rows:
            before = self._followed
            if self._stopping.wait(rules.quiet_seconds):
                return


def _size(view: View) -> Size:
    gone = 0 if view.dead_rows is None else int(np.count_nonzero(view.dead_rows))
    return Size(view.segment.rows - gone, len(view.dead) / view.segment.size)
