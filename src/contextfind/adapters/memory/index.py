"""The search index said plainly: every passage is looked at for every probe.

Slow and obviously right. The contract tests hold the other engines to it, and small set-ups may use it.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from contextfind.domain.errors import InvalidArgumentError
from contextfind.domain.filters import matches, store_conditions
from contextfind.domain.records import Matrix, Passage, Record, RecordId, Vector
from contextfind.domain.word_pairs import Pair, neighbours
from contextfind.ports.index import SUPPORTERS, Dialogue, Hit, Hits, Probe, Result, conversed
from contextfind.ports.models import Tokenizer
from contextfind.ports.store import Change

K1 = 0.7  # saturation of repeats
B = 0.4  # weight of a passage's length: passages are cut to much the same size


class MemoryIndex:
    """A `SearchIndex` in plain Python; it forgets everything when the process ends.

    dimension: length of the vectors; None takes it from the first one that is followed.
    """

    def __init__(self, tokenizer: Tokenizer, dimension: int | None = None) -> None:
        self._tokenizer = tokenizer
        self._dimension = dimension
        self._entries: dict[RecordId, _Entry] = {}
        self._position = 0

    async def search(self, probes: Sequence[Probe]) -> Sequence[Hits]:
        """Answer each probe by looking at everything."""
        self._check_all(probes)
        return [Hits.of(self._answer(probe)) for probe in probes]

    async def converse(self, dialogue: Dialogue[Result]) -> Result:
        """Answer question after question; nothing here waits, so nothing changes in between."""
        return await conversed(self, dialogue)

    async def explain(self, probes: Sequence[Probe]) -> Sequence[str]:
        """Say of each probe how many records were looked at."""
        self._check_all(probes)
        return [f"exact scan of {len(self._candidates(probe)):,} records" for probe in probes]

    def _check_all(self, probes: Sequence[Probe]) -> None:
        for probe in probes:
            if probe.vector is not None:
                self._check(probe.vector)
            if unknown := store_conditions(probe.where):
                raise InvalidArgumentError(f"the search index cannot answer {unknown}")

    async def position(self) -> int:
        """Return the position of the last change followed."""
        return self._position

    async def follow(self, changes: Sequence[Change]) -> None:
        """Take the records as they now are.

        Raises:
            InvalidArgumentError: a vector of another dimension, or one that is not finite.

        """
        for change in changes:
            if change.position <= self._position:
                continue
            if change.record is None:
                self._entries.pop(change.id, None)
            else:
                self._entries[change.id] = self._entry(change.record, change)
            self._position = change.position

    async def aclose(self) -> None:
        """Nothing is held that could be let go."""

    def _entry(self, record: Record, change: Change) -> "_Entry":
        if change.vectors is not None:
            for row in change.vectors:
                self._check(row)
        terms = [self._tokenizer.terms(p.indexed_text) for p in change.passages]
        counts, pairs = [Counter(t) for t in terms], [neighbours(t) for t in terms]
        return _Entry(record, tuple(change.passages), change.vectors, counts, pairs)

    def _check(self, vector: Vector) -> None:
        if self._dimension is None:
            self._dimension = len(vector)
        if vector.shape != (self._dimension,) or not np.isfinite(vector).all():
            raise InvalidArgumentError(
                f"a vector has {vector.shape} numbers; expected {self._dimension} finite ones"
            )

    def _candidates(self, probe: Probe) -> "list[_Entry]":
        return [
            entry
            for entry in sorted(self._entries.values(), key=_tree_order)
            if probe.scope.allows(entry.record) and matches(probe.where, entry.record)
        ]

    def _answer(self, probe: Probe) -> list[Hit]:
        seen = [e for e in self._entries.values() if _visible(probe, e.record)]
        words = _Words(seen, probe)
        found = [_hit(entry, probe.vector, words) for entry in self._candidates(probe)]
        near = [hit for hit in found if hit.cosine is not None]
        near.sort(key=lambda hit: -(hit.cosine or 0.0))  # stable: ties stay in tree order
        telling = [hit for hit in found if hit.words > 0]
        telling.sort(key=lambda hit: -hit.words)
        chosen = {hit.id for hit in (*near[: probe.limit], *telling[: probe.limit])}
        return [hit for hit in found if hit.id in chosen]


@dataclass(frozen=True, slots=True)
class _Entry:
    record: Record
    passages: tuple[Passage, ...]
    vectors: Matrix | None
    counts: list[Counter[str]]
    pairs: list[frozenset[Pair]]


class _Words:
    """BM25 in Lucene's form, divided by the summed idf of all terms asked for."""

    def __init__(self, seen: Sequence[_Entry], probe: Probe) -> None:
        passages = [counts for entry in seen for counts in entry.counts]
        self._mean = sum(c.total() for c in passages) / len(passages) if passages else 0.0
        self._idf: dict[str, float] = {}
        known = 0.0
        for term in sorted(set(probe.terms)):
            holders = sum(term in counts for counts in passages)
            rarity = (len(passages) - holders + 0.5) / (holders + 0.5)
            self._idf[term] = math.log(1 + rarity)
            known += self._idf[term] if holders else 0.0
        self._ceiling = sum(self._idf.values())
        self.known = known / self._ceiling if known else 0.0
        self._pairs = {
            (a, b): (self._idf[a] + self._idf[b]) / 2 for a, b in sorted(neighbours(probe.terms))
        }

    def phrases(self, held: frozenset[Pair]) -> float:
        return _sum(idf for pair, idf in self._pairs.items() if pair in held) / self._ceiling

    def shared(self, counts: Counter[str]) -> frozenset[str]:
        return frozenset(term for term in self._idf if term in counts)

    def score(self, counts: Counter[str]) -> float:
        length = counts.total()
        total = 0.0
        for term, idf in self._idf.items():
            repeats = counts[term]
            if repeats:
                norm = K1 * (1 - B + B * length / self._mean)
                total += idf * (repeats / (repeats + norm))
        return total / self._ceiling if total else 0.0


