"""Wakes the coroutines that wait for a log position, whichever process wrote it."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable

import psycopg

from contextfind.adapters.postgres.faults import translated
from contextfind.domain.errors import ContextFindError, UnavailableError

_log = logging.getLogger(__name__)
_LOOK_SECONDS = 1.0  # a message may be lost with its connection: then the position is looked up
_AGAIN_SECONDS = 0.5  # between two attempts to connect

Connect = Callable[[], Awaitable[psycopg.AsyncConnection]]
Keep = Callable[[psycopg.AsyncConnection], Awaitable[None]]


class Bell:
    """Listens on a connection of its own, which is also what tells other processes that this one lives.

    position: where the log stood when it last heard of it. It goes back only with the log itself: when an older state
    of it was put back, or a standby that lacked the last of it took over. keep: see `Presence.keep`.
    lost: told when the connection has broken.
    """

    def __init__(
        self, connect: Connect, channel: str, keep: Keep, lost: Callable[[], None]
    ) -> None:
        self._connect = connect
        self._lost = lost
        self._keep = keep
        self._channel = channel
        self._position = self._highest = 0
        self._moved = asyncio.Event()
        self._times_back = 0  # that the log was found shorter than it had been
        self._closed = False
        self._told = ""
        self._task: asyncio.Task[None] | None = None

    @property
    def position(self) -> int:
        """The last position heard of."""
        return self._position

    @property
    def highest(self) -> int:
        """The highest position ever heard of: above `position` when the log has gone back."""
        return self._highest

    def start(self, position: int) -> None:
        """Listen from now on, the log standing at `position`."""
        self._position = self._highest = position
        self._task = asyncio.create_task(self._listen())

    def ring(self, position: int) -> None:
        """Note a position and wake whoever waited for it."""
        if position > self._position:
            self._note(position)

    async def beyond(self, position: int) -> None:
        """Return as soon as the log stands beyond `position`, or has gone back.

        Raises:
            UnavailableError: the store was closed meanwhile.

        """
        times_back = self._times_back
        while self._position <= position and self._times_back == times_back:
            if self._closed:
                raise UnavailableError("the store is closed")
            await self._moved.wait()

    async def aclose(self) -> None:
        """Let nobody wait any longer."""
        self._closed = True
        self._moved.set()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _listen(self) -> None:
        while True:
            try:
                with translated():
                    await self._hear()
            except ContextFindError as fault:
                self._lost()
                if str(fault) != self._told:
                    self._told = str(fault)
                    _log.warning(
                        "does not hear of other processes' writes, trying again: %s", fault
                    )
            await asyncio.sleep(_AGAIN_SECONDS)

    async def _hear(self) -> None:
        async with await self._connect() as connection:
            await connection.execute(f'LISTEN "{self._channel}"')
            while True:
                await self._keep(connection)
                await self._look(connection)
                self._told = ""
                async for message in connection.notifies(timeout=_LOOK_SECONDS):
                    with contextlib.suppress(ValueError):
                        self.ring(int(message.payload))

    async def _look(self, connection: psycopg.AsyncConnection) -> None:
        known = self._position  # committed before the look, so a log that goes on shows it
        cursor = await connection.execute("SELECT position FROM head")
        row = await cursor.fetchone()
        position = known if row is None else int(row[0])
        if position >= known:
            self.ring(position)
            return
        _log.warning(
            "the log stands at %d and stood at %d before: the database is an older state of itself",
            position,
            known,
        )
        self._times_back += 1
        self._note(position)  # what is committed meanwhile is told

    def _note(self, position: int) -> None:
        self._position = position
        self._highest = max(self._highest, position)
        self._moved.set()
        self._moved = asyncio.Event()
