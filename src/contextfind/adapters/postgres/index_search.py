"""One probe from its first statement to its hits.

Where few passages match, all of them are read and scored. Where many do, each channel puts records forward: meaning by
the graph, or by looking at every vector where that costs less; words by the lists of the rarest terms, until nobody
who is on none of them can be among the best.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

from contextfind.adapters.postgres.index_facts import measured
from contextfind.adapters.postgres.index_lists import Lists, Ranked
from contextfind.adapters.postgres.index_rules import IndexRules
from contextfind.adapters.postgres.index_scoring import Longs, Weights
from contextfind.adapters.postgres.index_statements import Asking, Rows, Statement, Steps
from contextfind.adapters.postgres.index_words import Shelf
from contextfind.domain.filters import And, Everything, Filter, OneOf
from contextfind.domain.records import Level
from contextfind.domain.uri import ROOT
from contextfind.ports.index import Hits, Probe

_MOST_OF_RECORD, _SPARE = 2.0, 10  # passages of one record among the nearest, and some more
_WIDER = 4  # times as many, when too few were records of their own
_FACTS = 2  # columns in front of the facts in an answer to a scan: the counts


@dataclass(frozen=True, slots=True)
class Sight:
    """What there is: for one who asks, and altogether.

    keys: of the terms asked for, shape (shelves, terms). passages: that he may see. of_record: passages that a record has on average. vectors: of everybody; drawn: there
    is a graph of them.
    """

    shelves: Sequence[Shelf]
    keys: Longs
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
            few = rules.sorted_in(self._sight.vectors, probe.limit)
            sorting = not self._sight.drawn or self._sight.passages <= few
            told = f"{self._sight.passages:,} passages"
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
        found = None
        if not sorting:
            found = yield from self._nearest(graph=True)
        if found is not None:
            self.ways.append(f"graph search among {told}, the nearest scored exactly")
            self.plans.append("neighbours")
        else:
            self.ways.append(f"exact scan of {told}")
            self.plans.append("sort")
            found = yield from self._nearest(graph=False)
        return (yield from self._cut(found))

    def _telling(self, weights: Weights) -> Steps:
        keys = self._sight.keys[_shelves(self._sight.shelves, self._probe.where)]
        if not len(keys):  # the filter allows no level that anything has
            return []
        wanted, most = self._probe.limit, self._rules.postings
        lists = Lists(self._asking, weights, keys, wanted, self._everywhere, most)
        found = yield from lists.read(self.ways)
        self.plans.append("words")
        return (yield from self._cut(found))

    def _nearest(self, *, graph: bool) -> Steps:
        """Return the nearest records and some more; None when the graph finds too few of them."""
        sight, wanted = self._sight, self._probe.limit
        share = min(1.0, sight.passages / max(sight.vectors, 1))
        asked = int(wanted * min(_MOST_OF_RECORD, sight.of_record)) + _SPARE
        while True:
            statement = self._asking.nearest(asked)
            if graph:
                effort = self._rules.effort(asked, share, filtered=not self._everywhere)
                statement = self._asking.neighbours(asked, effort)
            [rows] = yield [statement]
            found = Ranked.of([row[0] for row in rows], [-row[1] for row in rows])
            if len(found.ids) >= wanted:
                return found
            if len(rows) < asked:
                return None if graph else found
            asked *= _WIDER

    def _cut(self, found: Ranked) -> Steps:
        """Return the best records; of those that tie for the last places the first ones in the tree."""
        wanted = self._probe.limit
        sure, tied = found.cut(wanted)
        free = wanted - len(sure)
        if len(tied) > free + wanted:  # a few more are read and told apart then
            [rows] = yield [self._asking.earliest(tied, free)]
            tied = [record for (record,) in rows]
        return sure + tied


def _of_levels(where: Filter) -> bool:
    """Return whether a filter asks for levels and nothing else."""
    return isinstance(where, Everything) or (isinstance(where, OneOf) and where.field == "level")


def _shelves(shelves: Sequence[Shelf], where: Filter) -> list[bool]:
    """Return on which something may match: without what the filter says of levels, on all."""
    parts = where.parts if isinstance(where, And) else (where,)
    wanted = {str(level.value) for level in Level}
    for part in parts:
        if isinstance(part, OneOf) and part.field == "level":
            wanted &= part.values
    leaf = str(Level.DETAIL.value)
    return [leaf in wanted if shelf.leaves else bool(wanted - {leaf}) for shelf in shelves]


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
