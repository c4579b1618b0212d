"""Workers behind the requests, begun again when something ends them that nobody foresaw."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine

_log = logging.getLogger(__name__)

# Seconds until a worker begins again, doubled each time: what fails always shall neither fill the log nor take a core.
# What has worked for the longest of them is taken to be well.
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0

Work = Callable[[], Coroutine[None, None, None]]


class Shift:
    """One worker, at work until its task is cancelled or it has done all there was.

    work: begins it; again after each failure, so it must hold nothing that a failure leaves behind.
    """

    def __init__(
        self, name: str, work: Work, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        self._name = name
        self._work = work
        self._sleep = sleep
        self._resting = False
        self.task = asyncio.create_task(self._keep_working(), name=name)

    @property
    def standing(self) -> str:
        """`ok`, or one line of why nothing is done."""
        if self._resting:
            return "stopped; the log says why, and it begins again within a minute"
        return "stopped; the log says why" if self.task.done() else "ok"

    async def _keep_working(self) -> None:
        loop, pause = asyncio.get_running_loop(), _FIRST_PAUSE
        while True:
            begun = loop.time()
            (end,) = await asyncio.gather(self._work(), return_exceptions=True)
            if end is None:
                return
            if loop.time() - begun > _LONGEST_PAUSE:
                pause = _FIRST_PAUSE
            _log.error(
                "worker %s stopped; it begins again in %g s", self._name, pause, exc_info=end
            )
            self._resting = True
            await self._sleep(pause)
            self._resting = False
            pause = min(2 * pause, _LONGEST_PAUSE)
