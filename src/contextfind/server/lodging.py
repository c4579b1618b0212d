"""Something that is opened with the server and closed with it, both by one task of its own."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Generic, TypeVar

from contextfind.domain.errors import StoreBusyError

log = logging.getLogger(__name__)

_AGAIN_SECONDS = 1.0  # between two attempts at what cannot be opened yet

T = TypeVar("T")


class Lodging(Generic[T]):
    """What a context manager gives, while the server runs; others may wait for it.

    what: its name in the log. guest: None before it is there, and after. fault: why it is not, or did not end well.
    hitch: why it is not there yet, while that is tried again and again; else empty.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._settled = asyncio.Event()  # opened, or failed to
        self._leaving = asyncio.Event()
        self.guest: T | None = None
        self.fault: BaseException | None = None
        self.hitch = ""

    @asynccontextmanager
    async def held_open(
        self, opened: Callable[[], AbstractAsyncContextManager[T]]
    ) -> AsyncIterator[None]:
        """Open it behind what is done inside, and close it on leaving; an opening under way is cancelled."""
        task = asyncio.create_task(self._live(opened), name=self._what)
        task.add_done_callback(self._ended)
        try:
            yield
        finally:
            self._leaving.set()
            if not self._settled.is_set():
                task.cancel()
            await asyncio.wait([task])

    async def wait(self, seconds: float) -> bool:
        """Return True when it was opened or failed to, False after so long."""
        try:
            async with asyncio.timeout(seconds):
                return await self._settled.wait()
        except TimeoutError:
            return False

    async def _live(self, opened: Callable[[], AbstractAsyncContextManager[T]]) -> None:
        while True:
            try:
                await self._stay(opened)
            except StoreBusyError as busy:
                if self._settled.is_set():  # it was open, and is not closed as it should be
                    raise
                if self.hitch != str(busy):
                    self.hitch = str(busy)
                    log.warning("%s cannot be opened yet, trying again: %s", self._what, busy)
                await asyncio.sleep(_AGAIN_SECONDS)
            else:
                return

    async def _stay(self, opened: Callable[[], AbstractAsyncContextManager[T]]) -> None:
        async with opened() as guest:
            self.guest, self.hitch = guest, ""
            self._settled.set()
            await self._leaving.wait()
            self.guest = None

    def _ended(self, task: asyncio.Task[None]) -> None:
        self.guest = None
        self.fault = None if task.cancelled() else task.exception()
        if self.fault is not None:
            log.error("%s could not be opened or closed", self._what, exc_info=self.fault)
        self._settled.set()
