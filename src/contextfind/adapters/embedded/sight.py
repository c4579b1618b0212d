"""What one caller sees of a snapshot: whose records, how many passages, and filters compiled for them."""

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock

from contextfind.adapters.embedded.mask import Mask
from contextfind.adapters.embedded.segment import Group, Segment
from contextfind.adapters.embedded.snapshot import Snapshot, View

_KEPT = 32  # callers; each costs some hundred kB where there are a million records


@dataclass(frozen=True, eq=False, slots=True)
class Part:
    """A view, and the groups of it that the caller sees, at least one."""

    view: View
    groups: tuple[Group, ...]
    mask: Mask

    @property
    def segment(self) -> Segment:
        """Where the records lie."""
        return self.view.segment


@dataclass(frozen=True, eq=False, slots=True)
class Sight:
    """passages, length: of all living rows that the caller sees, their number and that of their terms."""

    parts: tuple[Part, ...]
    passages: int
    length: int


class Sights:
    """Sights of the snapshot that was asked for last; those of the latest callers are kept. For any thread."""

    def __init__(self) -> None:
        self._snapshot = Snapshot()
        self._known: OrderedDict[tuple[str, str], Sight] = OrderedDict()
        self._lock = Lock()

    def of(self, snapshot: Snapshot, account: str, user: str) -> Sight:
        """Return what a user sees of a snapshot."""
        key = (account, user)
        self.turn_to(snapshot)
        with self._lock:
            known = self._known.get(key) if snapshot is self._snapshot else None
            if known is not None:
                self._known.move_to_end(key)
                return known
        sight = _look(snapshot, account, user)
        with self._lock:
            if snapshot is self._snapshot:
                self._known[key] = sight
                if len(self._known) > _KEPT:
                    self._known.popitem(last=False)
        return sight

    def turn_to(self, snapshot: Snapshot) -> None:
        """Forget what is known of other snapshots."""
        with self._lock:
            if snapshot is not self._snapshot:
                self._snapshot = snapshot
                self._known.clear()


def _look(snapshot: Snapshot, account: str, user: str) -> Sight:
    parts: list[Part] = []
    passages = length = 0
    for view in snapshot.views:
        groups = view.segment.visible(account, user)
        if not groups:
            continue
        parts.append(Part(view, groups, Mask(view.segment, groups, view.dead)))
        for group in groups:
            rows, terms = view.census(group)
            passages += rows
            length += terms
    return Sight(tuple(parts), passages, length)
