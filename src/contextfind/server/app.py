"""The application: routes, the layers around them, the house behind them."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import cache

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import BaseRoute

from contextfind.server.audit import AuditTrail
from contextfind.server.auth import Gate, Gatekeeper
from contextfind.server.bookkeeping import Bookkeeping
from contextfind.server.closing import Closing, Farewell
from contextfind.server.context import RequestFrame
from contextfind.server.door import Door, HouseOpener
from contextfind.server.failures import (
    FailureBarrier,
    answer_http_error,
    answer_validation_error,
)
from contextfind.server.limits import BodyLimit
from contextfind.server.measures import Measures
from contextfind.server.openapi import DescribedApi
from contextfind.server.premises import Premises
from contextfind.server.routers import (
    admin,
    content,
    docs,
    files,
    fs,
    health,
    matching,
    metrics,
    observer,
    page,
    resources,
    search,
    sessions,
    skills,
    system,
    tasks,
)
from contextfind.server.rules import Mint, ServerRules
from contextfind.server.seats import Seating, Seats
from contextfind.server.toolroom import ROUTES, ToolOpener, Toolroom

TITLE = "OpenViking API"  # some clients recognise a server of this API by its title
_ABOUT = """Spoken by contextfind: retrieval for AI agents over one tree of `viking://` addresses.

Every answer is `{"status":"ok","result":…}` or `{"status":"error","result":null,"error":{"code","message","details"}}`,
also for a path that is not here (404 NOT_FOUND, or 501 UNIMPLEMENTED with what to use instead) and for another
method (405 INVALID_ARGUMENT). A key goes into `X-API-Key` or `Authorization: Bearer`."""


def create_app(
    open_house: HouseOpener,
    rules: ServerRules | None = None,
    mint: Mint | None = None,
    open_tools: ToolOpener | None = None,
) -> FastAPI:
    """Return the ASGI application; its lifespan opens the house and closes it.

    open_house: gives a context manager around a house; called once, when the server starts.
    open_tools: gives what answers at /mcp; called when that is first asked for.
    """
    rules = ServerRules() if rules is None else rules
    mint = Mint() if mint is None else mint
    door = Door(open_house, rules.patience_seconds)
    keeper = Gatekeeper(rules, door, mint.timer)
    closing, measures, seats, routes = Closing(), Measures(), Seats(rules), _routes()
    toolroom = Toolroom(open_tools)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with door.held_open(rules.opening_seconds), toolroom.held_open(app):
            yield

    app = DescribedApi(
        keeper.mode,
        title=TITLE,
        description=_ABOUT,
        version=health.VERSION,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
        routes=routes,
        middleware=[
            Middleware(RequestFrame, new_id=mint.request_id),
            Middleware(Bookkeeping, measures=measures, routes=routes),
            Middleware(Farewell, closing=closing),
            *_pages_allowed(rules),
            Middleware(FailureBarrier),
            Middleware(AuditTrail),
            Middleware(Gate, keeper=keeper),
            Middleware(Seating, seats=seats),
            Middleware(BodyLimit, rules=rules),
        ],
    )
    app.state.premises = Premises(rules, mint, door, keeper, closing, measures, seats)
    app.state.toolroom = toolroom
    app.add_exception_handler(HTTPException, answer_http_error)
    app.add_exception_handler(RequestValidationError, answer_validation_error)
    return app


def _pages_allowed(rules: ServerRules) -> list[Middleware]:
    """Return the layer that lets web pages of some origins in, none when none may."""
    if not rules.cors_origins:
        return []
    pages = Middleware(
        CORSMiddleware,
        allow_origins=rules.cors_origins,
        allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
        allow_headers=["*"],
        expose_headers=[
            "X-Request-ID",
            "X-Ignored-Fields",
            "X-Unknown-Targets",
            "X-Notes",
            "Retry-After",
        ],
    )
    return [pages]


@cache
def _routes() -> Sequence[BaseRoute]:
    """Return all routes, those that are asked most often first.

    They keep nothing of an app, so the apps of a process share them.
    """
    rooms = (
        search,
        health,
        sessions,
        skills,
        content,
        files,
        fs,
        resources,
        system,
        matching,
        tasks,
        observer,
        admin,
        docs,
        page,
        metrics,
    )
    return [*(route for room in rooms for route in room.router.routes), *ROUTES]
