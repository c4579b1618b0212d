"""fs/*: the tree as a file system."""

from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from contextfind.server.envelope import ok
from contextfind.server.examples import DIRECTORY, MKDIR
from contextfind.server.openapi import AT_ADDRESS, examples, may_fail, room
from contextfind.server.premises import Tenant, TheHouse
from contextfind.server.wire.answers import Line, Made, Ok, Page, Removed, Stat
from contextfind.server.wire.body import Place, address
from contextfind.server.wire.content import MkdirBody, RemoveParams
from contextfind.server.wire.listing import (
    DEFAULT_DEPTH,
    MAX_DEPTH,
    MAX_NODES,
    View,
    lines,
    stat,
)

router = room("fs")

Viewed = Annotated[View, Query()]
OneUri = Annotated[Place, Query(description="A file or directory.", examples=[DIRECTORY])]


@router.get("/ls", response_model=Page[list[Line | str]], responses=may_fail(*AT_ADDRESS))
async def ls(view: Viewed, house: TheHouse, tenant: Tenant) -> Response:
    """Return what a directory holds, by name; with `recursive` all below it, by address."""
    uri = address("uri", view.uri, tenant)
    if view.recursive:
        depth = MAX_DEPTH if view.level_limit is None else view.level_limit
        found = await house.browser.tree(tenant, uri, depth, view.page, view.offset)
        return ok(lines(found.entries, view, uri), extra={"has_more": found.has_more})
    found = await house.browser.list(tenant, uri, view.page, view.offset)
    return ok(lines(found.entries, view, None), extra={"has_more": found.has_more})


@router.get("/tree", response_model=Page[list[Line | str]], responses=may_fail(*AT_ADDRESS))
async def tree(view: Viewed, house: TheHouse, tenant: Tenant) -> Response:
    """Return what lies below a directory, by address, `level_limit` levels deep."""
    uri = address("uri", view.uri, tenant)
    depth = DEFAULT_DEPTH if view.level_limit is None else view.level_limit
    found = await house.browser.tree(tenant, uri, depth, view.page, view.offset)
    return ok(lines(found.entries, view, uri), extra={"has_more": found.has_more})


@router.get("/stat", response_model=Ok[Stat], responses=may_fail(*AT_ADDRESS))
async def stat_one(uri: OneUri, house: TheHouse, tenant: Tenant) -> Response:
    """Return what a listing would show of one address."""
    entry = await house.browser.stat(tenant, address("uri", uri, tenant))
    if not entry.is_directory:
        return ok(stat(entry, None))
    children = await house.browser.list(tenant, entry.uri, MAX_NODES)
    return ok(stat(entry, len(children.entries)))


@router.post(
    "/mkdir",
    response_model=Ok[Made],
    responses=may_fail(*AT_ADDRESS, "ALREADY_EXISTS", "CONFLICT"),
    openapi_extra=examples(MKDIR),
)
async def mkdir(body: MkdirBody, house: TheHouse, tenant: Tenant) -> Response:
    """Make a directory."""
    uri = address("uri", body.uri, tenant)
    await house.writer.mkdir(tenant, uri, body.description)
    return ok({"uri": uri.text}, headers=body.ignored_header())


@router.delete("", response_model=Ok[Removed], responses=may_fail(*AT_ADDRESS, "CONFLICT"))
async def remove(
    asked: Annotated[RemoveParams, Query()], house: TheHouse, tenant: Tenant
) -> Response:
    """Remove a file, or with `recursive` a directory; what is not there is no error."""
    uri = address("uri", asked.uri, tenant)
    removed = await house.writer.remove(tenant, uri, recursive=asked.recursive)
    return ok({"uri": uri.text, "estimated_deleted_count": removed})
