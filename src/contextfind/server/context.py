"""What travels with a request: its id, its start."""

import re
import time
from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_SANE_ID = re.compile(r"[A-Za-z0-9._:-]{1,64}")

POLICY = b"content-security-policy"
# What browsers are told of every answer: it is what it says it is, it is shown in no frame of a page
# elsewhere, no address of this server is told to others, and no cache keeps what a key was needed for.
_FOR_BROWSERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
)
_NOTHING = (POLICY, b"default-src 'none'; frame-ancestors 'none'")


class RequestFrame:
    """Outermost ASGI layer: what every answer has, the name of its request and how long it took."""

    def __init__(self, app: ASGIApp, new_id: Callable[[], str]) -> None:
        self.app = app
        self.new_id = new_id

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve with `X-Request-ID` (the caller's own if it is sane) and `X-Process-Time` in seconds.

        And with the headers that browsers obey; an answer that has a policy of its own keeps it.
        """
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
                given = message.get("headers", ())
                policy = () if any(name == POLICY for name, _ in given) else (_NOTHING,)
                message["headers"] = [*given, *_FOR_BROWSERS, *policy, *own]
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
