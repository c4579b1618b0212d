"""content/download and content/batch-write: files as bytes, and many at once."""

from typing import Annotated

from fastapi import Query, Request
from starlette.responses import Response

from contextfind.server.envelope import ok
from contextfind.server.examples import BATCH, FILE
from contextfind.server.openapi import AT_ADDRESS, binary, examples, may_fail, room
from contextfind.server.premises import Tenant, TheHouse, ThePremises
from contextfind.server.seats import aside
from contextfind.server.waiting import Patience, until_settled
from contextfind.server.wire.answers import Ok
from contextfind.server.wire.body import Place, address
from contextfind.server.wire.files import (
    Batch,
    BatchBody,
    batch_written,
    download_headers,
    orders_of,
)
from contextfind.server.wire.telemetry import telemetry

router = room("content")

OneFile = Annotated[Place, Query(description="The file.", examples=[FILE])]


@router.get("/download", response_class=Response, responses=binary(may_fail(*AT_ADDRESS)))
async def download(uri: OneFile, house: TheHouse, tenant: Tenant) -> Response:
    """Return the bytes of a file as they came, of a document too; no envelope, but for refusals."""
    place = address("uri", uri, tenant)
    data = await house.browser.download(tenant, place)
    return Response(data, headers=download_headers(place))


@router.post(
    "/batch-write",
    response_model=Ok[Batch],
    responses=may_fail(*AT_ADDRESS, "CONFLICT"),
    openapi_extra=examples(BATCH),
)
async def batch_write(
    body: BatchBody, request: Request, premises: ThePremises, house: TheHouse, tenant: Tenant
) -> Response:
    """Write up to 256 files in one commit, all or none; with `wait` they can be found when this is answered.

    A file that is there as it should be is unchanged whatever its precondition says, so a batch can be sent again.
    """
    root = address("root_uri", body.root_uri, tenant)
    orders = orders_of(body, root, tenant)
    patience = Patience.of(body.timeout, premises)
    done = await house.writer.write_all(tenant, root, orders, skip=body.skip_conflicts)
    settled = None
    if body.wait:
        async with aside(request):
            settled = await until_settled(house, tenant, root, patience)
    told = telemetry(request, "content.batch_write") if body.telemetry else None
    result = batch_written(root, done, settled)
    return ok(result, telemetry=told, headers=body.ignored_header())
