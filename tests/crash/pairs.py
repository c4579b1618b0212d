"""Two servers on one database: one of them is killed again and again, the other is held to what both have promised."""

import random
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from tests.crash.crowd import Crowd
from tests.crash.program import ForkedServer
from tests.crash.rounds import IDLE, Toll

_MOST_ANSWERS = 30  # in a round, before the kill
_MOST_SECONDS = 0.03  # until the kill, after those


class Pairs:
    """One database of two servers; the seed says who does what, and which of them is killed when."""

    def __init__(self, data: Path, environment: Mapping[str, str], seed: int) -> None:
        self._data = data
        self._environment = {**IDLE, **environment}
        self._rng = random.Random(seed)  # noqa: S311 - no secrets
        self._crowd = Crowd(seed)
        self.toll = Toll()

    def run(self, rounds: int) -> None:
        """Start both and go through the rounds.

        Raises:
            BrokenPromiseError: with a line per promise, and what the server has printed.

        """
        began = time.monotonic()
        with ExitStack() as stack:
            pair = [self._started(stack), self._started(stack)]
            for server in pair:
                server.wait_healthy()
            for _ in range(rounds):
                victim = self._rng.randrange(2)
                self._kill_at_work(pair[victim])
                survivor = pair[1 - victim]
                self._crowd.check(survivor)
                pair[victim] = self._started(stack)
                pair[victim].wait_healthy()
                self.toll.rounds += 1
                self.toll.moments["traffic"] += 1
            for server in pair:
                self._crowd.check(server)
                assert server.stop() == 0, server.output()
        self.toll.seconds = time.monotonic() - began

    def _started(self, stack: ExitStack) -> ForkedServer:
        return stack.enter_context(ForkedServer(self._data)).start(self._environment)

    def _kill_at_work(self, victim: ForkedServer) -> None:
        with self._crowd.at_work(victim, self._rng.randint(1, _MOST_ANSWERS)):
            time.sleep(self._rng.uniform(0.0, _MOST_SECONDS))  # noqa: TID251 - whatever it is doing then
            victim.kill()
        self.toll.acknowledged = self._crowd.answers
        self.toll.open.update(operation.kind for operation in self._crowd.open)
