"""What travels with a request: its id, its start."""

import re
import time
from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_SANE_ID = re.compile(r"[A-Za-z0-9._:-]{1,64}")


class RequestFrame:
    """Outermost ASGI layer: names every request and says how long its answer took."""

    def __init__(self, app: ASGIApp, new_id: Callable[[], str]) -> None:
        self.app = app
        self.new_id = new_id

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve with `X-Request-ID` (the caller's own if it is sane) and `X-Process-Time` in seconds."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        sent = header_of(scope, b"x-request-id")
        request_id = sent if _SANE_ID.fullmatch(sent) else self.new_id()
        started = time.perf_counter()
        scope.setdefault("state", {}).update(request_id=request_id, started=started)

        async def named(message: Message) -> None:
            if message["type"] == "http.response.start":
                spent = f"{time.perf_counter() - started:.6f}"
                own = [(b"x-request-id", request_id.encode()), (b"x-process-time", spent.encode())]
                message["headers"] = [*message.get("headers", ()), *own]
            await send(message)

        await self.app(scope, receive, named)


def header_of(scope: Scope, name: bytes) -> str:
    """Return the first header of a name (in lower case), empty when there is none."""
    for known, value in scope["headers"]:
        if known == name:
            return str(value, "latin-1")
    return ""


def request_id_of(scope: Scope) -> str:
    """Return the id that `RequestFrame` gave the request."""
    return str(scope.get("state", {}).get("request_id", "-"))
