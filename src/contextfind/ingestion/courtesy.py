"""Requests first: work behind them goes on in the gaps that they leave, and never stands still."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

_PATIENCE = 0.05  # seconds at the longest before each step; a step of an ingest takes about as long


class Courtesy:
    """Knows whether somebody is being answered; use from one event loop."""

    def __init__(self, patience: float = _PATIENCE) -> None:
        self._patience = patience
        self._guests = 0
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
            if self._guests == 0:
                self._alone.set()

    async def give_way(self) -> None:
        """Return when nobody is being answered, or after the patience: at once when nobody is."""
        if self._alone.is_set():
            return
        try:
            async with asyncio.timeout(self._patience):
                await self._alone.wait()
        except TimeoutError:
            return
