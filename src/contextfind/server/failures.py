"""From anything that goes wrong to the failure envelope; nothing passes unshaped."""

import asyncio
import logging
from collections.abc import Sequence
from difflib import get_close_matches

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from contextfind.domain.errors import (
    ContextFindError,
    InvalidArgumentError,
    NotFoundError,
    UnavailableError,
    UnimplementedError,
)
from contextfind.server.context import request_id_of
from contextfind.server.envelope import failed
from contextfind.server.sentences import sentence
from contextfind.server.unbuilt import hint_for

_ALIKE = 0.75  # of 1; less alike is no typing mistake any more

_STOPPING = "the server is stopping and does not wait for this answer; ask again in a while"

log = logging.getLogger(__name__)

_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
_WITHOUT_BODY = ("GET", "HEAD", "DELETE")  # their fields are parameters of the query


class FailureBarrier:
    """ASGI layer below which an exception may fly freely: here it becomes an answer."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request; after the first byte of an answer a failure can only be logged.

        One that is cancelled, as those are that a stop of the server does not wait for, is answered too.
        """
        if scope["type"] != "http":  # a start that fails has its own way to say so
            await self.app(scope, receive, send)
            return
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self.app(scope, receive, watched)
        except asyncio.CancelledError:
            if not started:
                await failed(UnavailableError(_STOPPING, {"retryable": True}))(scope, receive, send)
            raise
        except Exception as error:  # noqa: BLE001 - the one place
            place = "query" if scope["method"] in _WITHOUT_BODY else "body"
            answer = answer_to(error, request_id_of(scope), place)
            if not started:
                await answer(scope, receive, send)


def answer_to(error: Exception, request_id: str, place: str = "body") -> Response:
    """Return the envelope of an error; what is not ours is logged and named by its id only."""
    if isinstance(error, ContextFindError) and error.code != "INTERNAL":
        return failed(error, place=place)
    log.error("request %s failed", request_id, exc_info=error)
    return failed(
        ContextFindError(f"internal error; the server's log explains request {request_id}")
    )


async def answer_http_error(request: Request, error: Exception) -> Response:
    """Answer what the framework refuses: unknown paths, other methods, unreadable bodies."""
    if not isinstance(error, HTTPException):
        raise error
    cause = error.__cause__
    if isinstance(cause, ContextFindError):  # FastAPI wraps what fails while a body is read
        return failed(cause)
    path = request.url.path
    if error.status_code == 404:  # noqa: PLR2004
        hint = hint_for(path)
        if hint is not None:
            return failed(UnimplementedError(f"{path} is not built here: {hint}"))
        near = _nearest_route(request)
        told = f"no route {path}; {near}GET /docs lists them all"
        return failed(NotFoundError(told, {"path": path}))
    if error.status_code == 405:  # noqa: PLR2004
        allowed = ", ".join(_methods_of(request))
        wrong = InvalidArgumentError(f"method is {request.method!r}; {path} expects {allowed}")
        return failed(wrong, 405, {"Allow": allowed})
    unread = "the body could not be read: it is neither the JSON nor the form that was announced"
    told = str(error.detail) if cause is None else unread
    return failed(InvalidArgumentError(told), headers=error.headers)


def _methods_of(request: Request) -> list[str]:
    """Return every method that the path takes: the framework names those of one route only."""
    routes = request.app.routes
    return [
        method
        for method in _METHODS
        if any(
            route.matches({**request.scope, "method": method})[0] is Match.FULL for route in routes
        )
    ]


def _nearest_route(request: Request) -> str:
    """Return a guess at the path that was meant: one without its prefix, or with a slash too many."""
    known = list(request.app.openapi()["paths"])
    path = request.url.path.rstrip("/")
    longer = [one for one in known if path and one.endswith(path)]
    near = longer or get_close_matches(path, known, 1, _ALIKE)
    return f"did you mean {near[0]}? " if near else ""


async def answer_validation_error(_: Request, error: Exception) -> Response:
    """Answer a request whose fields have the wrong type or range."""
    if not isinstance(error, RequestValidationError):
        raise error
    found = [_described(one) for one in error.errors()]
    rest = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    message = f"{found[0]['message']}{rest}"
    return failed(InvalidArgumentError(message, {"validation_errors": found}))


def _described(error: dict[str, object]) -> dict[str, object]:
    place = error.get("loc")
    loc = list(place) if isinstance(place, Sequence) else []
    kind = str(error.get("type"))
    return {"loc": loc, "message": sentence(error, loc, kind), "type": kind}
