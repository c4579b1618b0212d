"""A beat that wakes whoever waits for progress."""

import asyncio


class Pulse:
    """Many may wait for the next beat; a beat wakes all of them. Use from one event loop.

    Who looks at something first and waits then must take `beats` before looking, or misses a beat in between.
    """

    def __init__(self) -> None:
        self._next = asyncio.Event()
        self.beats = 0

    def beat(self) -> None:
        """Wake everybody who waits."""
        self.beats += 1
        self._next.set()
        self._next = asyncio.Event()

    async def wait(
        self,
        timeout: float | None,  # noqa: ASYNC109 - a bound, not a cancel scope
        beats: int,
    ) -> bool:
        """Return true as soon as there were more than `beats`, false after `timeout` seconds without."""
        if self.beats != beats:
            return True
        try:
            async with asyncio.timeout(timeout):  # wait_for may swallow a cancel beside a beat
                await self._next.wait()
        except TimeoutError:
            return False
        return True
