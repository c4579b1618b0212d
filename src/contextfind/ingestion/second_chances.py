"""When a model that failed is asked again, and about which directories."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from contextfind.domain.uri import Uri

Place = tuple[str, Uri]  # account and directory

FAILURES = 3  # in a row; then the model rests, or a hanging one would hold up every directory
REST_SECONDS = 60.0
_TRIES = 5  # for one directory; then it stays as it is until something in it changes
_FACTOR = 4.0  # between tries: 1, 4, 16, 64 minutes
_MOST = 10_000  # directories remembered
_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class _Owed:
    tries: int
    at: float


class SecondChances:
    """Remembers, in this process only, which directories a model could not be asked about.

    Bounded on every side: a model that fails rests, then gets one question a minute until it
    answers; a directory is tried five times.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._failures = 0
        self._rested_at = -math.inf
        self._owed: dict[Place, _Owed] = {}

    @property
    def doubtful(self) -> bool:
        """Whether the last answers were all failures: ask about one directory, not about many."""
        return self._failures >= FAILURES

    @property
    def resting(self) -> bool:
        """Whether the model is not to be asked now."""
        return self.doubtful and self._now() < self._rested_at

    def succeeded(self, place: Place) -> None:
        """Note an answer that could be used."""
        self._failures = 0
        self._owed.pop(place, None)

    def failed(self, place: Place, *, again: bool) -> None:
        """Note an answer that did not come or could not be used; again: whether that may pass."""
        self._failures += 1
        if self.doubtful:
            self._rested_at = self._now() + REST_SECONDS
        tries = self._tries(place) + 1
        if again and tries < _TRIES:
            self._owe(place, tries, REST_SECONDS * _FACTOR ** (tries - 1))
        else:
            self._owed.pop(place, None)

    def passed_over(self, place: Place) -> None:
        """Note that the model was not asked because it rests; that is no try."""
        self._owe(place, self._tries(place), REST_SECONDS)

    def due(self) -> list[Place]:
        """Return the directories to try now, longest owed first; each is returned once per try."""
        if self.resting:
            return []
        now = self._now()
        due = [place for place, owed in self._owed.items() if owed.at <= now]
        due = due[: 1 if self.doubtful else _AT_ONCE]
        for place in due:
            self._owed[place] = _Owed(self._owed[place].tries, math.inf)
        return due

    def _tries(self, place: Place) -> int:
        owed = self._owed.get(place)
        return owed.tries if owed else 0

    def _owe(self, place: Place, tries: int, seconds: float) -> None:
        self._owed.pop(place, None)  # to the end of the line
        if len(self._owed) == _MOST:
            oldest = next(iter(self._owed))
            if self._owed[oldest].at == math.inf:  # tried, and never heard of again: it was removed
                del self._owed[oldest]
        if len(self._owed) < _MOST:
            self._owed[place] = _Owed(tries, self._now() + seconds)
