"""The walk's memory, without any I/O: doors to open, the pool of hits, and the rule to stop."""

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from contextfind.domain.records import RecordId
from contextfind.domain.scoring import directory_score, lone_directory_score, propagate
from contextfind.domain.uri import ROOT, Uri
from contextfind.ports import Hit, Hits
from contextfind.retrieval.judging import Judge
from contextfind.retrieval.pool import Pool
from contextfind.retrieval.verdicts import Verdicts

_ROOT = ROOT.folder
SCORE_DIGITS = 4  # of a shown score; float noise of the last bits must not decide an order
# Of a reranker's: a sigmoid may have all its order in the fifth digit and beyond. What noise there is in
# it comes from outside.
RERANKED_DIGITS = 12


@dataclass(frozen=True, slots=True)
class WalkRules:
    """The knobs of the walk, named as in ov.conf `retrieval.*`.

    candidates: records each channel puts forward in the global probe; 50 cost .005 nDCG, 100 nothing.
    global_search_topk: leaves whose parents are started from, and under a filter directories to start from.
    batch: directories opened per round. children: records asked by each channel for each of them, the best of all
        together; 5 cost .002 nDCG on code, 20 gave nothing more.
    max_convergence_rounds: the walk ends when the best hits stayed the same that many rounds, what flat search
        found being the first state; 1 measured the same as 3 on three sets, in half the probes.
    thinking_rounds: the same where a reranker judges. It may lift what nobody expected, so that one quiet
        round says less: 3, as the walk was first described. Each costs one batch of the reranker.
    max_rounds: the walk ends at the latest then, however restless the pool.
    """

    candidates: int = 100
    global_search_topk: int = 10
    batch: int = 4
    children: int = 10
    max_convergence_rounds: int = 1
    thinking_rounds: int = 3
    max_rounds: int = 64


@dataclass(frozen=True, slots=True)
class Opened:
    """A directory that was opened: in which round, what it was worth then, why it was queued."""

    uri: Uri
    score: float
    round: int
    reason: str


@dataclass(frozen=True, slots=True)
class Scored:
    """A hit, what it is worth, and what that was made of.

    own: by its own text, both channels blended. score: the final one, rounded as it is shown.
    semantic: the same without hotness. evidence: what the best file in `witness` is worth (the
    hit's directory, or the directory itself); None when no file was seen there. reranked: what the
    reranker said, which then is the semantic score; None when it was not asked or did not say.
    hotness: how much and how lately it is used; None when that does not count.
    """

    hit: Hit
    own: float
    score: float
    semantic: float
    witness: str
    evidence: float | None
    reranked: float | None = None
    hotness: float | None = None


