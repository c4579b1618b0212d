"""How fast a stage of a job goes, and how long it will still take."""

from collections import deque
from dataclasses import dataclass
from datetime import datetime

_WINDOW = 15.0  # seconds that a speed is taken from: what was long ago tells nothing of what comes
_SURE_AFTER = 0.5  # seconds; of less nothing can be said


@dataclass(frozen=True, slots=True)
class Forecast:
    """rate: things a second, lately. seconds: until the stage ends; None: nobody can say yet."""

    rate: float | None = None
    seconds: float | None = None


class Speed:
    """Told how far a job is; each stage counts things of its own."""

    def __init__(self) -> None:
        self._stage = ""
        self._most = 0
        self._seen: deque[tuple[datetime, int]] = deque()

    def at(self, now: datetime, stage: str, done: int, total: int) -> Forecast:
        """Return what is to be expected when `done` of `total` are done at this moment."""
        last = self._seen[-1] if self._seen else (now, done)
        if stage != self._stage or now < last[0] or done < last[1]:  # a clock may be set back
            self._stage, self._most = stage, 0
            self._seen.clear()
        self._seen.append((now, done))
        while len(self._seen) > 2 and (now - self._seen[1][0]).total_seconds() >= _WINDOW:  # noqa: PLR2004 - both ends
            self._seen.popleft()
        since, before = self._seen[0]
        passed = (now - since).total_seconds()
        if passed < _SURE_AFTER or done == before:
            return Forecast()
        rate = (done - before) / passed
        return Forecast(rate, max(total - done, 0) / rate)

    def when_left(self, now: datetime, stage: str, left: int) -> Forecast:
        """Return the same where it is only known how many are left."""
        if stage != self._stage:
            self._most = 0
        most = max(self._most, left)
        found = self.at(now, stage, most - left, most)
        self._most = most
        return found
