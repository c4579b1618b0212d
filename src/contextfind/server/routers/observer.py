"""observer/*, stats/memories, system/consistency: how the server is, for who looks after it."""

from typing import Annotated, Literal

from fastapi import Query
from starlette.responses import Response

from contextfind.server import observing
from contextfind.server.envelope import ok
from contextfind.server.examples import CONSISTENCY
from contextfind.server.openapi import AT_ADDRESS, examples, may_fail, room
from contextfind.server.premises import Caller, Tenant, TheHouse, ThePremises
from contextfind.server.wire.answers import Ok
from contextfind.server.wire.body import address
from contextfind.server.wire.observer import (
    Compared,
    ComponentAnswer,
    ConsistencyBody,
    MemoryStats,
    ObserverParams,
    SystemAnswer,
    compared,
    memory_stats,
    system,
)

router = room("observer")
_stats = room("stats")
_system = room("system")

Viewed = Annotated[ObserverParams, Query()]
ComponentName = Literal["queue", "vikingdb", "models", "lock", "retrieval", "filesystem", "workers"]


@router.get("/system", response_model=Ok[SystemAnswer], responses=may_fail())
async def observe_system(
    view: Viewed, premises: ThePremises, house: TheHouse, caller: Caller
) -> Response:
    """Return every part of the server: whether it works, and what is in it, as far as the caller may see."""
    seen = await observing.observed(premises, house, caller)
    return ok(system(observing.everything(premises, seen), view))


@router.get("/{component}", response_model=Ok[ComponentAnswer], responses=may_fail())
async def observe(
    component: ComponentName,
    view: Viewed,
    premises: ThePremises,
    house: TheHouse,
    caller: Caller,
) -> Response:
    """Return one part of the server: its queues, index, models, locks, finds, files or other workers."""
    seen = await observing.observed(premises, house, caller)
    parts = {one.name: one for one in observing.everything(premises, seen)}
    return ok(parts[component].shown(view))


@_stats.get("/memories", response_model=Ok[MemoryStats], responses=may_fail())
async def memories(house: TheHouse, tenant: Tenant) -> Response:
    """Count the memories that the caller may see: by directory, use and age."""
    return ok(memory_stats(await house.census.memories(tenant)))


@_system.post(
    "/consistency",
    response_model=Ok[Compared],
    responses=may_fail(*AT_ADDRESS),
    openapi_extra=examples(CONSISTENCY),
)
async def consistency(body: ConsistencyBody, house: TheHouse, tenant: Tenant) -> Response:
    """Compare what is stored at and below an address with what finds know of it."""
    found = await house.census.consistency(tenant, address("uri", body.uri, tenant))
    return ok(compared(found), headers=body.ignored_header())


router.routes.extend([*_stats.routes, *_system.routes])
