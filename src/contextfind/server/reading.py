"""Routes that only read: they end when their time is over, or their caller has hung up."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

from contextfind.server.premises import premises_of
from contextfind.server.presence import while_awaited


class BoundedReading(APIRoute):
    """A route that is bounded where it is a GET; what others have begun to write is finished."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what answers a request."""
        usual = super().get_route_handler()
        if "GET" not in (self.methods or ()):
            return usual

        async def handle(request: Request) -> Response:
            seconds = premises_of(request).rules.answer_seconds
            async with while_awaited(request, asyncio.get_running_loop().time() + seconds):
                return await usual(request)

        return handle
