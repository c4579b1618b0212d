"""Probes to hits, all against one snapshot."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contextfind.adapters.embedded.mask import Mask
from contextfind.adapters.embedded.meaning import Meaning, Ranked, best, largest, mean_of_best
from contextfind.adapters.embedded.patch import Patch, cut_out
from contextfind.adapters.embedded.phrases import Wanted, score_pairs
from contextfind.adapters.embedded.planner import told
from contextfind.adapters.embedded.postings import Longs
from contextfind.adapters.embedded.rules import IndexRules
from contextfind.adapters.embedded.segment import LEVELS, Group
from contextfind.adapters.embedded.snapshot import Snapshot
from contextfind.adapters.embedded.words import Scores, Weights, score_rows, weigh
from contextfind.domain.records import RecordId, Vector
from contextfind.domain.uri import SCHEME, Uri
from contextfind.ports.index import SUPPORTERS, Hit, Probe

TreeKey = tuple[str, str, int]  # folder of the parent, name, level
_Figures = Sequence[float | None]


@dataclass(frozen=True, slots=True)
class _Sight:
    """What one (account, user) sees: per view the groups, and filters compiled for them."""

    groups: tuple[tuple[Group, ...], ...]
    masks: tuple[Mask, ...]


@dataclass(frozen=True, slots=True)
class _Scored:
    """A patch, the words' score of all rows in its range (None: no term occurs), and its best."""

    patch: Patch
    words: Scores | None
    near: Ranked
    telling: Ranked


@dataclass(frozen=True, slots=True)
class _Terms:
    """What the terms of a probe are worth, and those of them that are neighbours."""

    weights: Weights
    pairs: Wanted


class Answering:
    """One round trip. What its probes have in common (filters, idf) is worked out once."""

    def __init__(self, snapshot: Snapshot, rules: IndexRules) -> None:
        self._views = snapshot.views
        self._meaning = Meaning(rules)
        self._sights: dict[tuple[str, str], _Sight] = {}
        self._terms: dict[tuple[str, str, tuple[str, ...]], _Terms | None] = {}

    @property
    def plans(self) -> Counter[str]:
        """How often each plan was chosen."""
        return self._meaning.plans

    def hits(self, probe: Probe) -> list[Hit]:
        """Return the union of both channels, in tree order."""
        terms = self._weigh(probe)
        if probe.vector is None and terms is None:
            return []
        scored = [self._score(patch, probe, terms) for patch in self._patches(probe)]
        near = _cut(scored, [s.near for s in scored], probe.limit)
        telling = _cut(scored, [s.telling for s in scored], probe.limit)
        found: list[tuple[TreeKey, Hit]] = []
        filled = 0
        for part, first, second in zip(scored, near, telling, strict=True):
            records = np.union1d(first, second)
            if len(records):
                filled += 1
                found.extend(self._describe(part, records, probe.vector, terms))
        if filled > 1:
            found.sort(key=lambda pair: pair[0])
        return [hit for _, hit in found]

    def explain(self, probe: Probe) -> str:
        """Return how `hits` answers a probe: by answering it."""
        begin = len(self._meaning.taken)
        self.hits(probe)
        found = self._weigh(probe) is not None
        words = "words looked up" if found else "no word of it occurs"
        if probe.vector is None:
            return f"{words}; no vector to compare"
        return f"{told(self._meaning.taken[begin:])}; {words}"

    def _sight(self, probe: Probe) -> _Sight:
        key = (probe.scope.account, probe.scope.user)
        known = self._sights.get(key)
        if known is None:
            groups = tuple(view.segment.visible(*key) for view in self._views)
            pairs = zip(self._views, groups, strict=True)
            known = _Sight(groups, tuple(Mask(view.segment, seen) for view, seen in pairs))
            self._sights[key] = known
        return known

    def _weigh(self, probe: Probe) -> _Terms | None:
        if not probe.terms:
            return None
        key = (probe.scope.account, probe.scope.user, probe.terms)
        if key not in self._terms:
            weights = weigh(probe.terms, self._views, self._sight(probe).groups)
            told = None if weights is None else _Terms(weights, Wanted.by(probe.terms, weights))
            self._terms[key] = told
        return self._terms[key]

    def _patches(self, probe: Probe) -> list[Patch]:
        sight = self._sight(probe)
        question = (probe.scope.targets, probe.where)
        return [
            patch
            for number, view in enumerate(self._views)
            if sight.groups[number]
            for patch in cut_out(number, view, sight.groups[number], sight.masks[number], question)
        ]

    def _score(self, patch: Patch, probe: Probe, terms: _Terms | None) -> _Scored:
        nothing: Ranked = (np.zeros(0, np.int64), np.zeros(0, np.float32))
        near = telling = nothing
        words = None
        if probe.vector is not None:
            near = self._meaning.nearest(patch, probe.vector, probe.limit)
        if terms is not None:
            spans = terms.weights.spans[patch.number]
            words = score_rows(patch.segment, terms.weights, spans, patch.rows)
            telling = _most_telling(patch, words, probe.limit)
        return _Scored(patch, words, near, telling)

    def _describe(
        self, part: _Scored, records: Longs, vector: Vector | None, terms: _Terms | None
    ) -> list[tuple[TreeKey, Hit]]:
        """Return the records as hits, with their tree keys."""
        segment = part.patch.segment
        names = [segment.names[place] for place in segment.name_of[records].tolist()]
        numbers = segment.level[records].tolist()
        keys = list(zip(segment.folder_of(records), names, numbers, strict=True))
        levels = [LEVELS[number] for number in numbers]
        ids = map(RecordId, segment.ids[records].tolist())
        columns = self._measure(part, records, vector, terms)
        return list(zip(keys, map(Hit, ids, map(_uri, keys), levels, *columns), strict=True))

    def _measure(
        self, part: _Scored, records: Longs, vector: Vector | None, terms: _Terms | None
    ) -> tuple[list[int], _Figures, list[float], list[float], _Figures, list[float]]:
        """Return passage, cosine, words, known, support and phrases of the records, exactly."""
        segment = part.patch.segment
        rows, counts = segment.rows_of(records)
        words = phrases = np.zeros(len(rows))
        if part.words is not None and terms is not None:
            words = part.words[rows - part.patch.rows[0]]
            phrases = score_pairs(segment, terms.pairs, rows, words)
        cosines: _Figures = [None] * len(records)
        supports = cosines
        sums = words
        if vector is not None:
            vectors, sizes = segment.vectors_of(records)
            having = sizes > 0
            if having.any():
                dots = self._meaning.cosines(segment.vectors, vectors, vector)
                sums = words.copy()
                sums[np.repeat(having, counts)] += dots
                cosines = _where(having, largest(dots, sizes[having]))
                supports = _where(having, mean_of_best(dots, sizes[having], SUPPORTERS))
        return (
            segment.ordinal[rows[_first_best(sums, counts)]].tolist(),
            cosines,
            largest(words, counts).tolist(),
            [0.0 if terms is None else terms.weights.known] * len(records),
            supports,
            largest(phrases, counts).tolist(),
        )


