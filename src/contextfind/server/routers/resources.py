"""resources: uploads, and adding them to the tree."""

from fastapi import Request, UploadFile
from starlette.responses import Response

from contextfind.domain.errors import ResourceExhaustedError
from contextfind.server.envelope import ok
from contextfind.server.examples import ADD
from contextfind.server.openapi import AT_ADDRESS, examples, may_fail, room
from contextfind.server.premises import Tenant, TheHouse, ThePremises
from contextfind.server.seats import aside
from contextfind.server.waiting import Patience, until_added
from contextfind.server.wire.answers import Added, Ok, Uploaded
from contextfind.server.wire.resources import AddBody, finished, request_of, started
from contextfind.server.wire.telemetry import telemetry

router = room("resources")


@router.post("/temp_upload", response_model=Ok[Uploaded], responses=may_fail())
async def temp_upload(
    file: UploadFile, premises: ThePremises, house: TheHouse, tenant: Tenant
) -> Response:
    """Keep a file (a directory as a zip) until POST /api/v1/resources names its `temp_file_id`."""
    limit = premises.rules.max_upload_bytes
    if file.size is None or file.size > limit:
        raise ResourceExhaustedError(f"the file is larger than {limit} bytes", {"max_bytes": limit})
    kept = await house.uploads.put(tenant, file.filename or "upload", file.file)
    return ok({"temp_file_id": kept})


@router.post(
    "",
    response_model=Ok[Added],
    responses=may_fail(*AT_ADDRESS, "CONFLICT", "FAILED_PRECONDITION", "UNIMPLEMENTED"),
    openapi_extra=examples(ADD),
)
async def add(
    body: AddBody, request: Request, premises: ThePremises, house: TheHouse, tenant: Tenant
) -> Response:
    """Add files to the tree; without `wait` as a task in the background."""
    wanted = request_of(body, tenant)
    patience = Patience.of(body.timeout, premises)
    job = await house.adding.add_resource(tenant, wanted)
    if body.wait:
        async with aside(request):
            job = await until_added(house, tenant, job, patience)
        result = finished(job)
    else:
        result = started(job)
    told = telemetry(request, "resources.add") if body.telemetry else None
    return ok(result, telemetry=told, headers=body.ignored_header())
