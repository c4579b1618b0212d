"""Which blobs were put lately: no record names them yet, and yet they are wanted."""

import threading
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

_KEY_DIGITS = 16
# Seconds from the end of a put to the moment when the commit that names it is handed in. That is the next thing its
# writer does, so it is milliseconds; a minute is for a machine that is stuck.
_MEMORY = 60.0


def key_of(digest: str) -> int:
    """Return the first 16 hex digits as a number."""
    return int(digest[:_KEY_DIGITS], 16)


class Newcomers:
    """Remembers what was put within the last minute, and between `hold` and `release`; from any thread.

    timer: seconds, never backwards.
    """

    def __init__(self, timer: Callable[[], float]) -> None:
        self._timer = timer
        self._lock = threading.Lock()
        self._young: array[int] = array("Q")  # eight bytes each: every blob comes by here
        self._old: array[int] = array("Q")
        self._turned = timer()
        self._held: set[int] | None = None

    def note(self, digests: Sequence[str]) -> None:
        """Remember them; waits while absent files are being removed."""
        keys = [key_of(digest) for digest in digests]
        with self._lock:
            self._turn()
            self._young.extend(keys)
            if self._held is not None:
                self._held.update(keys)

    def hold(self) -> None:
        """Forget nothing of what is remembered now or noted from now on."""
        with self._lock:
            self._turn()
            self._held = {*self._young, *self._old}

    def release(self) -> None:
        """Forget again."""
        with self._lock:
            self._held = None

    @contextmanager
    def absent(self, digests: Sequence[str]) -> Iterator[Sequence[str]]:
        """Give those that are not remembered; nobody can note any before the context ends.

        None when nothing is held: then nobody can say.
        """
        with self._lock:
            held = self._held
            yield [] if held is None else [one for one in digests if key_of(one) not in held]

    def _turn(self) -> None:
        """Forget the older half once the younger one is a minute old."""
        if self._timer() - self._turned >= _MEMORY:
            self._young, self._old = array("Q"), self._young
            self._turned = self._timer()
