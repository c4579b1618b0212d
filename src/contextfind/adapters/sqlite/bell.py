"""Wakes the coroutines that wait for a log position."""

import asyncio
import threading
from dataclasses import dataclass

from contextfind.domain.errors import UnavailableError


@dataclass(frozen=True, slots=True, eq=False)
class _Waiter:
    position: int
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[None]


class Bell:
    """Knows the log position; rung from the writer's thread, heard on any event loop."""

    def __init__(self, position: int) -> None:
        self._position = position
        self._waiters: list[_Waiter] = []
        self._lock = threading.Lock()
        self._closed = False

    @property
    def position(self) -> int:
        """The position of the last committed log entry."""
        return self._position

    async def beyond(self, position: int) -> None:
        """Return as soon as the log stands beyond `position`.

        Raises:
            UnavailableError: the store was closed meanwhile.

        """
        loop = asyncio.get_running_loop()
        waiter = _Waiter(position, loop, loop.create_future())
        with self._lock:
            if self._position > position:
                return
            self._waiters.append(waiter)
            if self._closed:
                _silence(waiter.future)
        try:
            await waiter.future
        finally:
            with self._lock:
                self._waiters.remove(waiter)

    def ring(self, position: int) -> None:
        """Note the new position and wake whoever waited for it."""
        with self._lock:
            self._position = position
            for waiter in self._waiters:
                if waiter.position < position:
                    waiter.loop.call_soon_threadsafe(_wake, waiter.future)

    def close(self) -> None:
        """Let nobody wait any longer."""
        with self._lock:
            self._closed = True
            for waiter in self._waiters:
                waiter.loop.call_soon_threadsafe(_silence, waiter.future)


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _silence(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_exception(UnavailableError("the store is closed"))
