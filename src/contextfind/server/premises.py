"""What the routes of one app share, and how a route gets at it."""

import asyncio
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from contextfind.domain.identity import Identity, RequestContext
from contextfind.domain.scope import visible_to
from contextfind.server.auth import Gatekeeper
from contextfind.server.closing import Closing
from contextfind.server.context import request_id_of
from contextfind.server.door import Door
from contextfind.server.house import House
from contextfind.server.measures import Measures
from contextfind.server.rules import Mint, ServerRules
from contextfind.server.seats import Seats


@dataclass(frozen=True, slots=True)
class Premises:
    """One app's door, gatekeeper, rules and mint; its end, what it counts, its seats."""

    rules: ServerRules
    mint: Mint
    door: Door
    keeper: Gatekeeper
    closing: Closing
    measures: Measures
    seats: Seats


def premises_of(request: Request) -> Premises:
    """Return the premises of the app that serves the request."""
    found: Premises = request.app.state.premises
    return found


async def open_house(request: Request) -> House:
    """Return the house; UnavailableError while it is not open."""
    return await premises_of(request).door.house()


def caller_of(request: Request) -> Identity:
    """Return who asks, as `Gate` found."""
    identity: Identity = request.state.identity
    return identity


def tenant_of(request: Request) -> Identity:
    """Return who asks for data; PermissionDeniedError for the root key, which has no tenant."""
    identity = caller_of(request)
    visible_to(identity)
    return identity


async def context_of(request: Request) -> RequestContext:
    """Return the tenant with the request's id and deadline."""
    end = asyncio.get_running_loop().time() + premises_of(request).rules.answer_seconds
    return RequestContext(tenant_of(request), request_id_of(request.scope), end)


# Coroutines: for a plain function the framework goes to a thread and back.
async def _premises(request: Request) -> Premises:
    return premises_of(request)


async def _caller(request: Request) -> Identity:
    return caller_of(request)


async def _tenant(request: Request) -> Identity:
    return tenant_of(request)


ThePremises = Annotated[Premises, Depends(_premises)]
TheHouse = Annotated[House, Depends(open_house)]
Caller = Annotated[Identity, Depends(_caller)]
Tenant = Annotated[Identity, Depends(_tenant)]
Context = Annotated[RequestContext, Depends(context_of)]
