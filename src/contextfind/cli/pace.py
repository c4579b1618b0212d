"""How fast something goes, and how long it will still take."""

import time
from collections.abc import Callable

_MINUTE, _HOUR = 60, 3_600
_RATED_AFTER = 0.1  # seconds: a step that was done at once has no speed
_SURE_AFTER = 2.0  # seconds: what is said of the time left before that is a guess


class Pace:
    """Told of progress from its making on; answers with a unit for `Meter.show`."""

    def __init__(self, unit: str, timer: Callable[[], float] = time.monotonic) -> None:
        self._unit = unit
        self._timer = timer
        self._started = timer()

    def at(self, done: int, total: int) -> str:
        """Return `records, 5,120/s, 3 min left`, as far as it can be known."""
        seconds = self._timer() - self._started
        if seconds < _RATED_AFTER or not done:
            return self._unit
        said = f"{self._unit}, {done / seconds:,.0f}/s"
        if total <= done or seconds < _SURE_AFTER:
            return said
        return f"{said}, {duration((total - done) * seconds / done)} left"


class Paces:
    """A pace for each of several stages, each from its first sign of life on."""

    def __init__(self, timer: Callable[[], float] = time.monotonic) -> None:
        self._timer = timer
        self._of: dict[str, Pace] = {}

    def at(self, stage: str, done: int, total: int, unit: str) -> str:
        """Return what `Pace.at` says of the stage."""
        if stage not in self._of:
            self._of[stage] = Pace(unit, self._timer)
        return self._of[stage].at(done, total)


def duration(seconds: float) -> str:
    """Return a time as a person says it: `40 s`, `3 min`, `2 h 5 min`."""
    if seconds < _MINUTE:
        return f"{seconds:.0f} s"
    if seconds < _HOUR:
        return f"{seconds / _MINUTE:.0f} min"
    hours, rest = divmod(seconds, _HOUR)
    return f"{hours:.0f} h {rest / _MINUTE:.0f} min"
