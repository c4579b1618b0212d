"""How many requests there were, how they ended and how long they took: plain numbers, counted on the event loop."""

from bisect import bisect_left
from dataclasses import dataclass, field

# Seconds. A find takes 4 ms, one that asks a model seconds, and wait=true an hour.
BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0)


@dataclass(slots=True)
class Latency:
    """How long requests of one kind took: `counts[i]` up to `BOUNDS[i]`, the last one beyond all."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    seconds: float = 0.0

    def copy(self) -> "Latency":
        """Return one that does not change any more."""
        return Latency(self.counts.copy(), self.seconds)


Kind = tuple[str, str, int]
"""Method, route as declared, status."""


class Measures:
    """Counts requests; bounded, because methods, routes and statuses are."""

    def __init__(self) -> None:
        self.in_flight = 0
        self.body_bytes = 0  # of answers
        self._latencies: dict[Kind, Latency] = {}

    def began(self) -> None:
        """Note a request that has come."""
        self.in_flight += 1

    def ended(self, method: str, route: str, status: int, seconds: float, size: int) -> None:
        """Note its end."""
        self.in_flight -= 1
        self.body_bytes += size
        kind = (method, route, status)
        latency = self._latencies.get(kind)
        if latency is None:
            latency = self._latencies[kind] = Latency()
        latency.counts[bisect_left(BOUNDS, seconds)] += 1
        latency.seconds += seconds

    def latencies(self) -> dict[Kind, Latency]:
        """Return what was counted so far, to be read by another thread."""
        return {kind: latency.copy() for kind, latency in self._latencies.items()}
