"""One probe from its first statement to its hits.

Where few passages match, all of them are read and scored. Where many do, each channel puts records forward: meaning by
the graph, or by looking at every vector where that costs less; words by the lists of the rarest terms, until nobody
who is on none of them can be among the best.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from contextfind.adapters.postgres.index_facts import measured
from contextfind.adapters.postgres.index_rules import IndexRules
from contextfind.adapters.postgres.index_scoring import Weights, look_up
from contextfind.adapters.postgres.index_statements import Asking, Statement
from contextfind.adapters.postgres.index_words import Shelf
from contextfind.domain.filters import And, Everything, Filter, OneOf
from contextfind.domain.records import Level
from contextfind.domain.uri import ROOT
from contextfind.ports.index import Hits, Probe

Rows = list[tuple[Any, ...]]
# Statements to be run together, sent back as the rows of each.
Steps = Generator[list[Statement], list[Rows], Any]
_MOST_OF_RECORD, _SPARE = 2.0, 10  # passages of one record among the nearest, and some more
_WIDER = 4  # times as many, when too few were records of their own
_FACTS = 2  # columns in front of the facts in an answer to a scan: the counts


@dataclass(frozen=True, slots=True)
class Sight:
    """What there is: for one who asks, and altogether.

    passages: that he may see. of_record: passages that a record has on average. vectors: of everybody; drawn: there
    is a graph of them.
    """

    shelves: Sequence[Shelf]
    passages: int
    of_record: float
    vectors: int
    drawn: bool


class Search:
    """A probe and what is known of where it looks.

    ways: in words, how it was answered so far. plans: the same by name, for counting.
    """

    def __init__(
        self,
        asking: Asking,
        probe: Probe,
        weights: Weights | None,
        sight: Sight,
        rules: IndexRules,
    ) -> None:
        self._asking = asking
        self._probe = probe
        self._weights = weights
        self._sight = sight
        self._rules = rules
        self._everywhere = isinstance(probe.where, Everything) and probe.scope.targets == (ROOT,)
        self.ways: list[str] = []
        self.plans: list[str] = []

    def steps(self) -> Generator[list[Statement], list[Rows], Hits]:
        """Answer the probe."""
        rules, probe = self._rules, self._probe
        if probe.vector is None and self._weights is None:
            self.ways.append("nothing is asked for")
            return Hits.of(())
        if self._plentiful():
            sorting, told = not self._sight.drawn, f"{self._sight.passages:,} passages"
        else:
            [rows] = yield [self._asking.scan(rules.sorted, rules.scanned)]
            records, passages = rows[0][:_FACTS]
            if records <= rules.sorted and passages <= rules.scanned:
                return self._scanned(rows, records)
            sorting = records <= rules.sorted or not self._sight.drawn
            told = f"{'' if records <= rules.sorted else 'at least '}{records:,} records"
        ids = yield from self._forward(told, sorting=sorting)
        [rows] = yield [self._asking.facts(ids)]
        return measured(rows, self._weights).hits(probe.limit, self._weights)

    def _scanned(self, rows: Rows, records: int) -> Hits:
        self.ways.append(f"exact scan of {records:,} records")
        self.plans.append("scan")
        found = [row[_FACTS:] for row in rows if row[_FACTS] is not None]
        return measured(found, self._weights).hits(self._probe.limit, self._weights)

    def _plentiful(self) -> bool:
        """Return whether more may be found than is read whole, without having counted it."""
        if self._sight.passages <= self._rules.scanned:
            return False
        by_words = self._probe.vector is None  # of one level of all as soon as of all levels
        return self._everywhere or (by_words and _of_levels(self._probe.where))

    def _forward(self, told: str, *, sorting: bool) -> Steps:
        """Return the ids of the records that either channel puts forward, both asked side by side.

        told: how many may be put forward, in words. sorting: they are sorted by their vectors, all of them.
        """
        channels = []
        if self._probe.vector is not None:
            channels.append(self._near(told, sorting=sorting))
        if self._weights is not None and self._weights.known:
            channels.append(self._telling(self._weights))
        found = yield from side_by_side(channels)
        return sorted({record for ids in found for record in ids})

    def _near(self, told: str, *, sorting: bool) -> Steps:
        if not sorting:
            ids = yield from self._by_graph(told)
            if ids is not None:
                return ids
        self.ways.append(f"exact scan of {told}")
        self.plans.append("sort")
        [rows] = yield [self._asking.nearest(self._probe.limit)]
        return [record for (record,) in rows]

    def _by_graph(self, told: str) -> Steps:
        """Return the ids of the nearest records; None when the graph knows too few that match."""
        wanted = self._probe.limit
        sight = self._sight
        share = min(1.0, sight.passages / max(sight.vectors, 1))
        asked = int(wanted * min(_MOST_OF_RECORD, sight.of_record)) + _SPARE
        while True:
            effort = self._rules.effort(asked, share, sight.vectors)
            [rows] = yield [self._asking.neighbours(asked, effort)]
            best: dict[int, float] = {}
            for record, distance in rows:  # the nearest come first
                best.setdefault(record, distance)
            if len(best) >= wanted:
                self.ways.append(f"graph search among {told}, the nearest scored exactly")
                self.plans.append("neighbours")
                return (yield from self._cut(best, wanted))
            if len(rows) < asked:
                return None
            asked *= _WIDER

    def _cut(self, distances: dict[int, float], wanted: int) -> Steps:
        """Return the `wanted` records of the least numbers; of those that tie at the cut the first ones in the tree."""
        ranked = sorted(distances.values())
        last = ranked[min(wanted, len(ranked)) - 1]
        sure = [record for record, distance in distances.items() if distance < last]
        tied = [record for record, distance in distances.items() if distance == last]
        free = wanted - len(sure)
        if len(tied) > free + wanted:  # a few more are read and told apart then
            [rows] = yield [self._asking.earliest(tied, free)]
            tied = [record for (record,) in rows]
        return sure + tied

    def _telling(self, weights: Weights) -> Steps:
        """Return the ids of the best records by words."""
        wanted = self._probe.limit
        best: dict[int, float] = {}
        taken = 0
        order = [at for at in np.argsort(weights.holders, kind="stable") if weights.holders[at]]
        shelves = _shelves(self._sight.shelves, self._probe.where)
        read = 0
        while (upto := self._enough(weights, order, taken, list(best.values()))) > taken:
            free = self._rules.postings - read
            statement = self._asking.holders(
                _keys(weights, order[taken:upto], shelves),
                _keys(weights, order[:taken], shelves),
                free,
                everywhere=self._everywhere,
            )
            [rows] = yield [statement]
            scores = look_up(weights, [stream for _, stream in rows]).scores.tolist()
            for (record, _), score in zip(rows, scores, strict=True):
                best[record] = max(score, best.get(record, 0.0))
            taken, read = upto, read + len(rows)
            if len(rows) == free:
                break
        self.ways.append(f"words by the lists of {taken} of {len(order)} terms")
        if read >= self._rules.postings:
            self.ways.append("of which the beginning was read, because they are long")
            self.plans.append("common_words")
        self.plans.append("words")
        if not best:
            return []
        return (yield from self._cut({r: -s for r, s in best.items()}, wanted))

    def _enough(
        self, weights: Weights, order: Sequence[int], taken: int, scores: Sequence[float]
    ) -> int:
        """Return up to which of the terms, the rarest first, passages have to be read.

        Whoever has none of them scores less than the idf of all others together.
        """
        wanted = self._probe.limit
        if taken == 0:
            held = 0
            for upto, at in enumerate(order, start=1):
                held += int(weights.holders[at])
                if held >= 2 * wanted:
                    return upto
            return len(order)
        least = 0.0
        if len(scores) >= wanted:
            least = float(np.partition(scores, len(scores) - wanted)[len(scores) - wanted])
        left = float(weights.idf[order[taken:]].sum())
        upto = taken
        while upto < len(order) and left / weights.ceiling > least:
            left -= float(weights.idf[order[upto]])
            upto += 1
        return upto


def _keys(weights: Weights, terms: Sequence[int], shelves: Sequence[Shelf]) -> list[int]:
    numbers = weights.numbers[list(terms)]
    return [key for shelf in shelves for key in shelf.keys(numbers).tolist()]


def _of_levels(where: Filter) -> bool:
    """Return whether a filter asks for levels and nothing else."""
    return isinstance(where, Everything) or (isinstance(where, OneOf) and where.field == "level")


def _shelves(shelves: Sequence[Shelf], where: Filter) -> list[Shelf]:
    """Return those on which something may match: without what the filter says of levels, all."""
    parts = where.parts if isinstance(where, And) else (where,)
    wanted = {str(level.value) for level in Level}
    for part in parts:
        if isinstance(part, OneOf) and part.field == "level":
            wanted &= part.values
    leaf = str(Level.DETAIL.value)
    return [s for s in shelves if (leaf in wanted if s.leaves else bool(wanted - {leaf}))]


def side_by_side(all_steps: Sequence[Steps]) -> Generator[list[Statement], list[Rows], list[Any]]:
    """Take several series of steps together: what each asks next goes out at once."""
    results: list[Any] = [None] * len(all_steps)
    waiting: dict[int, list[Statement]] = {}
    answers: dict[int, list[Rows] | None] = dict.fromkeys(range(len(all_steps)))
    while True:
        waiting = {}
        for number, answer in answers.items():
            steps = all_steps[number]
            try:
                waiting[number] = next(steps) if answer is None else steps.send(answer)
            except StopIteration as end:
                results[number] = end.value
        if not waiting:
            return results
        rows = yield [statement for statements in waiting.values() for statement in statements]
        answers, begin = {}, 0
        for number, statements in waiting.items():
            answers[number] = rows[begin : begin + len(statements)]
            begin += len(statements)
