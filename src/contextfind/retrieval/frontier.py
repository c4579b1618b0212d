"""The walk's memory, without any I/O: doors to open, the pool of hits, and the rule to stop."""

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contextfind.domain.records import Level, RecordId, shown_address
from contextfind.domain.scoring import directory_score, lone_directory_score, propagate
from contextfind.domain.uri import ROOT, Uri
from contextfind.ports import Hit
from contextfind.retrieval.judging import Judge
from contextfind.retrieval.verdicts import Verdicts

SCORE_DIGITS = 4  # of a shown score; float noise of the last bits must not decide an order
# Of a reranker's: a sigmoid may have all its order in the fifth digit and beyond. What noise there is in
# it comes from outside.
RERANKED_DIGITS = 12


@dataclass(frozen=True, slots=True)
class WalkRules:
    """The knobs of the walk, named as in ov.conf `retrieval.*`.

    candidates: records each channel puts forward in the global probe; 50 cost .005 nDCG, 100 nothing.
    global_search_topk: directories to start from, and leaves whose parents are started from.
    batch: directories opened per round. children: records asked of each by each channel; 5 measured
        the same as 20 on three sets, at half the work.
    max_convergence_rounds: the walk ends when the best hits stayed the same that many rounds; 1 measured
        the same as 3 on three sets, in half the probes.
    thinking_rounds: the same where a reranker judges. It may lift what nobody expected, so that one quiet
        round says less: 3, as the walk was first described. Each costs one batch of the reranker.
    max_rounds: the walk ends at the latest then, however restless the pool.
    """

    candidates: int = 100
    global_search_topk: int = 10
    batch: int = 4
    children: int = 5
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
    nothing here waits for anything. A directory is worth its evidence: the best own score of a file
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
        self._row: dict[RecordId, int] = {}
        self._hits: list[Hit] = []
        self._own: list[float] = []
        self._source: list[
            str
        ] = []  # whose evidence counts: a file's directory, a directory itself
        self._last_top: list[RecordId] | None = None
        self._quiet_rounds = 0
        self._rounds = 0

    def push(self, directory: Uri, own: float = 0.0, reason: str = "a target") -> None:
        """Queue a directory that was not opened yet; the better own score stays."""
        address = directory.text
        if address not in self._known:
            self._known[address] = reason
            self._doors[address] = own
        elif address in self._doors:
            self._doors[address] = max(self._doors[address], own)

    def see(self, hits: Iterable[Hit], *, keep: bool) -> None:
        """Learn from hits; `keep` says that they passed the filter and may be answered."""
        for hit in hits:
            own = self._judge.own(hit)
            address = hit.uri.text
            if hit.level is Level.DETAIL:
                address = _above(address)
                self._testify(self._evidence, address, own)
            else:
                self.push(hit.uri, own, "its own text fits")
            if keep and hit.id not in self._row:
                self._row[hit.id] = len(self._hits)
                self._hits.append(hit)
                self._own.append(own)
                self._source.append(address)

    def unread(self, limit: int, among: set[RecordId] | None = None) -> Sequence[Hit]:
        """Return the best hits (of `among`; None = of all) that the reranker was not shown, up to `limit`."""
        scores = self._scores().tolist()
        waiting = [
            (-score, shown_address(hit.uri, hit.level), row)
            for row, (hit, score) in enumerate(zip(self._hits, scores, strict=True))
            if hit.id not in self._verdicts and (among is None or hit.id in among)
        ]
        return [self._hits[row] for _, _, row in heapq.nsmallest(limit, waiting)]

    def hear(self, said: Mapping[RecordId, float | None]) -> None:
        """Learn what the reranker says of hits that were seen; None where it has no score.

        The directory of each file that it scored is queued: what it likes may have likeable neighbours.
        """
        self._verdicts.add(said)
        for record, score in said.items():
            row = self._row[record]
            if score is not None and self._hits[row].level is Level.DETAIL:
                self._testify(self._reranked_evidence, self._source[row], score)
                self.push(Uri(self._source[row]), reason="the reranker scored a file in it")

    def start_from_parents(self, hits: Iterable[Hit]) -> None:
        """Queue the directories of the best leaves, so that the walk never misses what flat search found."""
        leaves = [
            (-self._judge.own(hit), hit.uri.text) for hit in hits if hit.level is Level.DETAIL
        ]
        for _, address in heapq.nsmallest(self._rules.global_search_topk, leaves):
            self.push(Uri(_above(address)), reason="it holds one of the best files")

    def take(self) -> Sequence[Uri]:
        """Return the next directories to open, best first; none when the walk is over."""
        converged = self._quiet_rounds >= self._quiet_enough
        if converged or self._rounds >= self._rules.max_rounds:
            return ()
        self._rounds += 1
        worth = ((-self._worth(address, own), address) for address, own in self._doors.items())
        batch = heapq.nsmallest(self._rules.batch, worth)
        for negated, address in batch:
            score, reason = round(-negated, self.digits), self._known[address]
            self.opened.append(Opened(Uri(address), score, self._rounds, reason))
            del self._doors[address]
        return [Uri(address) for _, address in batch]

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
        top = [scored.hit.id for scored in self.ranked(self._limit)]
        self._quiet_rounds = self._quiet_rounds + 1 if top == self._last_top else 0
        self._last_top = top

    def ranked(self, limit: int | None = None) -> Sequence[Scored]:
        """Return the best `limit` hits so far (None = all), best first, ties by address as it is shown."""
        if not self._hits:
            return []
        scores = self._scores()
        rows = np.arange(len(scores))
        if limit is not None and limit < len(scores):
            cut = np.partition(scores, len(scores) - limit)[len(scores) - limit]
            rows = np.flatnonzero(scores >= cut)  # with all that tie for the last places
        scored = [
            self._scored(row, score)
            for row, score in zip(rows.tolist(), scores[rows].tolist(), strict=True)
        ]
        scored.sort(key=lambda s: (-s.score, shown_address(s.hit.uri, s.hit.level)))
        return scored[:limit]

    def _scored(self, row: int, score: float) -> Scored:
        witness = self._source[row]
        return Scored(
            hit=self._hits[row],
            own=self._own[row],
            score=score,
            semantic=score,
            witness=witness,
            evidence=self._evidence.get(witness),
            reranked=self._verdicts.of(self._hits[row].id),
        )

    def _testify(self, known: dict[str, float], directory: str, own: float) -> None:
        """Raise the evidence of a file's directory, and less with every step up."""
        fade = 1 - self._judge.rules.directory_own
        evidence = own
        while known.get(directory, -1.0) < evidence:
            known[directory] = evidence
            if directory == ROOT.text:
                return
            directory, evidence = _above(directory), evidence * fade

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
        rules = self._judge.rules
        own = np.array(self._own)
        evidence = np.array([self._evidence.get(address, -1.0) for address in self._source])
        leaf = np.array([hit.level is Level.DETAIL for hit in self._hits])
        alpha, share = self._judge.alpha, rules.directory_own
        files = propagate(own, evidence, alpha)
        lone = lone_directory_score(own, share)
        folders = np.where(evidence < 0, lone, directory_score(own, evidence, share))
        final: NDArray[np.float64] = np.where(leaf, files, folders)
        final = final.clip(0.0, 1.0).round(SCORE_DIGITS)
        if not self._verdicts:
            return final
        records = [hit.id for hit in self._hits]
        return self._verdicts.over(final, records).round(RERANKED_DIGITS)


def _above(address: str) -> str:
    """Return the address of the directory that lists this one."""
    head = address.rpartition("/")[0]
    return ROOT.text if len(head) < len(ROOT.text) else head
