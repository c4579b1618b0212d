"""What is read of records while questions are answered, and how near their passages are to a vector."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from qdrant_client import models

from contextfind.adapters.qdrant import fields
from contextfind.adapters.qdrant.cluster import Cluster
from contextfind.adapters.qdrant.conditions import numbered
from contextfind.adapters.qdrant.points import Found, found
from contextfind.domain.records import Vector

NAMED = [fields.RECORD, fields.CHANGE, fields.ROWS]  # what a search tells of a point

_TOLD = [
    fields.RECORD,
    fields.CHANGE,
    fields.ROW,
    fields.ORDINAL,
    fields.URI,
    fields.LEVEL,
    fields.TERMS,
]
_MEASURED = [fields.RECORD, fields.CHANGE, fields.ROW]
_MORE = 4  # times as many, where that was too few
_SPARE = 16  # points asked for beyond those that should be there: what others write at this moment


@dataclass(frozen=True, slots=True)
class Candidate:
    """A record that a point puts forward.

    change: for which the point was written. rows: how many passages the record has by that. score: of the point.
    """

    record: int
    change: int
    rows: int
    score: float

    @classmethod
    def of(cls, point: models.ScoredPoint) -> "Candidate":
        """Return what a point says that was found with `NAMED`."""
        said: Mapping[str, Any] = point.payload or {}
        return cls(said[fields.RECORD], said[fields.CHANGE], said[fields.ROWS], point.score)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Records to be read, and the vector to which they are measured, if any."""

    vector: Vector | None
    candidates: Sequence[Candidate]


@dataclass(slots=True)
class _State:
    """A record as it was read: for which change it was written, None when it is gone, and what was measured."""

    change: int
    found: Found | None
    cosines: dict[bytes, list[float] | None] = field(default_factory=dict)


class Reading:
    """Records of one collection, each read once."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._states: dict[int, _State] = {}

    def record(self, candidate: Candidate) -> Found | None:
        """Return what was read of a record; None when it is gone, or the candidate speaks of what it was before."""
        state = self._states.get(candidate.record)
        return state.found if state is not None and state.change == candidate.change else None

    def cosines(self, vector: Vector, record: int) -> list[float] | None:
        """Return how near the passages of a record are, in order; None where it has no vectors."""
        return self._states[record].cosines.get(vector.tobytes())

    async def read(self, wanted: Sequence[Wanted]) -> None:
        """Read what is not known yet, in one round trip.

        Raises:
            UnavailableError: the cluster does not answer.

        """
        fresh: dict[int, Candidate] = {}
        for part in wanted:
            fresh.update((c.record, c) for c in part.candidates if not self._is_known(c))
        far = self._unmeasured(wanted, fresh)
        requests = [_measured(vector, records.values()) for vector, records in far.values()]
        if fresh:
            requests.append(_told(fresh.values()))
        answers = await self._whole(requests)
        await asyncio.to_thread(self._take, fresh, far, answers)

    def _is_known(self, candidate: Candidate) -> bool:
        state = self._states.get(candidate.record)
        return state is not None and state.change >= candidate.change

    def _unmeasured(
        self, wanted: Sequence[Wanted], fresh: Mapping[int, Candidate]
    ) -> dict[bytes, tuple[Vector, dict[int, Candidate]]]:
        """Return per vector what was not measured to it yet."""
        far: dict[bytes, tuple[Vector, dict[int, Candidate]]] = {}
        for part in wanted:
            if part.vector is None:
                continue
            key = part.vector.tobytes()
            for candidate in part.candidates:
                record = candidate.record
                if record in fresh or key not in self._states[record].cosines:
                    far.setdefault(key, (part.vector, {}))[1][record] = candidate
        return far

    async def _whole(self, requests: list[models.QueryRequest]) -> list[list[models.ScoredPoint]]:
        """Ask for all that match: again, for more, while an answer is as long as it may be."""
        answers = await self._cluster.ask(requests)
        for place, request in enumerate(requests):
            while len(answers[place]) == request.limit:
                request.limit *= _MORE
                [answers[place]] = await self._cluster.ask([request])
        return answers

    def _take(
        self,
        fresh: Mapping[int, Candidate],
        far: Mapping[bytes, tuple[Vector, dict[int, Candidate]]],
        answers: list[list[models.ScoredPoint]],
    ) -> None:
        if fresh:
            self._keep(fresh, answers.pop())
        for key, points in zip(far, answers, strict=True):
            self._measure(key, far[key][1], points)

    def _keep(self, fresh: Mapping[int, Candidate], points: Sequence[models.ScoredPoint]) -> None:
        said = defaultdict(list)
        for point in points:
            payload = point.payload or {}
            said[payload[fields.RECORD]].append(payload)
        for record, candidate in fresh.items():
            newest = found(said[record]) if record in said else None
            self._states[record] = (
                _State(candidate.change, None) if newest is None else _State(*newest)
            )

    def _measure(
        self, key: bytes, records: Iterable[int], points: Sequence[models.ScoredPoint]
    ) -> None:
        scores: dict[int, dict[tuple[int, int], float]] = defaultdict(dict)
        for point in points:
            said = point.payload or {}
            scores[said[fields.RECORD]][said[fields.CHANGE], said[fields.ROW]] = point.score
        for record in records:
            state = self._states[record]
            rows = range(0 if state.found is None else len(state.found.texts))
            near = [scores[record].get((state.change, row)) for row in rows]
            whole = [score for score in near if score is not None]
            state.cosines[key] = whole if whole and len(whole) == len(near) else None


def _told(candidates: Iterable[Candidate]) -> models.QueryRequest:
    """Return the request for all that is told of records."""
    records, rows = _these(candidates)
    return models.QueryRequest(filter=records, limit=rows, with_payload=_TOLD)


def _measured(vector: Vector, candidates: Iterable[Candidate]) -> models.QueryRequest:
    """Return the request for how near all passages of records are."""
    records, rows = _these(candidates)
    return models.QueryRequest(
        query=vector.tolist(),
        using=fields.MEANING,
        filter=records,
        limit=rows,
        params=models.SearchParams(exact=True),
        with_payload=_MEASURED,
    )


def _these(candidates: Iterable[Candidate]) -> tuple[models.Filter, int]:
    known = list(candidates)
    records = numbered(sorted(candidate.record for candidate in known))
    return models.Filter(must=[records]), sum(c.rows for c in known) + _SPARE