def _visible(probe: Probe, record: Record) -> bool:
    return record.account == probe.scope.account and record.owner in ("", probe.scope.user)


def _tree_order(entry: _Entry) -> tuple[str, str, int]:
    parent = entry.record.parent
    return ("" if parent is None else parent.folder, entry.record.name, entry.record.level.value)


def _hit(entry: _Entry, vector: Vector | None, words: _Words) -> Hit:
    cosines: list[float] | None = None
    if vector is not None and entry.vectors is not None and len(entry.vectors):
        cosines = np.einsum("ij,j->i", entry.vectors, vector).tolist()
    scores = [words.score(counts) for counts in entry.counts] or [0.0]
    sums = scores if cosines is None else [c + w for c, w in zip(cosines, scores, strict=True)]
    best = max(range(len(sums)), key=lambda i: sums[i])
    return Hit(
        id=entry.record.id,
        uri=entry.record.uri,
        level=entry.record.level,
        passage=entry.passages[best].ordinal if entry.passages else 0,
        cosine=None if cosines is None else max(cosines),
        words=max(scores),
        known=words.known,
        support=None if cosines is None else _mean(sorted(cosines, reverse=True)[:SUPPORTERS]),
        phrases=max((words.phrases(held) for held in entry.pairs), default=0.0)
        if words.known
        else 0.0,
        shared=words.shared(entry.counts[best]) if entry.counts else frozenset(),
    )


def _mean(values: Sequence[float]) -> float:
    return _sum(values) / len(values)


def _sum(values: Iterable[float]) -> float:
    """Add from left to right, as other engines do; Python's own `sum` rounds otherwise from 3.12 on."""
    total = 0.0
    for value in values:
        total += value
    return total
