"""system/*: what the server is and has, and waiting until it is done."""

from fastapi import Request
from starlette.responses import Response

from contextfind.server.envelope import ok
from contextfind.server.examples import WAIT
from contextfind.server.openapi import examples, may_fail, room
from contextfind.server.premises import Caller, Tenant, TheHouse, ThePremises
from contextfind.server.routers.health import VERSION
from contextfind.server.seats import aside
from contextfind.server.waiting import Patience, until_jobs_end, until_settled
from contextfind.server.wire.answers import Ok, Queues, Status
from contextfind.server.wire.content import Waiting, queue_status

router = room("system")


@router.get("/status", response_model=Ok[Status], responses=may_fail())
async def status(premises: ThePremises, house: TheHouse, caller: Caller) -> Response:
    """Say who asks, and how much is there: of all tenants only to who may see all of them."""
    whole = premises.keeper.may_see_house(caller)
    figures = await (house.status() if whole else house.status(caller.account, caller.user))
    if not whole:
        figures.pop("index", None)  # one index holds the rows of every tenant
    told = {"account": caller.account, "role": caller.role, "auth_mode": premises.keeper.mode}
    return ok({**figures, "initialized": True, "user": caller.user, "version": VERSION, **told})


@router.post(
    "/wait",
    response_model=Ok[Queues],
    responses=may_fail(),
    openapi_extra=examples(WAIT),
)
async def wait(
    request: Request,
    premises: ThePremises,
    house: TheHouse,
    tenant: Tenant,
    body: Waiting | None = None,
) -> Response:
    """Answer when everything the caller can see can be found."""
    asked = body or Waiting()
    patience = Patience.of(asked.timeout, premises)
    async with aside(request):
        await until_jobs_end(house, tenant, patience)
        settled = await until_settled(house, tenant, None, patience)
    return ok(queue_status(settled), headers=asked.ignored_header())
