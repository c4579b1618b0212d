"""GET /metrics: figures for monitoring."""

from collections.abc import Sequence

from fastapi import APIRouter, Request
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import Response

from contextfind.domain.errors import UnavailableError
from contextfind.domain.figures import Figure
from contextfind.server.exposition import exposition
from contextfind.server.guesses import peer_of
from contextfind.server.premises import Premises, ThePremises

router = APIRouter(include_in_schema=False)


@router.get("/metrics")
async def metrics(request: Request, premises: ThePremises) -> Response:
    """Return what Prometheus reads; to who may see figures about all tenants together."""
    await premises.keeper.check_may_measure(request.headers, peer_of(request.scope))
    text = await exposition(premises.measures, premises.seats, await _of_house(premises))
    return Response(text, media_type=CONTENT_TYPE_LATEST)


async def _of_house(premises: Premises) -> Sequence[Figure]:
    """Return the figures of the house; none when it does not answer, for the others tell of that."""
    try:
        return await premises.door.asked(
            lambda house: house.figures(), premises.rules.ready_seconds
        )
    except UnavailableError:
        return []
