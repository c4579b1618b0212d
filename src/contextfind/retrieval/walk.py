"""HierarchicalRetriever: flat candidates first, then the tree, best directories first."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from contextfind.domain.filters import Everything, Filter, OneOf, all_of
from contextfind.domain.records import RecordId, Vector
from contextfind.domain.scope import Scope
from contextfind.domain.scoring import Calibration, ScoreRules
from contextfind.domain.uri import Uri
from contextfind.ports import Dialogue, Probe, SearchIndex
from contextfind.retrieval.frontier import Frontier, Scored, WalkRules
from contextfind.retrieval.judging import Judge
from contextfind.retrieval.reranking import Hearing

_DIRECTORIES = OneOf("level", frozenset({"0", "1"}))


@dataclass(frozen=True, slots=True)
class Ask:
    """One query, ready for the index.

    vector: None when the embedder has nothing to say. where: which hits to keep, never which
    directories to open: a tag on a file is not a tag on its folder. hearing: the reranker that judges,
    which makes the mode a thinking one; None is quick. widen: times as many candidates as usual.
    """

    scope: Scope
    where: Filter
    limit: int
    vector: Vector | None
    terms: tuple[str, ...]
    hearing: Hearing | None = None
    widen: int = 1


@dataclass(frozen=True, slots=True)
class Walk:
    """What a walk found; ask `frontier.opened` for its way and `ranked` for the hits.

    notes: what was done without, in words. warmed: all hits in another order, by hotness too.
    probes: the global ones, for hits and, under a filter, for directories. exhausted: nothing else matches at all.
    """

    frontier: Frontier
    judge: Judge
    notes: Sequence[str] = ()
    warmed: Sequence[Scored] | None = None
    probes: Sequence[Probe] = ()
    exhausted: bool = True

    def ranked(self, limit: int | None = None) -> Sequence[Scored]:
        """Return the best `limit` hits (None = all), best first, ties by address as it is shown."""
        return self.frontier.ranked(limit) if self.warmed is None else self.warmed[:limit]


class HierarchicalRetriever:
    """Finds by two channels over everything in scope, then walks the tree for evidence.

    The walk is never a gate: what the global probe found is in the pool before the first
    directory is opened, and the parents of its best leaves are among the starting points.

    In thinking mode a reranker judges the best of the flat candidates, and after every round what
    that round saw for the first time: one batch each, so that its depth costs bounded time.
    """

    def __init__(
        self, index: SearchIndex, calibration: Calibration, scores: ScoreRules, walk: WalkRules
    ) -> None:
        self._index = index
        self._calibration = calibration
        self._scores = scores
        self._rules = walk

    async def retrieve(self, ask: Ask) -> Walk:
        """Return everything found for `ask`.

        Raises:
            UnavailableError: the index does not answer.

        """
        if ask.hearing is None:
            return await self._index.converse(self._quickly(ask))
        return await self._thinking(ask, ask.hearing)

    def _quickly(self, ask: Ask) -> Dialogue[Walk]:
        walk = yield from self._begin(ask)
        frontier = walk.frontier
        frontier.end_round()
        while batch := frontier.take():
            yield from self._open(batch, ask, frontier)
            frontier.end_round()
        return walk

    async def _thinking(self, ask: Ask, hearing: Hearing) -> Walk:
        """Walk with pauses, in which the reranker reads the best that it has not read yet."""
        walk = await self._index.converse(self._begin(ask))
        frontier = walk.frontier
        frontier.hear(await hearing.judge(frontier.unread(hearing.candidates)))
        frontier.end_round()
        while batch := frontier.take():
            seen = await self._index.converse(self._open(batch, ask, frontier))
            frontier.hear(await hearing.judge(frontier.unread(hearing.candidates, seen)))
            frontier.end_round()
        return replace(walk, notes=hearing.notes)

    def _begin(self, ask: Ask) -> Dialogue[Walk]:
        """Ask everything in scope, flat, and for directories to start from where a filter may hide them."""
        width = ask.widen * max(self._rules.candidates, ask.limit)
        probes = (self._probe(ask, ask.where, width), *self._starts(ask))
        leaves, *directories = yield probes
        known = max(hits.known for hits in (leaves, *directories))
        judge = self._judge(known, blind=ask.vector is None)
        frontier = Frontier(judge, self._rules, ask.limit, thinking=ask.hearing is not None)
        own = frontier.see(leaves, keep=True)
        for hits in directories:
            frontier.see(hits, keep=False)
        frontier.start_from_parents(leaves, own)
        for root in ask.scope.targets:
            frontier.push(root)
        return Walk(frontier, judge, probes=probes, exhausted=len(leaves) < width)

    async def explain(self, walk: Walk) -> Sequence[str]:
        """Return how the index answered the global probes, in their order."""
        return await self._index.explain(walk.probes)

    def _judge(self, known: float, *, blind: bool) -> Judge:
        return Judge(self._calibration, self._scores, known, blind)

    def _open(self, batch: Sequence[Uri], ask: Ask, frontier: Frontier) -> Dialogue[set[RecordId]]:
        """Ask the directories at once for hits to keep (returned), which may be doors too.

        A filter must not close the way: where there is one, doors are asked for by themselves.
        """
        here = OneOf("parent", frozenset(directory.text for directory in batch))
        limit = self._rules.children * len(batch)
        if isinstance(ask.where, Everything):
            (hits,) = yield (self._probe(ask, here, limit),)
        else:
            doors, hits = yield (
                self._probe(ask, all_of(here, _DIRECTORIES), limit),
                self._probe(ask, all_of(here, ask.where), limit),
            )
            frontier.see(doors, keep=False)
        frontier.see(hits, keep=True)
        return set(map(RecordId, hits.ids.tolist()))

    def _starts(self, ask: Ask) -> Iterator[Probe]:
        """Ask for directories to start from, by words where there are any; without a filter they are among the hits.

        The best files by meaning bring their directories anyhow, and a directory's summary is near to much.
        """
        if not isinstance(ask.where, Everything):
            probe = self._probe(ask, _DIRECTORIES, self._rules.global_search_topk)
            yield replace(probe, vector=None) if ask.terms else probe

    def _probe(self, ask: Ask, where: Filter, limit: int) -> Probe:
        return Probe(ask.scope, where, limit, ask.vector, ask.terms)
