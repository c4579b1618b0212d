"""Probes to hits, all against one snapshot.

What probes have in common is done once: what their caller sees, the worth of their words, the walk through a
graph, and the measuring of the records that any of them may return.
"""

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from contextfind.adapters.embedded.facts import Description, Facts, describe, measure
from contextfind.adapters.embedded.meaning import BLOCK, Meaning
from contextfind.adapters.embedded.patch import Patch
from contextfind.adapters.embedded.phrases import Wanted
from contextfind.adapters.embedded.planner import told
from contextfind.adapters.embedded.postings import Longs
from contextfind.adapters.embedded.questions import Question, Questions
from contextfind.adapters.embedded.ranking import best, distinct, kth_largest
from contextfind.adapters.embedded.rules import IndexRules
from contextfind.adapters.embedded.sight import Sight
from contextfind.adapters.embedded.snapshot import Snapshot
from contextfind.adapters.embedded.words import (
    Scores,
    Shares,
    Tally,
    Weights,
    is_rare,
    most_telling,
)
from contextfind.domain.records import Matrix
from contextfind.ports.index import Hits, Probe

_FEW = 1_000  # candidates that are all measured: choosing among them first would cost more
_NONE: Longs = np.zeros(0, np.int64)
TreeKey = tuple[str, str, int]  # folder of the parent, name, level


class Bench(threading.local):
    """Memory that a search thread uses again and again."""

    def __init__(self, dimension: int) -> None:
        super().__init__()
        self.vectors: Matrix = np.empty((BLOCK, dimension), np.float32)
        self._shares: list[Shares] = []

    def shares(self, rows: int, number: int) -> Shares:
        """Return at least so many zeros; whoever takes them gives them back as zeros.

        number: how many others were taken before and are still in use.
        """
        while len(self._shares) <= number:
            self._shares.append(np.zeros(0, np.float32))
        if len(self._shares[number]) < rows:
            self._shares[number] = np.zeros(rows, np.float32)
        return self._shares[number]


@dataclass(frozen=True, eq=False, slots=True)
class _Asked:
    """What probes of one caller, vector and terms share; no vector, no meaning."""

    sight: Sight
    weights: Weights | None
    pairs: Wanted | None
    meaning: Meaning | None


@dataclass(frozen=True, eq=False, slots=True)
class _Pick:
    """Records of one part that one probe may return; all for both channels, or the best of each and a few more."""

    part: int
    near: Longs
    telling: Longs
    all: bool


@dataclass(frozen=True, eq=False, slots=True)
class _Ranked:
    """Places in the facts of one pick, ascending: the nearest and the most telling of it."""

    facts: Facts
    near: Longs
    telling: Longs


