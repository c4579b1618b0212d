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
from contextfind.adapters.postgres.index_statements import Asking, Most, Rows, Statement, Steps
from contextfind.adapters.postgres.index_words import Shelf
from contextfind.domain.filters import And, Everything, Filter, OneOf
from contextfind.domain.records import Level
from contextfind.domain.uri import ROOT
from contextfind.ports.index import Hits, Probe

_MOST_OF_RECORD, _SPARE = 2.0, 10  # passages of one record among the nearest, and some more
_WIDER = 4  # times as many, when too few were records of their own
_FACTS = 3  # columns in front of the facts in an answer to a scan: what was counted


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


@dataclass(frozen=True, slots=True)
class Matching:
    """What is known of the records that match, where there are too many to read them all.

    told: how many, in words. sorting: rather sorted by their vectors than looked for. share: of what may be seen, 1 where
    it is not known. nearest: the first of them if they were sorted, id and distance.
    """

    told: str
    sorting: bool
    share: float = 1.0
    nearest: Rows | None = None


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
            matching = Matching(f"{self._sight.passages:,} passages", sorting)
        else:
            most = Most(rules.sorted_of(self._sight.vectors, self._asked()), rules.sorted)
            [rows] = yield [self._asking.scan(most, rules.scanned, self._asked())]
            records, passages, whole = rows[0][:_FACTS]
            if whole and passages <= rules.scanned:
                return self._scanned(rows, records)
            matching = self._matching(rows)
        ids = yield from self._forward(matching)
        [rows] = yield [self._asking.facts(ids)]
        return measured(rows, self._weights).hits(probe.limit, self._weights)

    def _matching(self, rows: Rows) -> Matching:
        records, passages, whole = rows[0][:_FACTS]
        if not whole:
            return Matching(f"at least {records:,} records", not self._sight.drawn)
        nearest = [(row[_FACTS], row[-1]) for row in rows if row[_FACTS] is not None]
        return Matching(f"{records:,} records", True, passages / self._sight.passages, nearest)

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

    def _forward(self, matching: Matching) -> Steps:
        """Return the ids of the records that either channel puts forward, both asked side by side."""
        channels = []
        if self._probe.vector is not None:
            channels.append(self._near(matching))
        if self._weights is not None and self._weights.known:
            channels.append(self._telling(self._weights, matching.share))
        found = yield from side_by_side(channels)
        return sorted({record for ids in found for record in ids})

    def _near(self, matching: Matching) -> Steps:
        found = None
        if not matching.sorting:
            found = yield from self._nearest(graph=True)
        if found is not None:
            self.ways.append(f"graph search among {matching.told}, the nearest scored exactly")
            self.plans.append("neighbours")
        else:
            self.ways.append(f"exact scan of {matching.told}")
            self.plans.append("sort")
            found = yield from self._nearest(matching.nearest, graph=False)
        return (yield from self._cut(found))

    def _telling(self, weights: Weights, share: float) -> Steps:
        keys = self._sight.keys[_shelves(self._sight.shelves, self._probe.where)]
        if not len(keys):  # the filter allows no level that anything has
            return []
        wanted, most = self._probe.limit, self._rules.postings
        lists = Lists(self._asking, weights, keys, wanted, self._everywhere, most, share)
        found = yield from lists.read(self.ways)
        self.plans.append("words")
        return (yield from self._cut(found))

    def _nearest(self, rows: Rows | None = None, *, graph: bool) -> Steps:
        """Return the nearest records and some more; None when the graph finds too few of them.

        rows: the first that are sorted, if they are known.
        """
        asked, wanted = self._asked(), self._probe.limit
        while True:
            if rows is None:
                [rows] = yield [self._ask_for(asked, graph=graph)]
            found = Ranked.of([row[0] for row in rows], [-row[1] for row in rows])
            if len(found.ids) >= wanted:
                return found
            if len(rows) < asked:
                return None if graph else found
            rows, asked = None, asked * _WIDER

    def _asked(self) -> int:
        """Return of how many vectors that are nearest there will be records enough, as a rule."""
        return int(self._probe.limit * min(_MOST_OF_RECORD, self._sight.of_record)) + _SPARE

    def _ask_for(self, asked: int, *, graph: bool) -> Statement:
        if not graph:
            return self._asking.nearest(asked)
        sight = self._sight
        share = min(1.0, sight.passages / max(sight.vectors, 1))
        effort = self._rules.effort(asked, share, filtered=not self._everywhere)
        return self._asking.neighbours(asked, effort)

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
