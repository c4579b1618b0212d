"""How often something may happen: token buckets by name, bounded in number."""

import math
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from contextfind.domain.errors import ResourceExhaustedError

CAPACITY = 10_000  # buckets, about 2 MB; the one that was asked for longest ago makes room
_ROUNDING = 1e-9  # of a token: whoever waits exactly as long as told must not be told again


@dataclass(frozen=True, slots=True)
class Allowance:
    """`per_minute` tokens come back evenly, at most `burst` are saved up."""

    per_minute: int
    burst: int


class Throttle:
    """A bucket for every name; one never heard of is full.

    timer: seconds that only rise.
    """

    def __init__(
        self, allowance: Allowance, timer: Callable[[], float], capacity: int = CAPACITY
    ) -> None:
        self._allowance = allowance
        self._timer = timer
        self._capacity = capacity
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # tokens, since when

    def __len__(self) -> int:
        """Return the number of buckets that are kept."""
        return len(self._buckets)

    def wait(self, name: str) -> float:
        """Return the seconds until `name` has a token, 0 when it has one; takes nothing."""
        missing = 1 - self._tokens(name, self._timer())
        return 0.0 if missing <= _ROUNDING else missing * 60 / self._allowance.per_minute

    def take(self, name: str) -> float:
        """Take a token and return 0, or take nothing and return the seconds until there is one."""
        now = self._timer()
        tokens = self._tokens(name, now)
        wait = self.wait(name)
        if wait == 0:
            self._buckets[name] = (max(tokens - 1, 0.0), now)
            self._buckets.move_to_end(name)
            if len(self._buckets) > self._capacity:
                self._buckets.popitem(last=False)
        return wait

    def _tokens(self, name: str, now: float) -> float:
        burst = float(self._allowance.burst)
        tokens, since = self._buckets.get(name, (burst, now))
        return min(burst, tokens + (now - since) * self._allowance.per_minute / 60)


def too_often(message: str, seconds: float) -> ResourceExhaustedError:
    """Return the refusal; `seconds` go into the header Retry-After as whole ones, at least 1."""
    wait = max(1, math.ceil(seconds - _ROUNDING))
    return ResourceExhaustedError(
        f"{message}; try again in {wait} s", {"retry_after_seconds": wait, "retryable": True}
    )