class Answering:
    """One round trip."""

    def __init__(
        self, snapshot: Snapshot, rules: IndexRules, questions: Questions, bench: Bench
    ) -> None:
        self._snapshot = snapshot
        self._rules = rules
        self._questions = questions
        self._bench = bench
        self._meanings: list[Meaning] = []
        self._tallies: dict[tuple[int, int, tuple[int, int]], Tally] = {}

    @property
    def plans(self) -> Counter[str]:
        """How often each plan was chosen."""
        return sum((meaning.plans for meaning in self._meanings), Counter())

    def answer(self, probes: Sequence[Probe]) -> list[Hits]:
        """Return of each probe the union of both channels, in tree order."""
        alike: dict[tuple[object, ...], list[int]] = {}
        for number, probe in enumerate(probes):
            key = (probe.scope.account, probe.scope.user, probe.terms, id(probe.vector))
            alike.setdefault(key, []).append(number)
        answers: dict[int, Hits] = {}
        try:
            for numbers in alike.values():
                asked = self._ask(probes[numbers[0]])
                found = self._answer(asked, [probes[number] for number in numbers])
                answers |= dict(zip(numbers, found, strict=True))
        finally:
            for tally in self._tallies.values():
                tally.wipe()
            self._tallies.clear()
        return [answers[number] for number in range(len(probes))]

    def explain(self, probe: Probe) -> str:
        """Return how a probe is answered: by answering it."""
        self.answer([probe])
        known = self._question(probe)
        words = "no word of it occurs" if known.weights is None else "words looked up"
        if probe.vector is None:
            return f"{words}; no vector to compare"
        return f"{told(self._meanings[-1].taken)}; {words}"

    def _question(self, probe: Probe) -> Question:
        scope = probe.scope
        return self._questions.of(self._snapshot, scope.account, scope.user, probe.terms)

    def _ask(self, probe: Probe) -> _Asked:
        known = self._question(probe)
        meaning = None
        if probe.vector is not None:
            meaning = Meaning(probe.vector, self._rules, self._bench.vectors)
            self._meanings.append(meaning)
        return _Asked(known.sight, known.weights, known.pairs, meaning)

    def _answer(self, asked: _Asked, probes: Sequence[Probe]) -> list[Hits]:
        if asked.meaning is None and asked.weights is None:
            return [Hits.of(()) for _ in probes]
        picks = [list(self._picks(asked, probe)) for probe in probes]
        facts = self._facts(asked, [pick for some in picks for pick in some])
        ranked = [
            _cut([_rank(facts[pick.part], pick, probe.limit) for pick in some], probe.limit)
            for some, probe in zip(picks, probes, strict=True)
        ]
        chosen = [list(_chosen(some)) for some in ranked]
        described = {
            id(one): describe(one, asked.pairs) for one in facts.values() if one.chosen.any()
        }
        return [
            _tabled([(one, described[id(one)], places) for one, places in some], asked.weights)
            for some in chosen
        ]

    def _picks(self, asked: _Asked, probe: Probe) -> Iterator[_Pick]:
        scope = probe.scope
        for number, part in enumerate(asked.sight.parts):
            for patch in self._questions.patches(self._snapshot, part, scope.targets, probe.where):
                if patch.size <= _FEW and patch.vector_count <= self._rules.exact_below:
                    yield self._whole(asked, number, patch)
                else:
                    yield self._select(asked, number, patch, probe.limit)

    def _whole(self, asked: _Asked, number: int, patch: Patch) -> _Pick:
        if asked.meaning is not None:
            asked.meaning.note_scan(patch)
        return _Pick(number, patch.records, patch.records, all=True)

    def _select(self, asked: _Asked, number: int, patch: Patch, wanted: int) -> _Pick:
        near = telling = _NONE
        if asked.meaning is not None:
            near = asked.meaning.nearest(patch, wanted)
        if asked.weights is not None:
            spans = asked.weights.spans[number]
            tally = self._tally(asked.weights, number, patch)
            telling = most_telling(patch, asked.weights, spans, wanted, tally)
        return _Pick(number, near, telling, all=False)

    def _tally(self, weights: Weights, number: int, patch: Patch) -> Tally | None:
        """Return what the words are worth in the group of a patch, None where that is not worth knowing."""
        key = (id(weights), number, patch.reach)
        known = self._tallies.get(key)
        if known is not None:
            return known
        segment = patch.segment
        inside = weights.inside[number][patch.part.groups.index(patch.group)]
        if is_rare(patch, inside):
            return None
        scratch = self._bench.shares(segment.rows, len(self._tallies))
        self._tallies[key] = Tally.of(segment, weights, inside, scratch)
        return self._tallies[key]

    def _facts(self, asked: _Asked, picks: Sequence[_Pick]) -> dict[int, Facts]:
        wanted: dict[int, list[Longs]] = {}
        for pick in picks:
            wanted.setdefault(pick.part, []).append(pick.near)
            if not pick.all:
                wanted[pick.part].append(pick.telling)
        weights, facts = asked.weights, {}
        for number, some in wanted.items():
            records: Longs = some[0] if len(some) == 1 else distinct(some)
            words = None if weights is None else (weights, weights.spans[number])
            segment = asked.sight.parts[number].segment
            facts[number] = measure(segment, records, asked.meaning, words)
        return facts


