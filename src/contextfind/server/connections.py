"""Connections of callers that are slow, on purpose or not: time for all, endless time for none."""

import asyncio
from typing import ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle


class PatientConnection(H11Protocol):
    """A connection that must send the head of a request in time, and take its answer in time.

    The body of a request has a time of its own (`server/limits`). When there are too many connections,
    one on which nothing is answered makes room for the newest.
    """

    head_seconds: ClassVar[float] = 10.0  # a head is one packet; whoever needs longer holds a place
    look_seconds: ClassVar[float] = 20.0  # between two looks at an answer that is not taken
    least_taken: ClassVar[int] = 20 * 1024  # bytes between two looks: 1 kB a second
    most: ClassVar[int] = 500  # half of the 1,024 files that a process may usually open

    _head_due: asyncio.TimerHandle | None = None
    _next_look: asyncio.TimerHandle | None = None
    _left = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn
        """Begin to wait for the first head."""
        super().connection_made(transport)
        self._head_due = self.loop.call_later(self.head_seconds, self._hurry)
        if len(self.connections) > self.most:
            self._make_room()

    def data_received(self, data: bytes) -> None:
        """Take what has come; what is no whole head yet has to become one in time."""
        super().data_received(data)
        if self._busy:
            self._end_wait()
        elif self._head_due is None:
            self._head_due = self.loop.call_later(self.head_seconds, self._hurry)

    def pause_writing(self) -> None:
        """Look from now on whether the answer is taken at all."""
        super().pause_writing()
        if self._next_look is None:
            self._left = self.transport.get_write_buffer_size()
            self._next_look = self.loop.call_later(self.look_seconds, self._look)

    def resume_writing(self) -> None:
        """Stop looking: nearly all of it was taken."""
        super().resume_writing()
        self._end_look()

    def connection_lost(self, exc: Exception | None) -> None:
        """Leave no timer behind."""
        self._end_wait()
        self._end_look()
        super().connection_lost(exc)

    @property
    def _busy(self) -> bool:
        """Whether a request is being answered, or its body is coming."""
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not cycle.response_complete

    def _hurry(self) -> None:
        self._head_due = None
        if not self._busy:
            self.transport.close()

    def _look(self) -> None:
        left = self.transport.get_write_buffer_size()
        if self._left - left < self.least_taken:
            self.transport.abort()
            return
        self._left = left
        self._next_look = self.loop.call_later(self.look_seconds, self._look)

    def _make_room(self) -> None:
        """Cut off one on which nothing is answered, even one whose last answer is not taken; else this."""
        others = (one for one in self.connections if isinstance(one, PatientConnection))
        idle = (one for one in others if one is not self and not one._busy)  # noqa: SLF001 - of our kind
        leaving = next(idle, self)
        self.connections.discard(leaving)  # not taken for the next newcomer, too
        leaving.transport.abort()

    def _end_wait(self) -> None:
        if self._head_due is not None:
            self._head_due.cancel()
            self._head_due = None

    def _end_look(self) -> None:
        if self._next_look is not None:
            self._next_look.cancel()
            self._next_look = None
