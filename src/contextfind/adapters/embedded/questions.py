"""What a find would otherwise work out several times, or each find anew.

What the words of a question are worth to its caller, and where the candidates of a filter lie.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

from contextfind.adapters.embedded.patch import Patch, cut_out
from contextfind.adapters.embedded.phrases import Wanted
from contextfind.adapters.embedded.sight import Part, Sight, Sights
from contextfind.adapters.embedded.snapshot import Snapshot
from contextfind.adapters.embedded.words import Weights, weigh
from contextfind.domain.filters import Filter
from contextfind.domain.uri import Uri

_KEPT = 256  # questions; a few kB each
_LARGE = 1_000  # candidates from which on patches are kept: fewer are soon cut out again
_KEPT_LARGE = 16  # filters of callers; of a million records each takes up to some MB
_Cut = tuple[Part, Sequence[Uri], Filter]


@dataclass(frozen=True, eq=False, slots=True)
class Question:
    """A caller's terms; weights and pairs are None when no term occurs."""

    sight: Sight
    weights: Weights | None
    pairs: Wanted | None


class Questions:
    """Questions of the snapshot that was asked for last; of others none, so that they can go. For any thread."""

    def __init__(self) -> None:
        self._snapshot = Snapshot()
        self._sights = Sights()
        self._known: OrderedDict[tuple[str, str, Sequence[str]], Question] = OrderedDict()
        self._patches: OrderedDict[_Cut, Sequence[Patch]] = OrderedDict()
        self._lock = Lock()

    def of(self, snapshot: Snapshot, account: str, user: str, terms: tuple[str, ...]) -> Question:
        """Return what terms are worth to a user in a snapshot."""
        self.turn_to(snapshot)
        sight = self._sights.of(snapshot, account, user)
        key = (account, user, terms)
        with self._lock:
            known = self._known.get(key)
            if known is not None and known.sight is sight:
                self._known.move_to_end(key)
                return known
        weights = weigh(terms, sight) if terms else None
        pairs = None if weights is None else Wanted.by(terms, weights)
        question = Question(sight, weights, pairs)
        with self._lock:
            if snapshot is self._snapshot:
                self._known[key] = question
                if len(self._known) > _KEPT:
                    self._known.popitem(last=False)
        return question

    def patches(
        self, snapshot: Snapshot, part: Part, targets: tuple[Uri, ...], where: Filter
    ) -> Sequence[Patch]:
        """Return the candidates in each group of a part that has some: below the targets, matching, alive.

        Large ones are kept, with what they find out about themselves: all files and all directories of a
        caller are asked for by every find.
        """
        key = (part, targets, where)
        with self._lock:
            known = self._patches.get(key)
            if known is not None:
                self._patches.move_to_end(key)
                return known
        patches = tuple(cut_out(part, targets, where))
        if sum(patch.size for patch in patches) >= _LARGE:
            with self._lock:
                if snapshot is self._snapshot:
                    self._patches[key] = patches
                    if len(self._patches) > _KEPT_LARGE:
                        self._patches.popitem(last=False)
        return patches

    def turn_to(self, snapshot: Snapshot) -> None:
        """Forget what is known of other snapshots: they may hold a graph that is not wanted any more."""
        with self._lock:
            if snapshot is not self._snapshot:
                self._snapshot = snapshot
                self._known.clear()
                self._patches.clear()
        self._sights.turn_to(snapshot)
