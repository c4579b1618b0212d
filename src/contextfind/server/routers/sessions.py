"""sessions/*: conversations and what is said in them."""

from typing import Annotated

from fastapi import Query, Request
from starlette.responses import Response

from contextfind.server.context import request_id_of
from contextfind.server.envelope import ok
from contextfind.server.examples import COMMIT, MESSAGE, MESSAGES, SESSION, SETTINGS, UNUSED
from contextfind.server.openapi import examples, may_fail, room
from contextfind.server.premises import Tenant, TheHouse
from contextfind.server.wire import session_answers as shown
from contextfind.server.wire.answers import Ok, Page
from contextfind.server.wire.sessions import (
    ArchiveId,
    BatchBody,
    CommitBody,
    ContextParams,
    MessageBody,
    SessionBody,
    SessionId,
    SessionParams,
    SessionsParams,
    SettingsBody,
    Unused,
)
from contextfind.server.wire.telemetry import telemetry

router = room("sessions")

_USED = "nothing was done: a use is counted when a text is read"
_EXTRACT = "nothing was done: memories are taken out of a session when it is committed"


@router.post(
    "",
    response_model=Ok[shown.NewSession],
    responses=may_fail("ALREADY_EXISTS"),
    openapi_extra=examples(SESSION),
)
async def create(house: TheHouse, tenant: Tenant, body: SessionBody | None = None) -> Response:
    """Make an empty session; the first message to an unknown id makes one, too."""
    asked = body or SessionBody()
    name = asked.session_id if asked.session_id.strip() else None
    session = await house.conversations.create(tenant, name, asked.settings())
    return ok(shown.new_session(session), headers=asked.ignored_header())


@router.get("", response_model=Page[list[shown.SessionLine]], responses=may_fail())
async def list_sessions(
    asked: Annotated[SessionsParams, Query()], house: TheHouse, tenant: Tenant
) -> Response:
    """Return the caller's sessions, the last changed one first."""
    found = await house.conversations.list(tenant, asked.limit + 1, asked.offset)
    lines = [shown.session_line(session) for session in found[: asked.limit]]
    return ok(lines, extra={"has_more": len(found) > asked.limit})


@router.get("/{session_id}", response_model=Ok[shown.SessionShown], responses=may_fail("NOT_FOUND"))
async def one_session(
    session_id: SessionId,
    asked: Annotated[SessionParams, Query()],
    house: TheHouse,
    tenant: Tenant,
) -> Response:
    """Return a session with its counts."""
    session = await house.conversations.get(tenant, session_id, create=asked.auto_create)
    return ok(shown.session_shown(session))


@router.delete(
    "/{session_id}", response_model=Ok[shown.GoneSession], responses=may_fail("NOT_FOUND")
)
async def delete(session_id: SessionId, house: TheHouse, tenant: Tenant) -> Response:
    """Remove a session with all that was said in it, archives included."""
    gone = await house.conversations.delete(tenant, session_id)
    house.assembler.forget(tenant, gone)
    return ok({"session_id": gone})


@router.patch(
    "/{session_id}/config",
    response_model=Ok[shown.SessionShown],
    responses=may_fail("NOT_FOUND"),
    openapi_extra=examples(SETTINGS),
)
async def configure(
    session_id: SessionId, body: SettingsBody, house: TheHouse, tenant: Tenant
) -> Response:
    """Change what is kept with a session; what is not sent stays."""
    session = await house.conversations.configure(tenant, session_id, body.settings())
    return ok(shown.session_shown(session), headers=body.ignored_header())


@router.post(
    "/{session_id}/messages",
    response_model=Ok[shown.Heard],
    responses=may_fail(),
    openapi_extra=examples(MESSAGE),
)
async def message(
    session_id: SessionId, body: MessageBody, request: Request, house: TheHouse, tenant: Tenant
) -> Response:
    """Add a message; the first one makes the session."""
    now = house.clock()
    session, added = await house.conversations.add(tenant, session_id, [body.said(now)])
    told = telemetry(request, "sessions.message") if body.telemetry else None
    headers = body.ignored_fields(now)
    return ok(shown.heard(session, added), telemetry=told, headers=headers)


