"""The walk's memory, without any I/O: doors to open, the pool of hits, and the rule to stop."""

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from contextfind.domain.records import Level, RecordId
from contextfind.domain.scoring import directory_score, propagate
from contextfind.domain.uri import Uri
from contextfind.ports import Hit
from contextfind.retrieval.judging import Judge

SCORE_DIGITS = 4  # of a shown score; float noise of the last bits must not decide an order


@dataclass(frozen=True, slots=True)
class WalkRules:
    """The knobs of the walk, named as in ov.conf `retrieval.*`.

    candidates: records each channel puts forward in the global probe; 50 cost .005 nDCG, 100 nothing.
    global_search_topk: directories to start from, and leaves whose parents are started from.
    batch: directories opened per round. children: records asked of each by each channel.
    max_convergence_rounds: the walk ends when the best hits stayed the same that many rounds.
    max_rounds: the walk ends at the latest then, however restless the pool.
    """

    candidates: int = 100
    global_search_topk: int = 10
    batch: int = 4
    children: int = 20
    max_convergence_rounds: int = 3
    max_rounds: int = 64


@dataclass(frozen=True, slots=True)
class Scored:
    """A hit with its own score and the final one, rounded as it is shown."""

    hit: Hit
    own: float
    score: float


@dataclass(slots=True)
class Frontier:
    """Directories still to open, hits found so far, and whether to go on.

    The walker asks `take` for directories, searches them, and hands what it saw to `see`;
    nothing here waits for anything. A directory is worth its evidence: the best own score of a file
    seen in it, or that of a directory below it times `1 - directory_own`. So priorities sharpen
    while the walk goes on; ties are opened by address.
    """

    judge: Judge
    rules: WalkRules
    limit: int
    opened: list[tuple[Uri, float]] = field(default_factory=list)
    _doors: dict[Uri, float] = field(default_factory=dict)  # closed ones: their own text's score
    _known: set[Uri] = field(default_factory=set)  # opened or in `_doors`
    _evidence: dict[Uri, float] = field(default_factory=dict)
    _pool: dict[RecordId, tuple[Hit, float]] = field(default_factory=dict)
    _last_top: tuple[RecordId, ...] = ()
    _quiet_rounds: int = 0
    _rounds: int = 0

    def push(self, directory: Uri, own: float = 0.0) -> None:
        """Queue a directory that was not opened yet; the better own score stays."""
        if directory not in self._known:
            self._known.add(directory)
            self._doors[directory] = own
        elif directory in self._doors:
            self._doors[directory] = max(self._doors[directory], own)

    def see(self, hits: Iterable[Hit], *, keep: bool) -> None:
        """Learn from hits; `keep` says that they passed the filter and may be answered."""
        for hit in hits:
            own = self.judge.own(hit)
            if hit.level is Level.DETAIL:
                self._testify(hit.uri, own)
            else:
                self.push(hit.uri, own)
            if keep:
                self._pool[hit.id] = (hit, own)

    def start_from_parents(self, hits: Iterable[Hit]) -> None:
        """Queue the directories of the best leaves, so that the walk never misses what flat search found."""
        leaves = [hit for hit in hits if hit.level is Level.DETAIL]
        best = heapq.nsmallest(
            self.rules.global_search_topk, leaves, key=lambda hit: (-self.judge.own(hit), hit.uri)
        )
        for hit in best:
            if hit.uri.parent is not None:
                self.push(hit.uri.parent)

    def take(self) -> Sequence[Uri]:
        """Return the next directories to open, best first; none when the walk is over."""
        converged = self._quiet_rounds >= self.rules.max_convergence_rounds
        if converged or self._rounds >= self.rules.max_rounds:
            return ()
        self._rounds += 1
        batch = heapq.nsmallest(
            self.rules.batch, self._doors, key=lambda uri: (-self._worth(uri), uri)
        )
        for uri in batch:
            self.opened.append((uri, round(self._worth(uri), SCORE_DIGITS)))
            del self._doors[uri]
        return batch

    def end_round(self) -> None:
        """Note whether this round changed the best `limit` hits."""
        top = tuple(scored.hit.id for scored in self.ranked()[: self.limit])
        self._quiet_rounds = self._quiet_rounds + 1 if top == self._last_top else 0
        self._last_top = top

    def ranked(self) -> Sequence[Scored]:
        """Return every hit so far, best first, ties by address and level."""
        scored = [Scored(hit, own, self._final(hit, own)) for hit, own in self._pool.values()]
        return sorted(scored, key=lambda s: (-s.score, s.hit.uri, s.hit.level))

    def _testify(self, leaf: Uri, own: float) -> None:
        """Raise the evidence of the directories above a file, less with every step up."""
        fade = 1 - self.judge.rules.directory_own
        above, evidence = leaf.parent, own
        while above is not None and self._evidence.get(above, -1.0) < evidence:
            self._evidence[above] = evidence
            above, evidence = above.parent, evidence * fade

    def _final(self, hit: Hit, own: float) -> float:
        if hit.level is Level.DETAIL:
            evidence = 0.0 if hit.uri.parent is None else self._evidence.get(hit.uri.parent, 0.0)
            score = propagate(own, evidence, self.judge.rules.score_propagation_alpha)
        else:
            score = directory_score(
                own, self._evidence.get(hit.uri), self.judge.rules.directory_own
            )
        return round(min(max(score, 0.0), 1.0), SCORE_DIGITS)

    def _worth(self, door: Uri) -> float:
        return directory_score(
            self._doors[door], self._evidence.get(door), self.judge.rules.directory_own
        )
