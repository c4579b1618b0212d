"""content/*: texts by their address."""

from typing import Annotated

from fastapi import Query, Request
from starlette.responses import Response

from contextfind.domain.scope import visible_to
from contextfind.domain.uri import ROOT
from contextfind.server.envelope import ok
from contextfind.server.examples import FILE, REINDEX, WRITE
from contextfind.server.openapi import AT_ADDRESS, examples, may_fail, room
from contextfind.server.premises import Tenant, TheHouse, ThePremises
from contextfind.server.seats import aside
from contextfind.server.waiting import Patience, until_done, until_settled
from contextfind.server.wire.answers import Ok, Wrote
from contextfind.server.wire.body import Place, address, optional_address, optional_tags
from contextfind.server.wire.content import ReadParams, WriteBody, part_of, written
from contextfind.server.wire.reindexing import (
    ReindexBody,
    Reindexed,
    accepted,
    foreseen,
    reindexed,
)
from contextfind.server.wire.telemetry import telemetry

router = room("content")

OneUri = Annotated[Place, Query(description="A file or directory.", examples=[FILE])]


@router.get("/read", response_model=Ok[str], responses=may_fail(*AT_ADDRESS))
async def read(asked: Annotated[ReadParams, Query()], house: TheHouse, tenant: Tenant) -> Response:
    """Return the text of a file, or some lines of it."""
    text = await house.browser.read(tenant, address("uri", asked.uri, tenant))
    return ok(part_of(text, asked.offset, asked.limit))


@router.get("/abstract", response_model=Ok[str], responses=may_fail(*AT_ADDRESS))
async def abstract(uri: OneUri, house: TheHouse, tenant: Tenant) -> Response:
    """Return the short text (level 0) of a directory or a file."""
    return ok(await house.browser.abstract(tenant, address("uri", uri, tenant)))


@router.get("/overview", response_model=Ok[str], responses=may_fail(*AT_ADDRESS))
async def overview(uri: OneUri, house: TheHouse, tenant: Tenant) -> Response:
    """Return the long text (level 1) of a directory; of a file, that of its directory."""
    return ok(await house.browser.overview(tenant, address("uri", uri, tenant)))


@router.post(
    "/write",
    response_model=Ok[Wrote],
    responses=may_fail(*AT_ADDRESS, "ALREADY_EXISTS", "CONFLICT"),
    openapi_extra=examples(WRITE),
)
async def write(
    body: WriteBody, request: Request, premises: ThePremises, house: TheHouse, tenant: Tenant
) -> Response:
    """Write a text file; with `wait` it can be found when this is answered."""
    uri, tags = address("uri", body.uri, tenant), optional_tags(body.tags)
    patience = Patience.of(body.timeout, premises)
    done = await house.writer.write(tenant, uri, body.content, body.mode, tags)
    settled = None
    if body.wait:
        async with aside(request):
            settled = await until_settled(house, tenant, uri, patience)
    told = telemetry(request, "content.write") if body.telemetry else None
    return ok(written(done, settled), telemetry=told, headers=body.ignored_header())


@router.post(
    "/reindex",
    response_model=Ok[Reindexed],
    responses=may_fail(*AT_ADDRESS, "CONFLICT", "FAILED_PRECONDITION"),
    openapi_extra=examples(REINDEX),
)
async def reindex(
    body: ReindexBody, request: Request, premises: ThePremises, house: TheHouse, tenant: Tenant
) -> Response:
    """Index again what is stored, while finds go on; without `wait` as a task in the background."""
    under = optional_address("uri", body.uri, tenant) or ROOT
    visible_to(tenant, [under])
    told = telemetry(request, "content.reindex") if body.telemetry else None
    if body.dry_run:
        result = foreseen(under, body.mode, await house.reindexing.foresee(tenant, under))
        return ok(result, telemetry=told, headers=body.ignored_header())
    patience = Patience.of(body.timeout, premises)
    whole = under == ROOT and premises.keeper.may_see_house(tenant)
    job = await house.reindexing.start(tenant, under, body.mode, whole=whole)
    if body.wait:
        async with aside(request):
            ended = await until_done(house, tenant, job, patience, "it was not indexed again")
        result = reindexed(under, body.mode, ended)
    else:
        result = accepted(under, body.mode, job)
    return ok(result, telemetry=told, headers=body.ignored_header())
