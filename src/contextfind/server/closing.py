"""The end of a server: what comes now is sent elsewhere, what waits is told to ask again."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from contextfind.domain.errors import UnavailableError
from contextfind.server.envelope import failed

RETRY_SECONDS = (
    2  # about what a restart takes; one of a million files takes longer, and says so itself
)


class Closing:
    """Whether the server has been told to stop; for one event loop."""

    def __init__(self) -> None:
        self.begun = False
        self._waits: set[asyncio.Timeout] = set()

    def begin(self) -> None:
        """Refuse what comes from now on, and end the waits; again is harmless."""
        if self.begun:
            return
        self.begun = True
        for wait in self._waits:
            wait.reschedule(0)

    @asynccontextmanager
    async def ends_wait(self, what_goes_on: str) -> AsyncIterator[None]:
        """Bound what is awaited inside by the life of the server: a wait for work that goes on without it.

        Raises:
            UnavailableError: the server is stopping; it names `what_goes_on`.

        """
        wait = asyncio.timeout(0 if self.begun else None)
        self._waits.add(wait)
        try:
            async with wait:
                yield
        except TimeoutError:
            if not wait.expired():
                raise
            raise stopping(what_goes_on) from None
        finally:
            self._waits.discard(wait)


class Farewell:
    """ASGI layer that lets nobody in any more once the closing has begun, and keeps no connection.

    Who is told that a connection ends does not use it again; one that was merely closed could lose the
    request that its owner is just sending.
    """

    def __init__(self, app: ASGIApp, closing: Closing) -> None:
        self.app = app
        self._closing = closing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def parting(message: Message) -> None:
            if message["type"] == "http.response.start" and self._closing.begun:
                message["headers"] = [*message.get("headers", ()), (b"connection", b"close")]
            await send(message)

        if self._closing.begun:
            await failed(stopping("it is not accepted"))(scope, receive, parting)
        else:
            await self.app(scope, receive, parting)


def stopping(told: str) -> UnavailableError:
    """Return the refusal of a server that stops; told: what becomes of the request."""
    return UnavailableError(
        f"the server is stopping; {told}; ask again in {RETRY_SECONDS} s",
        {"retryable": True, "retry_after_seconds": RETRY_SECONDS},
    )
