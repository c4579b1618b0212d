"""Rounds of traffic, each ended by kill -9 at a random moment; the next start is held to what was promised."""

import random
import signal
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.crash.crowd import Crowd
from tests.crash.program import ForkedServer

# the index is written and bodies are swept in every pause of the traffic
IDLE = {"CONTEXTFIND_STORAGE__IDLE_SECONDS": "0.1", "CONTEXTFIND_LOG__LEVEL": "WARNING"}
MOMENTS = ("traffic", "pause", "stop", "start", "resuming")
_WEIGHTS = (76, 8, 8, 4, 4)
# until the kill, after the start or after some answers: a step of housekeeping, of a stop, of a start, of a request
_MOST_SECONDS = {"traffic": 0.03, "pause": 0.6, "stop": 0.3, "start": 0.3}
_REINDEXED = 0.15  # share of rounds in which the index is built anew meanwhile
_MOST_ANSWERS = 40  # in a round, before the kill


@dataclass(slots=True)
class Toll:
    """What came of the rounds so far.

    moments: in which the server was killed. reindexed: rounds in which the index was built anew meanwhile.
    open: by kind, requests that had no answer then.
    """

    rounds: int = 0
    acknowledged: int = 0
    reindexed: int = 0
    moments: Counter[str] = field(default_factory=Counter)
    open: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    def __str__(self) -> str:
        moments = ", ".join(f"{name} {count}" for name, count in self.moments.most_common())
        kinds = ", ".join(f"{name} {count}" for name, count in self.open.most_common())
        return (
            f"{self.rounds} rounds, {self.acknowledged} operations acknowledged, none lost; "
            f"killed during {moments}; {self.reindexed} times the index was being built anew; "
            f"{self.open.total()} requests had no answer then: {kinds}; {self.seconds:.0f} s"
        )


class Rounds:
    """One data directory that is killed again and again; the seed says who does what and when it ends."""

    def __init__(self, data: Path, seed: int) -> None:
        self._data = data
        self._rng = random.Random(seed)  # noqa: S311 - no secrets
        self._crowd = Crowd(seed)
        self._began = time.monotonic()
        self.toll = Toll()

    def run(self) -> None:
        """Start, check, let the clients work, and kill.

        Raises:
            BrokenPromiseError: with a line per promise, and what the server has printed.

        """
        moment = self._rng.choices(MOMENTS, _WEIGHTS)[0]
        with ForkedServer(self._data) as server:
            server.start(IDLE)
            if moment == "start":
                self._idle(_MOST_SECONDS[moment])
            else:
                server.wait_healthy()
                self._meet(server, moment)
            server.kill()
        self.toll.rounds += 1
        self.toll.moments[moment] += 1

    def finish(self) -> None:
        """Start once more, check, and stop in peace."""
        with ForkedServer(self._data) as server:
            server.start(IDLE).wait_healthy()
            self._crowd.check(server)
            assert server.stop() == 0, server.output()
        self.toll.seconds = time.monotonic() - self._began

    def _meet(self, server: ForkedServer, moment: str) -> None:
        if moment == "resuming":
            self._crowd.check_at_once(server)
            return
        self._crowd.check(server)
        if self._rng.random() < _REINDEXED:
            server.call("POST", "/api/v1/content/reindex", json={})
            self.toll.reindexed += 1
        with self._crowd.at_work(server, self._rng.randint(1, _MOST_ANSWERS)) as pause:
            if moment != "traffic":
                pause.set()
            if moment == "stop":
                server.tell(signal.SIGTERM)
            self._idle(_MOST_SECONDS[moment])
            server.kill()
        self.toll.acknowledged = self._crowd.answers
        self.toll.open.update(operation.kind for operation in self._crowd.open)

    def _idle(self, longest: float) -> None:
        """Wait until some moment within so many seconds."""
        time.sleep(self._rng.uniform(0.0, longest))  # noqa: TID251 - whatever it is doing then
