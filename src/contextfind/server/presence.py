"""How long somebody waits for an answer: until the deadline, and as long as the caller is there."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from starlette.requests import Request
from starlette.types import Receive

from contextfind.domain.errors import DeadlineExceededError

_SOON = 0.05  # seconds; most answers are there by then, and a watch is a task that costs as much as routing


def while_awaited(request: Request, deadline: float | None) -> AbstractAsyncContextManager[None]:
    """Bound what is awaited inside: see `while_present`."""
    return while_present(request.receive, deadline)


@asynccontextmanager
async def while_present(receive: Receive, deadline: float | None) -> AsyncIterator[None]:
    """Bound what is awaited inside: it is cancelled when nobody waits for it any more.

    deadline: on the clock of the event loop; None where what is awaited ends by itself.
    For what only reads: a write that was begun is better finished than left at any of its steps. The
    body of the request must have been read. Who hangs up at once is noticed a moment later.

    Raises:
        DeadlineExceededError: the deadline has passed, or the caller has hung up; then nobody reads
            the answer.

    """
    bound = asyncio.timeout_at(deadline)
    try:
        async with bound:
            watch = _Watch(receive, bound)
            try:
                yield
            finally:
                await watch.end()
    except TimeoutError:
        if not bound.expired():
            raise
        raise DeadlineExceededError("no answer within the time the server allows") from None


class _Watch:
    """Looks for the caller, from soon on, and ends the time when it is gone."""

    def __init__(self, receive: Receive, bound: asyncio.Timeout) -> None:
        self._receive = receive
        self._bound = bound
        self._task: asyncio.Task[None] | None = None
        self._loop = asyncio.get_running_loop()
        self._start = self._loop.call_later(_SOON, self._begin)

    async def end(self) -> None:
        """Return when nothing of it is left."""
        self._start.cancel()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    def _begin(self) -> None:
        self._task = self._loop.create_task(self._until_left())

    async def _until_left(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._bound.reschedule(self._loop.time())