def _rank(facts: Facts, pick: _Pick, wanted: int) -> _Ranked:
    near, telling = facts.places(pick.near), facts.places(pick.telling)
    if pick.all:
        near = near[~np.isnan(facts.cosines[near])]
    telling = telling[facts.words[telling] > 0]
    return _Ranked(
        facts,
        near[best(facts.cosines[near], wanted)],
        telling[best(facts.words[telling], wanted)],
    )


def _cut(ranked: Sequence[_Ranked], limit: int) -> Sequence[_Ranked]:
    """Return of each channel those that are among the best `limit` of all."""
    if len(ranked) == 1:
        return ranked
    near = _best_of_all([(one.facts, one.near, one.facts.cosines) for one in ranked], limit)
    telling = _best_of_all([(one.facts, one.telling, one.facts.words) for one in ranked], limit)
    return [
        _Ranked(one.facts, first, second)
        for one, first, second in zip(ranked, near, telling, strict=True)
    ]


def _best_of_all(ranked: Sequence[tuple[Facts, Longs, Scores]], limit: int) -> list[Longs]:
    """Return per pick the places of the best `limit` of all picks, ties to the earlier one in the tree."""
    if sum(len(places) for _, places, _ in ranked) <= limit:
        return [places for _, places, _ in ranked]
    values = [scores[places] for _, places, scores in ranked]
    cut = kth_largest(np.concatenate(values), limit)
    found = [places[mine >= cut] for (_, places, _), mine in zip(ranked, values, strict=True)]
    if sum(map(len, found)) == limit:
        return found
    kept = [places[mine > cut] for (_, places, _), mine in zip(ranked, values, strict=True)]
    tied = [
        (key, number, place)
        for number, ((facts, places, _), mine) in enumerate(zip(ranked, values, strict=True))
        for key, place in _keyed(facts, places[mine == cut])
    ]
    free = limit - sum(map(len, kept))
    for _, number, place in sorted(tied)[:free]:
        kept[number] = np.append(kept[number], place)
    return kept


def _keyed(facts: Facts, places: Longs) -> list[tuple[TreeKey, int]]:
    segment, records = facts.segment, facts.records[places]
    columns = (
        segment.folder_of(records),
        segment.named_of(records),
        segment.level[records].tolist(),
    )
    return list(zip(zip(*columns, strict=True), places.tolist(), strict=True))


def _chosen(ranked: Sequence[_Ranked]) -> Iterator[tuple[Facts, Longs]]:
    """Yield the facts of which some are chosen, with the places of those, and mark them there."""
    for one in ranked:
        marked = np.zeros(len(one.facts.records), np.bool_)
        marked[one.near] = True
        marked[one.telling] = True
        (places,) = marked.nonzero()
        if len(places):
            one.facts.chosen[places] = True
            yield one.facts, places


def _tabled(found: Sequence[tuple[Facts, Description, Longs]], weights: Weights | None) -> Hits:
    """Return what was chosen as a table, in tree order."""
    tables = [_table(*one, weights) for one in found]
    if len(tables) <= 1:
        return tables[0] if tables else Hits.of(())
    return Hits.joined(tables)


def _table(facts: Facts, description: Description, places: Longs, weights: Weights | None) -> Hits:
    segment, records = facts.segment, facts.records[places]
    return Hits(
        ids=segment.ids[records],
        folders=segment.folder_of(records),
        names=segment.named_of(records),
        levels=segment.level[records],
        passages=description.passages[places],
        cosines=facts.cosines[places],
        words=facts.words[places],
        supports=description.supports[places],
        phrases=description.phrases[places],
        known=0.0 if weights is None else weights.known,
        terms=() if weights is None else weights.terms,
        held=description.held[places],
    )
