"""The tools at /mcp of a server: each call becomes requests to the same application, with the caller's key.

So a tool can do what the caller could do over HTTP and nothing else; keys, limits, bounds and refusals
are those of the routes.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import Request
from starlette.types import ASGIApp

from contextfind.ports import Clock
from contextfind.server.context import request_id_of
from contextfind.toolbox.service import Context, client_inside, service_of
from contextfind.toolbox.tool import Desk

_CREDENTIALS = (b"x-api-key", b"authorization")


@asynccontextmanager
async def opened(app: ASGIApp, clock: Clock, max_body_bytes: int) -> AsyncIterator[ASGIApp]:
    """Give what answers requests to /mcp, without sessions: any request, and any server, will do.

    app: the whole application, which the tools ask.
    """

    @asynccontextmanager
    async def desks(context: Context) -> AsyncIterator[Desk]:
        transport = _Inside(app, _request_of(context))
        async with client_inside(transport) as client:
            yield Desk(client, local=False, today=lambda: clock().date())

    spoken = StreamableHTTPSessionManager(
        service_of(desks), json_response=True, stateless=True, max_request_body_size=max_body_bytes
    )
    async with spoken.run():
        yield spoken.handle_request


def _request_of(context: Context) -> Request:
    asked = context.request
    if not isinstance(asked, Request):
        raise TypeError(f"a call over HTTP came with {asked!r} as its request")
    return asked


class _Inside(httpx.AsyncBaseTransport):
    """Into an application of this process, with the credentials and the id of the request it is for."""

    def __init__(self, app: ASGIApp, asked: Request) -> None:
        self._way = httpx.ASGITransport(app, raise_app_exceptions=False)
        credentials = [pair for pair in asked.headers.raw if pair[0] in _CREDENTIALS]
        name = (b"x-request-id", request_id_of(asked.scope).encode())
        self._passed = [*credentials, name]

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Return the application's answer."""
        request.headers = httpx.Headers([*request.headers.raw, *self._passed])
        return await self._way.handle_async_request(request)
