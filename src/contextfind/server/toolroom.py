"""/mcp: where agents find tools. What answers there is given from outside, and fetched when it is asked for.

Its package takes half a second and 27 MB, which most servers never need.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from contextfind.domain.errors import UnavailableError, UnimplementedError

TOOLS = "/mcp"
HOW_TO_HAVE = "pip install 'contextfind[mcp]'"
_OPENING_SECONDS = 20.0  # for half a second's work, on a machine that has other things to do

ToolOpener = Callable[[ASGIApp], AbstractAsyncContextManager[ASGIApp]]
"""From the whole application to what answers at /mcp."""

log = logging.getLogger(__name__)


class Toolroom:
    """Opens the tools when they are first asked for; one task opens and closes them.

    open_tools: None where they are not installed.
    """

    def __init__(self, open_tools: ToolOpener | None) -> None:
        self._open_tools = open_tools
        self._wanted = asyncio.Event()
        self._settled = asyncio.Event()  # opened, or failed to
        self._leaving = asyncio.Event()
        self._tools: ASGIApp | None = None

    @asynccontextmanager
    async def held_open(self, app: ASGIApp) -> AsyncIterator[None]:
        """Let the tools be asked for while inside."""
        if self._open_tools is None:
            yield
            return
        task = asyncio.create_task(self._live(self._open_tools, app), name="tools")
        task.add_done_callback(self._ended)
        try:
            yield
        finally:
            self._leaving.set()
            if not self._settled.is_set():
                task.cancel()
            await asyncio.wait([task])

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
        if self._tools is None:
            await self._opened()
        if self._tools is None:
            raise UnavailableError("the tools could not be loaded; the server's log says why")
        return self._tools

    async def _opened(self) -> None:
        try:
            async with asyncio.timeout(_OPENING_SECONDS):
                await self._settled.wait()
        except TimeoutError:
            raise UnavailableError(
                "the tools are still being loaded", {"retryable": True}
            ) from None

    async def _live(self, open_tools: ToolOpener, app: ASGIApp) -> None:
        await self._wanted.wait()
        async with open_tools(app) as tools:
            self._tools = tools
            self._settled.set()
            await self._leaving.wait()
            self._tools = None

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tools = None
        fault = None if task.cancelled() else task.exception()
        if fault is not None:
            log.error("the tools of %s could not be loaded or closed", TOOLS, exc_info=fault)
        self._settled.set()


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
