"""One probe on its way to its hits."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf

from qdrant_client import models

from contextfind.adapters.qdrant import fields
from contextfind.adapters.qdrant.conditions import candidates, pinned
from contextfind.adapters.qdrant.points import Found, sparse
from contextfind.adapters.qdrant.reading import NAMED, Candidate, Reading, Wanted
from contextfind.adapters.qdrant.rules import SearchRules
from contextfind.adapters.qdrant.words import Asked
from contextfind.domain.records import RecordId
from contextfind.ports.index import SUPPORTERS, Hit, Hits, Probe

_NEAR = 1e-6  # cosines in 32 bits that are closer are equal


@dataclass(slots=True)
class Channel:
    """One way to candidates, and how far it was gone.

    bound: what somebody is worth at most who is ranked at a value. exact: whether it passes nothing over. cut: what
    the last of the best is worth, as far as is known.
    """

    request: models.QueryRequest
    rules: SearchRules
    limit: int
    exact: bool
    bound: Callable[[float], float]
    open: bool = True
    exhausted: bool = False
    cut: float = -inf
    seen: Sequence[Candidate] = ()

    @property
    def hopeful(self) -> list[Candidate]:
        """Those who can be among the best, or are."""
        return [candidate for candidate in self.seen if self.bound(candidate.score) >= self.cut]

    def take(self, points: Sequence[models.ScoredPoint]) -> None:
        """Hear what the cluster found."""
        short = len(points) < self.limit
        self.exhausted = short and self.exact
        if short and not self.exact:
            self.exact = True
            self.request.params = models.SearchParams(exact=True)
        self.seen = [Candidate.of(point) for point in points]

    def settle(self, best: Sequence[float], wanted: int) -> None:
        """Close when nobody who was not seen can be among the best `wanted`; else ask for more next time.

        best: what those who were seen are worth, in falling order.
        """
        if len(best) >= wanted:
            self.cut = best[wanted - 1]
        if self.exhausted:
            self.open = False
        elif len(self.seen) < self.limit:
            return  # it passed some over, and is asked again as it is
        elif self._is_settled(len(best) >= wanted):
            self.open = False
        else:
            self.limit *= self.rules.more
            self.request.limit = self.limit

    def _is_settled(self, enough: bool) -> bool:  # noqa: FBT001 - it has no other argument
        return enough and (
            self.limit >= self.rules.widest or self.bound(self.seen[-1].score) < self.cut
        )


@dataclass(frozen=True, slots=True)
class _Measured:
    """A candidate with what its passages are worth."""

    id: int
    found: Found
    words: Sequence[float]
    cosines: Sequence[float] | None

    @property
    def best_words(self) -> float:
        return max(self.words)

    @property
    def best_cosine(self) -> float:
        return max(self.cosines or [-inf])


class Search:
    """A probe, the channels it is asked through, and what they brought."""

    def __init__(self, probe: Probe, asked: Asked, rules: SearchRules) -> None:
        self._probe = probe
        self._asked = asked
        self._meaning = _by_meaning(probe, asked, rules)
        self._words = _by_words(probe, asked, rules)
        self._measured: Sequence[_Measured] = ()

    @property
    def open(self) -> list[Channel]:
        """The channels that want to be asked."""
        return [channel for channel in (self._meaning, self._words) if channel and channel.open]

    @property
    def wanted(self) -> Wanted:
        """What is to be read before the next judgement."""
        channels = [channel for channel in (self._meaning, self._words) if channel]
        hopeful = [candidate for channel in channels for candidate in channel.hopeful]
        return Wanted(self._probe.vector, hopeful)

    def judge(self, reading: Reading) -> None:
        """Score what was read; no channel is open any more when that settles the hits."""
        known = {c.record: found for c in self.wanted.candidates if (found := reading.record(c))}
        self._measured = [self._measure(reading, *record) for record in known.items()]
        limit = self._probe.limit
        if self._meaning is not None:
            near = sorted((m.best_cosine for m in self._measured if m.cosines), reverse=True)
            self._meaning.settle(near, limit)
        if self._words is not None:
            telling = sorted((m.best_words for m in self._measured if m.best_words), reverse=True)
            self._words.settle(telling, limit)

    def hits(self) -> Hits:
        """Return the best of both channels in tree order."""
        limit = self._probe.limit
        near = [measured for measured in self._measured if measured.cosines]
        telling = [measured for measured in self._measured if measured.best_words > 0]
        chosen = {
            measured.id: measured
            for measured in (
                *_best(near, [m.best_cosine for m in near], limit, _NEAR),
                *_best(telling, [m.best_words for m in telling], limit, 0.0),
            )
        }
        return Hits.of(self._hit(m) for m in sorted(chosen.values(), key=_place))

    def _measure(self, reading: Reading, record: int, found: Found) -> _Measured:
        vector = self._probe.vector
        cosines = None if vector is None else reading.cosines(vector, record)
        return _Measured(record, found, [self._asked.score(t) for t in found.texts], cosines)

    def _hit(self, measured: _Measured) -> Hit:
        cosines, words, texts = measured.cosines, measured.words, measured.found.texts
        sums = words if cosines is None else [c + w for c, w in zip(cosines, words, strict=True)]
        least = max(sums) - (0.0 if cosines is None else _NEAR)
        best = texts[next(row for row, value in enumerate(sums) if value >= least)]
        return Hit(
            id=RecordId(measured.id),
            uri=measured.found.uri,
            level=measured.found.level,
            passage=best.ordinal,
            cosine=None if cosines is None else max(cosines),
            words=max(words),
            known=self._asked.known,
            support=None if cosines is None else _support(cosines),
            phrases=max(self._asked.phrases(text) for text in texts),
            shared=self._asked.shared(best),
        )


def _by_meaning(probe: Probe, asked: Asked, rules: SearchRules) -> Channel | None:
    if probe.vector is None:
        return None
    request, limit = _request(probe, fields.MEANING, rules)
    request.query = probe.vector.tolist()
    exact = pinned(probe.where) or asked.passages <= rules.exact_below
    request.params = models.SearchParams(exact=exact, hnsw_ef=max(rules.in_view, limit))
    return Channel(request, rules, limit, exact, lambda cosine: cosine + _NEAR)


def _by_words(probe: Probe, asked: Asked, rules: SearchRules) -> Channel | None:
    weights = asked.weights
    if weights is None:
        return None
    request, limit = _request(probe, fields.WORDS, rules)
    request.query = sparse(weights)
    return Channel(request, rules, limit, exact=True, bound=asked.bound)


def _request(probe: Probe, using: str, rules: SearchRules) -> tuple[models.QueryRequest, int]:
    limit = rules.passages * probe.limit + rules.spare
    records = candidates(probe.scope, probe.where)
    asked = models.QueryRequest(using=using, filter=records, limit=limit, with_payload=NAMED)
    return asked, limit


def _best(
    measured: Sequence[_Measured], worth: Sequence[float], limit: int, near: float
) -> list[_Measured]:
    """Return the `limit` that are worth most; of equal ones, which lie `near`, the earlier in tree order."""
    order = sorted(range(len(measured)), key=lambda at: -worth[at])
    step, steps = 0, [0] * len(order)
    for before, after in pairwise(order):
        step += worth[before] - worth[after] > near
        steps[after] = step
    order.sort(key=lambda at: (steps[at], measured[at].found.place))
    return [measured[at] for at in order[:limit]]


def _place(measured: _Measured) -> tuple[str, str, int]:
    return measured.found.place


def _support(cosines: Sequence[float]) -> float:
    best = sorted(cosines, reverse=True)[:SUPPORTERS]
    total = 0.0  # added from left to right, as other engines do
    for cosine in best:
        total += cosine
    return total / len(best)
