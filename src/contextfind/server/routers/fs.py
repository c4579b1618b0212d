"""fs/*: the tree as a file system."""

from typing import Annotated

from fastapi import Query, Request
from starlette.responses import Response

from contextfind.domain.uri import Uri
from contextfind.retrieval.browsing import Listing
from contextfind.server.envelope import ok
from contextfind.server.examples import DIRECTORY, MKDIR, MOVE, SET_TAGS
from contextfind.server.following import undisturbed, until_followed
from contextfind.server.openapi import AT_ADDRESS, examples, may_fail, room
from contextfind.server.premises import Tenant, TheHouse, ThePremises
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
from contextfind.server.wire.moving import (
    Attrs,
    MoveBody,
    Moved,
    Tagged,
    TagsBody,
    attrs,
    moved,
    retag_of,
    tagged,
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
        return _page(view, found, uri)
    found = await house.browser.list(tenant, uri, view.page, view.offset)
    return _page(view, found, None)


@router.get("/tree", response_model=Page[list[Line | str]], responses=may_fail(*AT_ADDRESS))
async def tree(view: Viewed, house: TheHouse, tenant: Tenant) -> Response:
    """Return what lies below a directory, by address, `level_limit` levels deep."""
    uri = address("uri", view.uri, tenant)
    depth = DEFAULT_DEPTH if view.level_limit is None else view.level_limit
    found = await house.browser.tree(tenant, uri, depth, view.page, view.offset)
    return _page(view, found, uri)


def _page(view: View, found: Listing, base: Uri | None) -> Response:
    more = {"has_more": found.has_more}
    return ok(lines(found.entries, view, base), extra=more, headers=view.ignored_header())


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


@router.post(
    "/mv",
    response_model=Ok[Moved],
    responses=may_fail(*AT_ADDRESS, "ALREADY_EXISTS", "CONFLICT"),
    openapi_extra=examples(MOVE),
)
async def mv(
    body: MoveBody, request: Request, premises: ThePremises, house: TheHouse, tenant: Tenant
) -> Response:
    """Move a file, or a directory with all that is in it; finds know of it when this is answered.

    Tags, times and summaries come along, and nothing is read or parsed again. A text is embedded again only
    where names have changed that its passages are told with: the file's own, and those of directories below
    the outermost one.
    """
    source = address("from_uri", body.from_uri, tenant)
    target = address("to_uri", body.to_uri, tenant)
    await undisturbed(house, tenant, source, target)
    done = await house.writer.move(tenant, source, target)
    await until_followed(request, premises, house, done.position)
    return ok(moved(source, target, done.moved), headers=body.ignored_header())


@router.get("/attrs", response_model=Ok[Attrs], responses=may_fail(*AT_ADDRESS))
async def attributes(uri: OneUri, house: TheHouse, tenant: Tenant) -> Response:
    """Return what may be set of an address: its tags."""
    return ok(attrs(await house.browser.stat(tenant, address("uri", uri, tenant))))


@router.post(
    "/attrs/set_tags",
    response_model=Ok[Tagged],
    responses=may_fail(*AT_ADDRESS),
    openapi_extra=examples(SET_TAGS),
)
async def set_tags(
    body: TagsBody, request: Request, premises: ThePremises, house: TheHouse, tenant: Tenant
) -> Response:
    """Set the tags of a file, of a directory, or of all files below it; filters see them when this is answered."""
    retag = retag_of(body, address("uri", body.uri, tenant))
    done = await house.writer.retag(tenant, retag)
    entry = await house.browser.stat(tenant, retag.uri)
    await until_followed(request, premises, house, done.position)
    return ok(tagged(retag, done.retagged, entry), headers=body.ignored_header())


@router.delete("", response_model=Ok[Removed], responses=may_fail(*AT_ADDRESS, "CONFLICT"))
async def remove(
    asked: Annotated[RemoveParams, Query()], house: TheHouse, tenant: Tenant
) -> Response:
    """Remove a file, or with `recursive` a directory; what is not there is no error."""
    uri = address("uri", asked.uri, tenant)
    removed = await house.writer.remove(tenant, uri, recursive=asked.recursive)
    return ok({"uri": uri.text, "estimated_deleted_count": removed})
