"""A circuit breaker: stop asking a service that is down, and notice soon when it is back."""

import time
from collections.abc import Callable
from enum import StrEnum

FAILURES = 5  # in a row; fewer would open on the hiccups that retries are for
HANGS = 2  # in a row; each has cost somebody all the time there was, and one may be a long answer
REST_SECONDS = 2.0  # short: one probe every two seconds costs nothing


class BreakerState(StrEnum):
    """CLOSED lets all through, OPEN none, HALF_OPEN one."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class Breaker:
    """Counts failures in a row; lives on the event loop, not for threads.

    Once open it lets one call through per rest, whatever became of the last one: a probe that hangs
    keeps nobody from noticing that the service is back.

    After every `admit` that returned true, one of `succeeded`, `failed`, `abandoned` must follow.
    """

    def __init__(
        self,
        failures: int = FAILURES,
        rest_seconds: float = REST_SECONDS,
        now: Callable[[], float] = time.monotonic,
        hangs: int = HANGS,
    ) -> None:
        self._most = failures
        self._most_hangs = hangs
        self._rest = rest_seconds
        self._now = now
        self._failures = 0
        self._hangs = 0
        self._answered_at = float("-inf")
        self._resting_since: float | None = None

    @property
    def state(self) -> BreakerState:
        """Where it stands now."""
        if self._resting_since is None:
            return BreakerState.CLOSED
        rested = self._now() - self._resting_since >= self._rest
        return BreakerState.HALF_OPEN if rested else BreakerState.OPEN

    def admit(self) -> bool:
        """Return whether a call may be made now."""
        state = self.state
        if state is BreakerState.HALF_OPEN:
            self._resting_since = self._now()
        return state is not BreakerState.OPEN

    def succeeded(self) -> None:
        """Note an answer, be it a refusal."""
        self._failures = self._hangs = 0
        self._answered_at = self._now()
        self._resting_since = None

    def failed(self, waited: float = 0.0, *, late: bool = False) -> None:
        """Note that no answer came, or no sensible one.

        waited: seconds since the call was admitted. late: it ran out of time. Where nobody else was answered
        in that time either, the service hangs.
        """
        now = self._now()
        self._failures += 1
        if late and now - self._answered_at >= waited:
            self._hangs += 1
        down = self._failures >= self._most or self._hangs >= self._most_hangs
        if self._resting_since is not None:
            down = now - waited >= self._resting_since  # the latest probe, not one that is overdue
        if down:
            self._resting_since = now

    def abandoned(self) -> None:
        """Note a call that says nothing about the service: cancelled, or short of time."""
        if self._resting_since is not None:
            self._resting_since = min(self._resting_since, self._now() - self._rest)
