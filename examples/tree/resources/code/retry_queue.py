"""Work that failed for a passing reason waits here and is tried again, later and later."""

import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass, field

MAX_ATTEMPTS = 5
FIRST_PAUSE = 2.0  # seconds; ATL-409 is usually over by then


@dataclass(order=True)
class Waiting:
    """A scan that waits for its next attempt at `due`."""

    due: float
    barcode: str = field(compare=False)
    attempts: int = field(default=0, compare=False)


class RetryQueue:
    """A heap of waiting scans, the next due one on top."""

    def __init__(self, send: Callable[[str], bool], jitter: random.Random) -> None:
        self._send, self._jitter = send, jitter
        self._heap: list[Waiting] = []

    def put(self, barcode: str, now: float) -> None:
        """Take a scan whose first attempt failed."""
        heapq.heappush(self._heap, Waiting(now + FIRST_PAUSE, barcode, 1))

    def drain_with_backoff(self, now: float) -> list[str]:
        """Send what is due; return the barcodes that were given up after MAX_ATTEMPTS."""
        given_up: list[str] = []
        while self._heap and self._heap[0].due <= now:
            scan = heapq.heappop(self._heap)
            if self._send(scan.barcode):
                continue
            if scan.attempts >= MAX_ATTEMPTS:
                given_up.append(scan.barcode)
                continue
            pause = FIRST_PAUSE * 2**scan.attempts * self._jitter.uniform(0.5, 1.5)
            heapq.heappush(self._heap, Waiting(now + pause, scan.barcode, scan.attempts + 1))
        return given_up
