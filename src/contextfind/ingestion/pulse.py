"""A beat that wakes whoever waits for progress."""

import asyncio


class Pulse:
    """Many may wait for the next beat; a beat wakes all of them. Use from one event loop."""

    def __init__(self) -> None:
        self._next = asyncio.Event()

    def beat(self) -> None:
        """Wake everybody who waits."""
        self._next.set()
        self._next = asyncio.Event()

    async def wait(self, timeout: float | None) -> bool:  # noqa: ASYNC109 - a bound, not a cancel scope
        """Return true at the next beat, false when `timeout` seconds passed without one."""
        try:
            async with asyncio.timeout(timeout):  # wait_for may swallow a cancel beside a beat
                await self._next.wait()
        except TimeoutError:
            return False
        return True
