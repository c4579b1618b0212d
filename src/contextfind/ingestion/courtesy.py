"""Requests first: work behind them goes on in the gaps that they leave, and never stands still."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

_PATIENCE = 0.05  # seconds at the longest before each step; a step of an ingest takes about as long
_LATELY = 0.2  # seconds after an answer for which more requests are expected


class Courtesy:
    """Knows whether somebody is being answered; use from one event loop."""

    def __init__(self, patience: float = _PATIENCE) -> None:
        self._patience = patience
        self._guests = 0
        self._expected = 0.0  # until when, by the loop's clock
        self._parting = asyncio.Event()  # never stays set: only whoever waits learns of it
        self._turn = asyncio.Lock()

    @property
    def has_guests(self) -> bool:
        """Whether somebody is being answered, or was lately: then steps should be short."""
        return self._guests > 0 or asyncio.get_running_loop().time() < self._expected

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Have others give way while somebody is answered."""
        self._guests += 1
        try:
            yield
        finally:
            self._guests -= 1
            self._expected = asyncio.get_running_loop().time() + _LATELY
            if self._guests == 0:
                self._parting.set()
                self._parting.clear()

    async def give_way(self) -> None:
        """Return at once when nobody was answered lately, else when the last one has been, or after the patience.

        An ingest alone in the house is as fast as it can be. Beside requests its steps go one by one, each into
        the gap that begins with an answer: whoever reads that needs a moment to ask again.
        """
        async with self._turn:
            if not self.has_guests:
                return
            try:
                async with asyncio.timeout(self._patience):
                    await self._parting.wait()
            except TimeoutError:
                return
