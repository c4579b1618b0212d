"""/mcp: where agents find tools. What answers there is given from outside, and fetched when it is asked for.

Its package takes half a second and 27 MB, which most servers never need.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from contextfind.domain.errors import UnavailableError, UnimplementedError
from contextfind.server.limits import counted
from contextfind.server.lodging import Lodging

TOOLS = "/mcp"
HOW_TO_HAVE = "pip install 'contextfind[mcp]'"
_OPENING_SECONDS = 20.0  # for half a second's work, on a machine that has other things to do

ToolOpener = Callable[[ASGIApp], AbstractAsyncContextManager[ASGIApp]]
"""From the whole application to what answers at /mcp."""


class Toolroom:
    """Opens the tools when they are first asked for; one task opens and closes them.

    open_tools: None where they are not installed.
    """

    def __init__(self, open_tools: ToolOpener | None) -> None:
        self._open_tools = open_tools
        self._wanted = asyncio.Event()
        self._lodging: Lodging[ASGIApp] = Lodging(f"the tools of {TOOLS}")

    @asynccontextmanager
    async def held_open(self, app: ASGIApp) -> AsyncIterator[None]:
        """Let the tools be asked for while inside."""
        open_tools = self._open_tools
        if open_tools is None:
            yield
            return

        @asynccontextmanager
        async def when_wanted() -> AsyncIterator[ASGIApp]:
            await self._wanted.wait()
            async with open_tools(counted(app)) as tools:
                yield tools

        async with self._lodging.held_open(when_wanted):
            yield

    async def tools(self) -> ASGIApp:
        """Return what answers at /mcp.

        Raises:
            UnimplementedError: it is not installed.
            UnavailableError: it could not be loaded, or not in time.

        """
        if self._open_tools is None:
            raise UnimplementedError(
                f"the tools of {TOOLS} are not installed here: {HOW_TO_HAVE}, and start the server again"
            )
        self._wanted.set()
        if self._lodging.guest is None and not await self._lodging.wait(_OPENING_SECONDS):
            raise UnavailableError("the tools are still being loaded", {"retryable": True})
        if self._lodging.guest is None:
            raise UnavailableError("the tools could not be loaded; the server's log says why")
        return self._lodging.guest


class _Counter:
    """Where requests to /mcp arrive; it keeps nothing of an app."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the tools answer.

        Without a seat: what a tool asks of this server has one, and must not wait for this.
        """
        room: Toolroom = scope["app"].state.toolroom
        tools = await room.tools()
        scope["state"]["seat"].leave()
        await tools(scope, receive, send)


ROUTES = [Route(path, _Counter(), methods=["POST"]) for path in (TOOLS, f"{TOOLS}/")]
"""POST alone: nothing is kept between requests, so there is no stream to GET and no session to DELETE."""
