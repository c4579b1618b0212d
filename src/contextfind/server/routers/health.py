"""GET /health, GET /ready: whether the server lives, and whether it can answer."""

from collections.abc import Mapping

from fastapi import APIRouter
from starlette.responses import Response

from contextfind import __version__
from contextfind.domain.errors import UnavailableError
from contextfind.server.envelope import StrictJson
from contextfind.server.house import House
from contextfind.server.openapi import operation_id
from contextfind.server.premises import Premises, ThePremises
from contextfind.server.wire.answers import Health, Readiness

# Clients parse the leading number: the version of the API that is spoken here.
VERSION = f"0.5.2+contextfind.{__version__}"

router = APIRouter(tags=["health"], generate_unique_id_function=operation_id)


@router.head("/health", include_in_schema=False)
@router.get("/health", response_model=Health)
async def health(premises: ThePremises) -> Response:
    """Say that the process answers; needs no key and touches nothing."""
    mode = premises.keeper.mode
    return StrictJson({"status": "ok", "healthy": True, "version": VERSION, "auth_mode": mode})


@router.head("/ready", include_in_schema=False)
@router.get(
    "/ready",
    response_model=Readiness,
    responses={
        503: {"model": Readiness, "description": "Something that finds need does not work."}
    },
)
async def ready(premises: ThePremises) -> Response:
    """Say what works, one line per component: 200 when all that finds need does, else 503.

    Models have lines too, and none of them makes it 503: without them finds are answered by words, and a
    balancer that took every server out because of the one model they share would leave nobody to answer.
    """
    needed, models = await _checks(premises)
    good = all(line == "ok" for line in needed.values())
    body = {"status": "ready" if good else "not_ready", "checks": {**needed, **models}}
    return StrictJson(body, 200 if good else 503)


async def _checks(premises: Premises) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Return the lines of what finds need, and those of models."""
    try:
        return await premises.door.asked(_lines, premises.rules.ready_seconds)
    except UnavailableError as error:
        return {"store": str(error)}, {}


async def _lines(house: House) -> tuple[Mapping[str, str], Mapping[str, str]]:
    return await house.readiness(), house.models()