def _most_telling(patch: Patch, words: Scores, wanted: int) -> Ranked:
    """Return the candidates with the best words, those without any left out."""
    rows = np.flatnonzero(words)
    records = patch.segment.record_of[rows + patch.rows[0]]
    if patch.picked is not None:
        kept = patch.holds(records)
        rows, records = rows[kept], records[kept]
    if len(rows) == 0:
        return np.zeros(0, np.int64), np.zeros(0, np.float64)
    begins = np.flatnonzero(np.concatenate(([True], records[1:] != records[:-1])))
    scores = np.maximum.reduceat(words[rows], begins)
    return best(records[begins].astype(np.int64), scores, wanted)


def _cut(scored: Sequence[_Scored], ranked: Sequence[Ranked], limit: int) -> list[Longs]:
    """Return per patch the records that are among the best `limit` of all patches."""
    if sum(len(records) for records, _ in ranked) <= limit:
        return [records for records, _ in ranked]
    scores = np.concatenate([values for _, values in ranked])
    cut = np.partition(scores, len(scores) - limit)[len(scores) - limit]
    free = limit - int(np.count_nonzero(scores > cut))
    tied = [
        (key, number, record)
        for number, (records, values) in enumerate(ranked)
        for key, record in _tree_keys(scored[number].patch, records[values == cut])
    ]
    kept = [records[values > cut].tolist() for records, values in ranked]
    for _, number, record in sorted(tied)[:free]:
        kept[number].append(record)
    return [np.array(records, np.int64) for records in kept]


def _tree_keys(patch: Patch, records: Longs) -> list[tuple[TreeKey, int]]:
    segment = patch.segment
    columns = zip(
        segment.folder_of(records),
        segment.name_of[records].tolist(),
        segment.level[records].tolist(),
        records.tolist(),
        strict=True,
    )
    return [((folder, segment.names[n], level), record) for folder, n, level, record in columns]


def _first_best(sums: Scores, counts: Longs) -> Longs:
    """Return where the largest of each run of adjacent sums stands; the first one on a tie."""
    if len(sums) == len(counts):
        return np.arange(len(sums))
    begins = np.cumsum(counts) - counts
    peaks = np.repeat(np.maximum.reduceat(sums, begins), counts)
    places = np.flatnonzero(sums == peaks)
    return places[np.searchsorted(places, begins)]


def _where(having: NDArray[np.bool_], values: NDArray[np.floating]) -> list[float | None]:
    """Return the values where something is had, None elsewhere."""
    left = iter(values.tolist())
    return [next(left) if has else None for has in having.tolist()]


def _uri(key: TreeKey) -> Uri:
    return Uri(key[0] + key[1] or SCHEME)  # only the root has neither folder nor name
