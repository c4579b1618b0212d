"""Which blobs are being put: no record names them yet, and yet they are wanted."""

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from contextfind.ports.housekeeping import key_of


class Newcomers:
    """Remembers what is being put, and between `hold` and `release` all that came; from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._coming: Counter[int] = Counter()
        self._held: set[int] | None = None

    @contextmanager
    def coming(self, digests: Sequence[str]) -> Iterator[None]:
        """Remember them until the context ends; waits while absent files are being removed."""
        keys = [key_of(digest) for digest in digests]
        with self._lock:
            self._coming.update(keys)
            if self._held is not None:
                self._held.update(keys)
        try:
            yield
        finally:
            with self._lock:
                self._coming -= Counter(keys)  # what is left of it is above nothing

    def hold(self) -> None:
        """Forget nothing of what is coming now or from now on."""
        with self._lock:
            self._held = set(self._coming)

    def release(self) -> None:
        """Forget again."""
        with self._lock:
            self._held = None

    @contextmanager
    def absent(self, digests: Sequence[str]) -> Iterator[Sequence[str]]:
        """Give those that are not remembered; nothing can come before the context ends.

        None when nothing is held: then nobody can say.
        """
        with self._lock:
            held = self._held
            yield [] if held is None else [one for one in digests if key_of(one) not in held]