@router.post(
    "/{session_id}/messages/batch",
    response_model=Ok[shown.Heard],
    responses=may_fail(),
    openapi_extra=examples(MESSAGES),
)
async def messages(
    session_id: SessionId, body: BatchBody, request: Request, house: TheHouse, tenant: Tenant
) -> Response:
    """Add messages in order, all or none."""
    now = house.clock()
    session, added = await house.conversations.add(tenant, session_id, body.said(now))
    told = telemetry(request, "sessions.messages") if body.telemetry else None
    headers = body.ignored_fields(now)
    return ok(shown.heard(session, added), telemetry=told, headers=headers)


@router.get(
    "/{session_id}/context",
    response_model=Ok[shown.ContextShown],
    responses=may_fail("NOT_FOUND"),
)
async def context(
    session_id: SessionId,
    asked: Annotated[ContextParams, Query()],
    house: TheHouse,
    tenant: Tenant,
) -> Response:
    """Return the last messages, and summaries of what is archived, within a budget of tokens."""
    told = await house.conversations.context(tenant, session_id, asked.token_budget)
    return ok(shown.context_shown(told))


@router.post(
    "/{session_id}/commit",
    response_model=Ok[shown.CommitShown],
    responses=may_fail("NOT_FOUND"),
    openapi_extra=examples(COMMIT),
)
async def commit(
    session_id: SessionId,
    request: Request,
    house: TheHouse,
    tenant: Tenant,
    body: CommitBody | None = None,
) -> Response:
    """Archive what was said; its summary and its memories follow as a task."""
    asked = body or CommitBody()
    done = await house.committer.commit(tenant, session_id, asked.keep_recent_count)
    told = telemetry(request, "sessions.commit") if asked.telemetry else None
    result = shown.commit_shown(tenant, done, request_id_of(request.scope))
    return ok(result, telemetry=told, headers=asked.ignored_header())


@router.get(
    "/{session_id}/archives",
    response_model=Ok[list[shown.ArchiveLine]],
    responses=may_fail("NOT_FOUND"),
)
async def archives(session_id: SessionId, house: TheHouse, tenant: Tenant) -> Response:
    """Return the archives of a session, newest first."""
    session, found = await house.conversations.archives(tenant, session_id)
    return ok([shown.archive_line(session, archive) for archive in found])


@router.get(
    "/{session_id}/archives/{archive_id}",
    response_model=Ok[shown.ArchiveShown],
    responses=may_fail("NOT_FOUND"),
)
async def one_archive(
    session_id: SessionId, archive_id: ArchiveId, house: TheHouse, tenant: Tenant
) -> Response:
    """Return an archive with its summary and its messages, oldest first."""
    session, archive, said = await house.conversations.archive(tenant, session_id, archive_id)
    return ok(shown.archive_shown(session, archive, said))


@router.post(
    "/{session_id}/used",
    response_model=Ok[shown.Noted],
    responses=may_fail(),
    openapi_extra=examples(UNUSED),
)
async def used(session_id: SessionId, _: Tenant, body: Unused | None = None) -> Response:
    """Take a report of earlier clients; reads are counted without it."""
    return _noted(session_id, _USED, body)


@router.post(
    "/{session_id}/extract",
    response_model=Ok[shown.Noted],
    responses=may_fail(),
    openapi_extra=examples(UNUSED),
)
async def extract(session_id: SessionId, _: Tenant, body: Unused | None = None) -> Response:
    """Take a request of earlier clients; commit the session instead."""
    return _noted(session_id, _EXTRACT, body)


def _noted(session_id: str, note: str, body: Unused | None) -> Response:
    headers = {} if body is None else body.ignored_header()
    return ok({"session_id": session_id, "note": note}, headers=headers)