class Frontier:
    """Directories still to open, hits found so far, and whether to go on.

    The walker asks `take` for directories, searches them, and hands what it saw to `see`;
    nothing here waits for anything. Directories are known by their folders: the address with a slash. A directory is worth its evidence: the best own score of a file
    seen in it, or that of a directory below it times `1 - directory_own`. So priorities sharpen
    while the walk goes on; ties are opened by address.

    Hits are kept as columns: every round scores all of them again, some hundreds, because the
    evidence of their directories may have risen.

    thinking: whether a reranker judges. What it says (`hear`) replaces the scores of hits, see
    `verdicts`, and the evidence by which directories are opened.
    """

    def __init__(
        self, judge: Judge, rules: WalkRules, limit: int, *, thinking: bool = False
    ) -> None:
        self.opened: list[Opened] = []
        self.digits = RERANKED_DIGITS if thinking else SCORE_DIGITS
        self._judge = judge
        self._rules = rules
        self._limit = limit
        self._quiet_enough = rules.thinking_rounds if thinking else rules.max_convergence_rounds
        self._verdicts = Verdicts()
        self._doors: dict[str, float] = {}  # closed ones, by address: their own text's score
        self._known: dict[str, str] = {}  # opened or in `_doors`, and why
        self._evidence: dict[str, float] = {}
        self._reranked_evidence: dict[str, float] = {}
        self._pool = Pool()
        self._top: list[tuple[int, float]] | None = (
            None  # the best hits, while nothing new is known
        )
        self._last_top: list[RecordId] | None = None
        self._quiet_rounds = 0
        self._rounds = 0

    def push(self, directory: Uri, own: float = 0.0, reason: str = "a target") -> None:
        """Queue a directory that was not opened yet; the better own score stays."""
        self._push(directory.folder, own, reason)

    def see(self, hits: Sequence[Hit], *, keep: bool) -> NDArray[np.float64]:
        """Learn from hits, and return their own scores; `keep` says that they passed the filter and may be answered."""
        seen = hits if isinstance(hits, Hits) else Hits.of(hits)
        self._top = None
        own = self._judge.owns(seen)
        worths, sources = own.tolist(), list(seen.folders)
        for place in np.flatnonzero(~seen.leaves).tolist():
            folder = sources[place] = seen.folder(place)
            self._push(folder, worths[place], "its own text fits")
        best: dict[str, float] = {}  # of the files in each folder
        for place in np.flatnonzero(seen.leaves).tolist():
            folder, worth = sources[place], worths[place]
            if best.get(folder, -1.0) < worth:
                best[folder] = worth
        for folder, worth in best.items():
            self._testify(self._evidence, folder, worth)
        if keep:
            self._pool.add(seen, own, sources)
        return own

    def unread(self, limit: int, among: set[RecordId] | None = None) -> Sequence[Hit]:
        """Return the best hits (of `among`; None = of all) that the reranker was not shown, up to `limit`."""
        scores = self._scores().tolist()
        waiting = [
            (-score, self._pool.shown(row), row)
            for row, (record, score) in enumerate(zip(self._pool.records, scores, strict=True))
            if record not in self._verdicts and (among is None or record in among)
        ]
        return [self._pool.hit(row) for _, _, row in heapq.nsmallest(limit, waiting)]

    def hear(self, said: Mapping[RecordId, float | None]) -> None:
        """Learn what the reranker says of hits that were seen; None where it has no score.

        The directory of each file that it scored is queued: what it likes may have likeable neighbours.
        """
        self._top = None
        self._verdicts.add(said)
        for record, score in said.items():
            row = self._pool.row(record)
            if score is not None and self._pool.leaves[row]:
                self._testify(self._reranked_evidence, self._pool.sources[row], score)
                self._push(self._pool.sources[row], 0.0, "the reranker scored a file in it")

    def start_from_parents(self, hits: Hits, scores: NDArray[np.float64]) -> None:
        """Queue the directories of the best leaves, so that the walk never misses what flat search found.

        scores: their own, as `see` returned them.
        """
        own = np.where(hits.leaves, scores, -1.0)
        best = _at_least(own, self._rules.global_search_topk)
        worth = own[best].tolist()
        leaves = [
            (-score, hits.folders[row] + hits.names[row], hits.folders[row])
            for row, score in zip(best.tolist(), worth, strict=True)
            if score >= 0
        ]
        for _, _, folder in heapq.nsmallest(self._rules.global_search_topk, leaves):
            self._push(folder, 0.0, "it holds one of the best files")

    def take(self) -> Sequence[Uri]:
        """Return the next directories to open, best first; none when the walk is over."""
        converged = self._quiet_rounds >= self._quiet_enough
        if converged or self._rounds >= self._rules.max_rounds:
            return ()
        self._rounds += 1
        worth = (
            (-self._worth(folder, own), _address(folder), folder)
            for folder, own in self._doors.items()
        )
        batch = heapq.nsmallest(self._rules.batch, worth)
        for negated, address, folder in batch:
            score, reason = round(-negated, self.digits), self._known[folder]
            self.opened.append(Opened(Uri(address), score, self._rounds, reason))
            del self._doors[folder]
        return [Uri(address) for _, address, _ in batch]

    @property
    def rounds(self) -> int:
        """How many rounds were walked."""
        return max((opened.round for opened in self.opened), default=0)

    @property
    def ending(self) -> str:
        """Why the walk stopped, in words."""
        quiet = self._quiet_enough
        if self._quiet_rounds >= quiet:
            rounds = "a round" if quiet == 1 else f"{quiet} rounds"
            return f"converged: the best {self._limit} stayed the same for {rounds}"
        if self._doors:
            return f"stopped after {self._rules.max_rounds} rounds with the hits still changing"
        return "every directory was opened"

    def end_round(self) -> None:
        """Note whether this round changed the best `limit` hits."""
        records = self._pool.records
        top = [records[row] for row, _ in self._best(self._limit)]
        self._quiet_rounds = self._quiet_rounds + 1 if top == self._last_top else 0
        self._last_top = top

    def ranked(self, limit: int | None = None) -> Sequence[Scored]:
        """Return the best `limit` hits so far (None = all), best first, ties by address as it is shown."""
        return [self._scored(row, score) for row, score in self._best(limit)]

    def _best(self, limit: int | None) -> Sequence[tuple[int, float]]:
        """Return the rows of the best hits with their scores, best first."""
        if self._top is not None and limit is not None and limit <= self._limit:
            return self._top[:limit]
        scores = self._scores()
        rows = np.arange(len(scores)) if limit is None else _at_least(scores, limit)
        keyed = sorted(zip((-scores[rows]).tolist(), rows.tolist(), strict=True))
        top: list[tuple[int, float]] = []
        for negated, run in groupby(keyed, itemgetter(0)):
            alike = [row for _, row in run]
            if len(alike) > 1:  # the address is made for those alone that need it
                alike.sort(key=self._pool.shown)
            top += [(row, -negated) for row in alike]
        top = top[:limit]
        if limit == self._limit:
            self._top = top
        return top

    def _scored(self, row: int, score: float) -> Scored:
        source, hit = self._pool.sources[row], self._pool.hit(row)
        return Scored(
            hit=hit,
            own=float(self._pool.own[row]),
            score=score,
            semantic=score,
            witness=_address(source),
            evidence=self._evidence.get(source),
            reranked=self._verdicts.of(hit.id),
        )

    def _push(self, folder: str, own: float, reason: str) -> None:
        if folder not in self._known:
            self._known[folder] = reason
            self._doors[folder] = own
        elif self._doors.get(folder, own) < own:
            self._doors[folder] = own

    def _testify(self, known: dict[str, float], folder: str, own: float) -> None:
        """Raise the evidence of a file's directory, and less with every step up."""
        fade = 1 - self._judge.rules.directory_own
        evidence = own
        while known.get(folder, -1.0) < evidence:
            known[folder] = evidence
            if len(folder) <= len(_ROOT):
                return
            folder, evidence = folder[: folder.rindex("/", 0, -1) + 1], evidence * fade

    def _worth(self, door: str, own: float) -> float:
        share = self._judge.rules.directory_own
        reranked = self._reranked_evidence.get(door)
        if reranked is not None:
            return directory_score(own, reranked, share)
        evidence, unread = self._evidence.get(door), self._verdicts.lowest
        if evidence is None:
            return unread * lone_directory_score(own, share)
        return unread * directory_score(own, evidence, share)

    def _scores(self) -> NDArray[np.float64]:
        """Return the final score of every hit: `propagate` and `directory_score`, all at once.

        The reranker's scores, where there are any, come over them.
        """
        rules, pool = self._judge.rules, self._pool
        own = pool.own
        evidence = np.array([self._evidence.get(place, -1.0) for place in pool.sources])
        alpha, share = self._judge.alpha, rules.directory_own
        files = propagate(own, evidence, alpha)
        lone = lone_directory_score(own, share)
        folders = np.where(evidence < 0, lone, directory_score(own, evidence, share))
        final: NDArray[np.float64] = np.where(pool.leaves, files, folders)
        final = final.clip(0.0, 1.0).round(SCORE_DIGITS)
        if not self._verdicts:
            return final
        return self._verdicts.over(final, pool.records).round(RERANKED_DIGITS)


def _at_least(scores: NDArray[np.float64], limit: int) -> NDArray[np.int64]:
    """Return the rows of the best `limit` scores, with all that tie for the last places."""
    if limit >= len(scores):
        return np.arange(len(scores))
    return np.flatnonzero(scores >= np.partition(scores, len(scores) - limit)[len(scores) - limit])


def _address(folder: str) -> str:
    """Return the address of the directory with this folder."""
    return ROOT.text if len(folder) <= len(_ROOT) else folder[:-1]
