"""Requests first: work behind them goes on in the gaps that they leave, and never stands still."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

_PATIENCE = 0.05  # seconds at the longest before each step; a step of an ingest takes about as long
_REST = 0.02  # seconds between two steps while requests come one after the other: about as long as a step
_LATELY = 0.2  # seconds after an answer for which more requests are expected


class Courtesy:
    """Knows whether somebody is being answered; use from one event loop."""

    def __init__(self, patience: float = _PATIENCE) -> None:
        self._patience = patience
        self._guests = 0
        self._expected = 0.0  # until when, by the loop's clock
        self._alone = asyncio.Event()
        self._alone.set()

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Have others give way while somebody is answered."""
        self._guests += 1
        self._alone.clear()
        try:
            yield
        finally:
            self._guests -= 1
            self._expected = asyncio.get_running_loop().time() + _LATELY
            if self._guests == 0:
                self._alone.set()

    async def give_way(self) -> None:
        """Return when nobody is being answered, or after the patience; after a rest where somebody lately was.

        At once when nobody was: an ingest alone in the house is as fast as it can be.
        """
        if asyncio.get_running_loop().time() < self._expected:
            await asyncio.sleep(_REST)
        if self._alone.is_set():
            return
        try:
            async with asyncio.timeout(self._patience):
                await self._alone.wait()
        except TimeoutError:
            return
