"""One line per request to the admin routes: who did what to whom, and how it ended.

A line is a JSON object of the logger `contextfind.audit`. Keys are named by their ids only.
"""

import json
import logging
from typing import Annotated

from fastapi import Depends, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from contextfind.domain.errors import ContextFindError
from contextfind.domain.identity import Identity
from contextfind.server.context import request_id_of
from contextfind.server.rules import KEY_START

ADMIN = "/api/v1/admin"
_LENGTH = 100  # characters of a name that are told; names that exist are shorter

log = logging.getLogger("contextfind.audit")
log.setLevel(logging.INFO)  # whatever log.level says of other lines: an audit has no gaps


class AuditTrail:
    """ASGI layer that writes the line before an answer leaves: nothing is done that is not told."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request; what is not about administration passes untouched."""
        if scope["type"] != "http" or not scope["path"].startswith(ADMIN):
            await self.app(scope, receive, send)
            return
        scope.setdefault("state", {})["objects"] = {}
        outcome = ""

        def tell(ended: str) -> None:
            nonlocal outcome
            outcome = ended
            level = logging.INFO if ended == "ok" else logging.WARNING
            log.log(level, "%s", json.dumps(_line(scope, ended)))

        async def watched(message: Message) -> None:
            if message["type"] == "http.response.start":
                status = message["status"]
                tell("ok" if status < 400 else f"HTTP {status}")  # noqa: PLR2004
            await send(message)

        try:
            await self.app(scope, receive, watched)
        except ContextFindError as error:
            tell(error.code)
            raise
        finally:
            if not outcome:
                tell("no answer")


def objects_of(request: Request) -> dict[str, str]:
    """Return the dict into which a route writes what it acts on, beside what its path says."""
    found: dict[str, str] = request.state.objects
    return found


Objects = Annotated[dict[str, str], Depends(objects_of)]


def _line(scope: Scope, outcome: str) -> dict[str, object]:
    state = scope["state"]
    route = getattr(scope.get("route"), "name", None)
    named = {
        name: str(value)
        for name, value in scope.get("path_params", {}).items()
        if name in ("account", "user")
    }
    objects = {**named, **state["objects"]}
    return {
        "action": _told(f"{scope['method']} {scope['path']}") if route is None else route,
        "by": _who(state.get("identity"), state.get("key_id", "")),
        "on": {name: _told(value) for name, value in objects.items()},
        "outcome": outcome,
        "request": request_id_of(scope),
        "from": str((scope.get("client") or ("",))[0]),
    }


def _who(identity: Identity | None, key_id: str) -> dict[str, str] | None:
    if identity is None:
        return None
    who = {"account": identity.account, "user": identity.user, "role": identity.role}
    return {**who, "key": key_id}


def _told(text: str) -> str:
    """Return a text of the caller's for the log, not endless; no key that was sent in its place."""
    return "(holds a key)" if KEY_START in text else text[:_LENGTH]
