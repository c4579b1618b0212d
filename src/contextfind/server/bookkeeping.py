"""What is noted of every request: a line in the log, and figures for GET /metrics."""

import logging
import time
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass

from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from contextfind.server.context import request_id_of
from contextfind.server.measures import Measures

log = logging.getLogger("contextfind.access")

PROBES = frozenset({"/health", "/ready", "/metrics"})  # asked every few seconds, by machines
NOWHERE = "-"  # the route of a request that came to none
HUNG_UP = 499  # as other servers call it: the caller left before there was an answer

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_FAULTS = 500  # statuses from here on are no fault of the caller


@dataclass(frozen=True, slots=True)
class RequestLine:
    """What is told of a request: never its address as sent, its body or its key.

    route: as it is declared (`/api/v1/tasks/{task_id}`), `-` where it came to none. account, user:
    empty where the key was not asked for or not known. size: bytes of the answer's body.
    """

    request_id: str
    account: str
    user: str
    method: str
    route: str
    status: int
    seconds: float
    size: int

    def __str__(self) -> str:
        """Return the line as people read it."""
        who = f"{self.account}/{self.user}" if self.account or self.user else "-"
        return (
            f"{self.method} {self.route} {self.status} {self.seconds * 1000:.1f} ms "
            f"{self.size} B {who} {self.request_id}"
        )

    def fields(self) -> dict[str, object]:
        """Return the line as programs read it."""
        return {
            "request_id": self.request_id,
            "account": self.account,
            "user": self.user,
            "method": self.method,
            "route": self.route,
            "status": self.status,
            "duration_ms": round(self.seconds * 1000, 3),
            "bytes": self.size,
        }


class Bookkeeping:
    """ASGI layer that notes every request when it has ended, however it ended.

    paths: routes without parameters, by which a request is named that was refused before it came to one.
    """

    def __init__(
        self,
        app: ASGIApp,
        measures: Measures,
        routes: Sequence[BaseRoute],
        timer: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.app = app
        self._measures = measures
        self._paths: Container[str] = {getattr(route, "path", "") for route in routes}
        self._timer = timer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status, size, gone = HUNG_UP, 0, False
        started = self._timer()

        async def heard() -> Message:
            nonlocal gone
            message = await receive()
            gone = gone or message["type"] == "http.disconnect"
            return message

        async def watched(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = HUNG_UP if gone else message["status"]
            else:
                size += len(message.get("body", b""))
            await send(message)

        self._measures.began()
        try:
            await self.app(scope, heard, watched)
        finally:
            self._note(scope, status, self._timer() - started, size)

    def _note(self, scope: Scope, status: int, seconds: float, size: int) -> None:
        method = scope["method"] if scope["method"] in _METHODS else "other"
        route = self._route(scope)
        self._measures.ended(method, route, status, seconds, size)
        level = _level(route, status)
        if not log.isEnabledFor(level):
            return
        identity = scope["state"].get("identity")
        account, user = ("", "") if identity is None else (identity.account, identity.user)
        line = RequestLine(
            request_id_of(scope), account, user, method, route, status, seconds, size
        )
        log.handle(log.makeRecord(log.name, level, "", 0, line, (), None))

    def _route(self, scope: Scope) -> str:
        found = scope.get("route")
        if found is not None:
            return str(found.path)
        path: str = scope["path"]
        return path if path in self._paths else NOWHERE


def _level(route: str, status: int) -> int:
    if status >= _FAULTS:
        return logging.WARNING
    return logging.DEBUG if route in PROBES else logging.INFO
