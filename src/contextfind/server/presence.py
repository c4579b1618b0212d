"""How long somebody waits for an answer: until the deadline, and as long as the caller is there."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.requests import Request
from starlette.types import Receive

from contextfind.domain.errors import DeadlineExceededError


@asynccontextmanager
async def while_awaited(request: Request, deadline: float | None) -> AsyncIterator[None]:
    """Bound what is awaited inside: it is cancelled when nobody waits for it any more.

    deadline: on the clock of the event loop; None where what is awaited ends by itself.
    For what only reads: a write that was begun is better finished than left at any of its steps. The
    body of the request must have been read.

    Raises:
        DeadlineExceededError: the deadline has passed, or the caller has hung up; then nobody reads
            the answer.

    """
    bound = asyncio.timeout_at(deadline)
    try:
        async with bound:
            watch = asyncio.create_task(_until_left(request.receive, bound))
            try:
                yield
            finally:
                watch.cancel()
                await asyncio.wait([watch])
    except TimeoutError:
        if not bound.expired():
            raise
        raise DeadlineExceededError("no answer within the time the server allows") from None


async def _until_left(receive: Receive, bound: asyncio.Timeout) -> None:
    """End the time as soon as the caller hangs up."""
    while (await receive())["type"] != "http.disconnect":
        pass
    bound.reschedule(asyncio.get_running_loop().time())
