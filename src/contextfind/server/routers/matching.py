"""POST search/grep and search/glob: by letter, in what is stored."""

from fastapi import Request
from starlette.responses import Response

from contextfind.server.envelope import ok
from contextfind.server.examples import GLOB, GREP
from contextfind.server.openapi import AT_ADDRESS, examples, may_fail, room
from contextfind.server.premises import Context, TheHouse
from contextfind.server.presence import while_awaited
from contextfind.server.wire.answers import Ok
from contextfind.server.wire.matching import (
    Globbed,
    GlobBody,
    GrepBody,
    Grepped,
    globbed,
    grepped,
)

router = room("search")


@router.post(
    "/grep",
    response_model=Ok[Grepped],
    responses=may_fail(*AT_ADDRESS),
    openapi_extra=examples(GREP),
)
async def grep(body: GrepBody, request: Request, house: TheHouse, context: Context) -> Response:
    """Return the lines of files that match a regular expression."""
    area = body.area(context.identity)
    async with while_awaited(request, context.deadline):
        found = await house.matcher.grep(
            context.identity,
            area,
            body.pattern,
            body.node_limit,
            ignore_case=body.case_insensitive,
        )
    return ok(grepped(found), headers=body.ignored_header())


@router.post(
    "/glob",
    response_model=Ok[Globbed],
    responses=may_fail(*AT_ADDRESS),
    openapi_extra=examples(GLOB),
)
async def glob(body: GlobBody, request: Request, house: TheHouse, context: Context) -> Response:
    """Return the addresses of files and directories whose path matches wildcards."""
    area = body.area(context.identity)
    async with while_awaited(request, context.deadline):
        found = await house.matcher.glob(context.identity, area, body.pattern, body.node_limit)
    return ok(globbed(found), headers=body.ignored_header())
