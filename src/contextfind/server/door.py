"""The way into the house: opened with the server, closed with it, never in a hurry."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from contextfind.domain.errors import UnavailableError
from contextfind.server.house import House

log = logging.getLogger(__name__)

HouseOpener = Callable[[], AbstractAsyncContextManager[House]]


class Door:
    """Holds the house while the server runs.

    The house lives in a task of its own, so that the server can answer GET /health while a slow
    opening goes on, and so that it is opened and closed by the same task.
    """

    def __init__(self, open_house: HouseOpener, patience_seconds: float) -> None:
        self._open_house = open_house
        self._patience = patience_seconds
        self._house: House | None = None
        self._fault: BaseException | None = None
        self._settled = asyncio.Event()  # opened, or failed to
        self._leaving = asyncio.Event()

    @asynccontextmanager
    async def held_open(self, opening_seconds: float) -> AsyncIterator[None]:
        """Open the house, and close it on leaving.

        An opening that fails within `opening_seconds` raises here and stops the start of the server;
        one that takes longer goes on behind the open doors.
        """
        task = asyncio.create_task(self._live(), name="house")
        task.add_done_callback(self._ended)
        try:
            await self._wait(opening_seconds)
            if self._fault is not None:
                raise self._fault
            yield
        finally:
            self._leaving.set()
            if not self._settled.is_set():
                task.cancel()
            await asyncio.wait([task])

    async def house(self) -> House:
        """Return the house, waiting a little while it is being opened.

        Raises:
            UnavailableError: not open yet, or it could not be opened.

        """
        if self._house is None:
            await self._wait(self._patience)
        if self._house is not None:
            return self._house
        if self._fault is not None:
            raise UnavailableError(
                "the data could not be opened; the server's log says why", {"retryable": False}
            )
        raise UnavailableError("the data is still being opened", {"retryable": True})

    @property
    def state(self) -> str:
        """`ok`, or one line of why nobody can come in."""
        if self._house is not None:
            return "ok"
        return "opening" if self._fault is None else "could not be opened; see the server's log"

    async def _wait(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._settled.wait()
        except TimeoutError:
            return

    async def _live(self) -> None:
        async with self._open_house() as house:
            self._house = house
            self._settled.set()
            await self._leaving.wait()
            self._house = None

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._house = None
        self._fault = None if task.cancelled() else task.exception()
        if self._fault is not None:
            log.error("the data could not be opened or closed", exc_info=self._fault)
        self._settled.set()
