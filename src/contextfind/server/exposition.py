"""Figures as Prometheus reads them."""

import asyncio
import threading
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from contextfind import __version__
from contextfind.domain.figures import Figure, counter, gauge
from contextfind.server.measures import BOUNDS, Kind, Latency, Measures
from contextfind.server.seats import Seats

_PROGRAM = "contextfind"
_OWN_THREADS = Path(
    "/proc/self/task"
)  # where there is no /proc, those that Python knows are counted


async def exposition(measures: Measures, seats: Seats, figures: Sequence[Figure]) -> bytes:
    """Return the text of all figures: those of the house, of the requests, and of the process."""
    tasks = len(asyncio.all_tasks())
    mine = [
        Figure("build_info", "Always 1; which version runs.", "gauge", {__version__: 1}, "version"),
        gauge("requests_in_flight", "Requests that have no answer yet.", measures.in_flight),
        gauge("requests_waiting", "Those of them that wait for their turn.", seats.waiting),
        counter("answer_bytes", "Bytes of all bodies of answers.", measures.body_bytes),
        gauge("event_loop_tasks", "Tasks of the event loop.", tasks),
    ]
    told = _Told([*mine, *figures], measures.latencies())
    return await asyncio.to_thread(told.text)


class _Told(Collector):
    """What is told once, to one who asks."""

    def __init__(self, figures: Sequence[Figure], latencies: Mapping[Kind, Latency]) -> None:
        self._figures = figures
        self._latencies = latencies

    def text(self) -> bytes:
        """Return all of it, and what the system says of the process."""
        registry = CollectorRegistry(auto_describe=False)
        registry.register(self)
        ProcessCollector(registry=registry)
        return generate_latest(registry)

    def collect(self) -> Iterator[Metric]:
        for figure in [*self._figures, gauge("threads", "Threads of the process.", _threads())]:
            yield _family(figure)
        yield _histogram(self._latencies)


def _family(figure: Figure) -> Metric:
    labels = [figure.label] if figure.label else []
    kind = CounterMetricFamily if figure.kind == "counter" else GaugeMetricFamily
    family = kind(f"{_PROGRAM}_{figure.name}", figure.meaning, labels=labels)
    for name, value in figure.values.items():
        family.add_metric([name] if labels else [], value)
    return family


def _histogram(latencies: Mapping[Kind, Latency]) -> Metric:
    family = HistogramMetricFamily(
        f"{_PROGRAM}_request_seconds",
        "Requests, and how long they took until the end of the answer.",
        labels=["method", "route", "status"],
    )
    ends = [*(str(bound) for bound in BOUNDS), "+Inf"]
    for (method, route, status), latency in sorted(latencies.items()):
        buckets = list(zip(ends, map(float, accumulate(latency.counts)), strict=True))
        family.add_metric([method, route, str(status)], buckets, latency.seconds)
    return family


def _threads() -> int:
    try:
        return sum(1 for _ in _OWN_THREADS.iterdir())
    except FileNotFoundError:
        return threading.active_count()
