"""A circuit breaker: stop asking a service that is down, and notice soon when it is back."""

import time
from collections.abc import Callable
from enum import StrEnum

FAILURES = 5  # in a row; fewer would open on the hiccups that retries are for
REST_SECONDS = 5.0  # short: one probe every few seconds costs nothing


class BreakerState(StrEnum):
    """CLOSED lets all through, OPEN none, HALF_OPEN one at a time."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class Breaker:
    """Counts failures in a row; lives on the event loop, not for threads.

    After every `admit` that returned true, one of `succeeded`, `failed`, `abandoned` must follow.
    """

    def __init__(
        self,
        failures: int = FAILURES,
        rest_seconds: float = REST_SECONDS,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most = failures
        self._rest = rest_seconds
        self._now = now
        self._failures = 0
        self._opened_at: float | None = None
        self._probing = False

    @property
    def state(self) -> BreakerState:
        """Where it stands now."""
        if self._opened_at is None:
            return BreakerState.CLOSED
        rested = self._now() - self._opened_at >= self._rest
        return BreakerState.HALF_OPEN if rested else BreakerState.OPEN

    def admit(self) -> bool:
        """Return whether a call may be made now."""
        state = self.state
        if state is BreakerState.CLOSED:
            return True
        if state is BreakerState.OPEN or self._probing:
            return False
        self._probing = True
        return True

    def succeeded(self) -> None:
        """Note an answer, be it a refusal."""
        self._failures = 0
        self._opened_at = None
        self._probing = False

    def failed(self) -> None:
        """Note that no answer came, or no sensible one."""
        self._failures += 1
        if self._probing or self._failures >= self._most:
            self._opened_at = self._now()
        self._probing = False

    def abandoned(self) -> None:
        """Note a cancelled call, which says nothing about the service."""
        self._probing = False
