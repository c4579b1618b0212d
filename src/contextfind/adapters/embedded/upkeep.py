"""What happens behind the searches: following the log, and writing snapshots.

Three kinds of threads meet here. One upkeep thread changes what there is (`load`, `apply`, `close`);
the crew merges, writes files and draws graphs (`renewal`); any thread reads `snapshot`, which is only
ever replaced as a whole.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from contextfind.adapters.embedded.aside import POSSIBLE
from contextfind.adapters.embedded.building import Entry, build_segment
from contextfind.adapters.embedded.crew import Crew
from contextfind.adapters.embedded.current import Current
from contextfind.adapters.embedded.graph import save_net, save_net_aside
from contextfind.adapters.embedded.renewal import Place, Renewal
from contextfind.adapters.embedded.rules import IndexRules
from contextfind.adapters.embedded.segment import Segment
from contextfind.adapters.embedded.shelf import Maker, Saver, Shelf
from contextfind.adapters.embedded.snapshot import Snapshot, View
from contextfind.domain.errors import InvalidArgumentError
from contextfind.ports.fault_points import FaultPoint, reached
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
    """Keeps the current snapshot in step with the log, and on disk.

    forget: told the current snapshot when segments were replaced, so that nobody holds on to the old ones.
    """

    def __init__(self, workshop: Workshop, crew: Crew, forget: Callable[[Snapshot], None]) -> None:
        self._workshop = workshop
        self._crew = crew
        self._current = Current()
        self._forget = forget
        place = Place(workshop.rules, workshop.maker.graphs, workshop.shelf)
        self._renewal = Renewal(self._current, place, crew, self._renewed)
        self._counting = threading.Lock()
        self._unwritten = 0  # rows followed since the last snapshot on disk
        self._written = 0  # its position
        self._abandoned = False
        self._waiting = False  # a write is queued; it takes the snapshot of when it begins

    @property
    def snapshot(self) -> Snapshot:
        """The state that a search should take now."""
        return self._current.snapshot

    @property
    def drawing(self) -> tuple[int, int]:
        """How many vectors of the graph that is being drawn are in it, and how many there are."""
        return self._renewal.drawn, self._renewal.to_draw

    @property
    def written(self) -> int:
        """The position of the snapshot on disk, 0 when there is none."""
        return self._written

    def load(self) -> None:
        """Begin with what is on the shelf."""
        if self._workshop.shelf is not None:
            self._current.begin(self._workshop.shelf.load())
            self._written = self._current.snapshot.position
            self._renewal.consider()

    def apply(self, changes: Sequence[Change]) -> None:
        """Follow changes; those at or before the current position are known already.

        Raises:
            InvalidArgumentError: vectors that do not fit; nothing has changed then.

        """
        known = self._current.snapshot.position
        last = {change.id: change for change in changes if change.position > known}
        if not last:
            return
        entries = [entry for entry in map(self._entry, last.values()) if entry is not None]
        added = [View(self._build(entries))] if entries else []
        reached(FaultPoint.MID_FOLLOW)
        position = max(change.position for change in last.values())
        self._current.advance(np.array(list(last), np.int64), added, position)
        rows = sum(len(entry.passages) for entry in entries)
        self._renewal.follow(rows)
        with self._counting:
            self._unwritten += rows
            due = self._unwritten >= self._workshop.rules.write_after
        if due:
            self._write_soon()

    def tidy(self) -> int:
        """Drop dead records where that is cheap, have what is not on disk written; return how many.

        To be called when there is nothing else to do.
        """
        dropped = self._renewal.tidy()
        self._renewal.consider()
        if dropped or self._written != self._current.snapshot.position:
            self._write_soon()
        return dropped

    def move(self, directory: Path) -> None:
        """Write into another directory from now on; see `Shelf.move`."""
        if self._workshop.shelf is not None:
            self._workshop.shelf.move(directory)

    def abandon(self) -> None:
        """Write nothing more, from any thread."""
        self._abandoned = True

    def close(self) -> None:
        """Stop what is under way and write the last snapshot, graphs included."""
        self._renewal.stop()
        self._crew.close()
        self._write(save_net)

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

    def _renewed(self) -> None:
        self._forget(self._current.snapshot)
        self._write_soon()

    def _write_soon(self) -> None:
        """Have the snapshot written, and the graphs that were drawn since the last time."""
        with self._counting:
            if self._waiting or self._workshop.shelf is None:
                return
            self._waiting = True
        self._crew.file(self._write_behind)

    def _write_behind(self) -> None:
        with self._counting:
            self._waiting = False
            self._unwritten = 0
        self._write(save_net_aside if POSSIBLE else None)

    def _write(self, save: Saver | None) -> None:
        if self._workshop.shelf is None or self._abandoned:
            return
        snapshot = self._current.snapshot
        try:
            self._workshop.shelf.write(snapshot, save)
            self._written = snapshot.position
        except OSError as error:
            _log.warning(
                "the search index was not written and will follow the log again: %s", error
            )
