"""Whether a figure that was sampled stayed flat: the second quarter of the time against the last one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

Sample = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Bound:
    """What a figure may grow by between two quarters: a share of it and so many more."""

    share: float
    more: float


# What a server holds when it has found its pace. The first quarter is left out: caches fill, code is loaded.
BOUNDS: Mapping[str, Bound] = {
    "rss_mib": Bound(0.10, 0),
    "handles": Bound(0, 5),
    "threads": Bound(0, 3),
    "tasks": Bound(0, 5),  # those of the requests of that very moment are among them
}


@dataclass(frozen=True, slots=True)
class Finding:
    """How a figure did; before, after: medians of the second and the last quarter."""

    name: str
    before: float
    after: float
    flat: bool


def findings(samples: Sequence[Sample]) -> list[Finding]:
    """Return a finding for every bounded figure; there must be at least four samples."""
    quarter = len(samples) // 4
    second, last = samples[quarter : 2 * quarter], samples[-quarter:]
    found = []
    for name, bound in BOUNDS.items():
        before = median(sample[name] for sample in second)
        after = median(sample[name] for sample in last)
        limit = before * (1 + bound.share) + bound.more
        found.append(Finding(name, before, after, after <= limit))
    return found
