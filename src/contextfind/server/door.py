"""The way into the house: opened with the server, closed with it, never in a hurry."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TypeVar

from contextfind.domain.errors import UnavailableError
from contextfind.server.house import House
from contextfind.server.lodging import Lodging

T = TypeVar("T")
HouseOpener = Callable[[], AbstractAsyncContextManager[House]]


class Door:
    """Holds the house while the server runs.

    The house lives in a task of its own, so that the server can answer GET /health while a slow
    opening goes on, and so that it is opened and closed by the same task.
    """

    def __init__(self, open_house: HouseOpener, patience_seconds: float) -> None:
        self._open_house = open_house
        self._patience = patience_seconds
        self._lodging: Lodging[House] = Lodging("the data")

    @asynccontextmanager
    async def held_open(self, opening_seconds: float) -> AsyncIterator[None]:
        """Open the house, and close it on leaving.

        An opening that fails within `opening_seconds` raises here and stops the start of the server;
        one that takes longer, or waits for a busy database, goes on behind the open doors.
        """
        async with self._lodging.held_open(self._open_house):
            await self._lodging.wait(opening_seconds)
            if self._lodging.fault is not None:
                raise self._lodging.fault
            yield

    async def house(self) -> House:
        """Return the house, waiting a little while it is being opened.

        Raises:
            UnavailableError: not open yet, or it could not be opened.

        """
        if self._lodging.guest is None and not self._lodging.hitch:
            await self._lodging.wait(self._patience)
        if self._lodging.guest is not None:
            return self._lodging.guest
        if self._lodging.fault is not None:
            raise UnavailableError(
                "the data could not be opened; the server's log says why", {"retryable": False}
            )
        raise UnavailableError(
            self._lodging.hitch or "the data is still being opened", {"retryable": True}
        )

    async def asked(self, ask: Callable[[House], Awaitable[T]], seconds: float) -> T:
        """Return what the house says about itself; it is waited for as long as a probe waits, and not to be opened.

        Raises:
            UnavailableError: not open, silent for so many seconds, or what it says itself: one line each.

        """
        if self.state != "ok":
            raise UnavailableError(self.state, {"retryable": True})
        try:
            async with asyncio.timeout(seconds):
                return await ask(await self.house())
        except TimeoutError:
            raise UnavailableError(f"no answer within {seconds:g} s", {"retryable": True}) from None

    @property
    def state(self) -> str:
        """`ok`, or one line of why nobody can come in."""
        if self._lodging.guest is not None:
            return "ok"
        if self._lodging.fault is None:
            return self._lodging.hitch or "opening"
        return "could not be opened; see the server's log"
