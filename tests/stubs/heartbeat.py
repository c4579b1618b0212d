"""The real program with a heartbeat in its event loop: `python -m tests.stubs.heartbeat serve …`.

At its end it writes, as JSON into the file that HEARTBEAT_FILE names, how often it beat and its longest waits: each as
seconds by the clock and as seconds of work of this process meanwhile. On a machine that is busy with something else the
clock tells about the machine; the smaller of both is what the process does to itself.
"""

import asyncio
import atexit
import gc
import heapq
import json
import os
import sys
import time
from pathlib import Path

from contextfind.cli.main import main

_EVERY = 0.005  # seconds
_KEPT = 200  # of the longest waits


class Heart:
    """Beats in a loop from its first step on."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.beats = 0
        self.waits: list[tuple[float, float]] = []
        self._loop = loop
        self._due = self._worked = 0.0
        self._up = False
        loop.call_soon(self._begin)

    def _begin(self) -> None:
        self._up = gc.get_freeze_count() > 0  # before that it is starting, and nobody waits
        self._due = time.perf_counter() + _EVERY
        self._worked = time.process_time()
        self._loop.call_later(_EVERY, self._beat)

    def _beat(self) -> None:
        wait = (time.perf_counter() - self._due, time.process_time() - self._worked)
        if self._up:
            self.beats += 1
            (heapq.heappush if len(self.waits) < _KEPT else heapq.heappushpop)(self.waits, wait)
        self._begin()


class WithHeart(asyncio.DefaultEventLoopPolicy):
    """Gives loops that beat."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self._file = file
        self._hearts: list[Heart] = []
        atexit.register(self._write)

    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        """Return a new loop with a heart."""
        loop = super().new_event_loop()
        self._hearts.append(Heart(loop))
        return loop

    def _write(self) -> None:
        waits = [wait for heart in self._hearts for wait in heart.waits]
        beats = sum(heart.beats for heart in self._hearts)
        told = {"beats": beats, "waits": sorted(waits, reverse=True)}
        self._file.write_text(json.dumps(told), encoding="utf-8")


if __name__ == "__main__":
    sys.argv[0] = "contextfind"
    asyncio.set_event_loop_policy(WithHeart(Path(os.environ["HEARTBEAT_FILE"])))
    main()
