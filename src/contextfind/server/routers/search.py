"""POST search/find, search/search and search/recall."""

from fastapi import Request
from starlette.responses import Response

from contextfind.server.envelope import PlainJson, ok
from contextfind.server.examples import FIND, RECALL, SEARCH
from contextfind.server.openapi import examples, may_fail, room
from contextfind.server.premises import Context, TheHouse
from contextfind.server.presence import while_awaited
from contextfind.server.shortcut import Shortcut
from contextfind.server.wire.answers import Ok
from contextfind.server.wire.assembled import Context as ContextShown
from contextfind.server.wire.assembled import context_answer, context_telemetry
from contextfind.server.wire.context import ContextBody, context_question
from contextfind.server.wire.find import (
    FIND_HEADERS,
    FindBody,
    answer_of,
    find_headers,
    find_telemetry,
    question_of,
)
from contextfind.server.wire.hits import Found
from contextfind.server.wire.recall import (
    DEPRECATION,
    RECALL_HEADERS,
    RecallBody,
    recall_answer,
    recall_question,
)
from contextfind.server.wire.search import Searched, search_answer_of
from contextfind.server.wire.telemetry import telemetry

router = room("search", Shortcut)
_ACTOR = "X-OpenViking-Actor-Peer"


@router.post(
    "/find",
    response_model=Ok[Found],
    responses=may_fail("INVALID_URI", told=FIND_HEADERS),
    openapi_extra=examples(FIND),
)
async def find(body: FindBody, request: Request, house: TheHouse, context: Context) -> Response:
    """Return what fits the query best, on three shelves."""
    question = question_of(body, context.identity, house.clock())
    async with while_awaited(request, context.deadline):
        found = await house.finder.find(context, question)
    told = telemetry(request, "search.find", find_telemetry(found)) if body.telemetry else None
    headers = find_headers(found) | body.ignored_header()
    result = answer_of(found, provenance=body.include_provenance)
    return ok(result, telemetry=told, headers=headers, form=PlainJson)


@router.post(
    "/search",
    response_model=Ok[Searched] | Ok[ContextShown],
    responses=may_fail("INVALID_URI", told=FIND_HEADERS),
    openapi_extra=examples(SEARCH),
)
async def search(
    body: ContextBody, request: Request, house: TheHouse, context: Context
) -> Response:
    """Return the plan made of the query and what was said in the session, and what a find of it returns.

    The query itself is always searched too, unless the plan finds that nothing is to be looked up. A reranker
    judges the hits where there is one. With `mode: "context"` the hits come as a block for a prompt, within
    `max_tokens`.
    """
    if body.assembles:
        return await _assembled(body, request, house, context)
    question = question_of(body, context.identity, house.clock())
    async with while_awaited(request, context.deadline):
        found = await house.searcher.search(context, question, body.session_id.strip())
    told = telemetry(request, "search.search", find_telemetry(found)) if body.telemetry else None
    headers = find_headers(found) | body.ignored_header()
    result = search_answer_of(found, provenance=body.include_provenance)
    return ok(result, telemetry=told, headers=headers, form=PlainJson)


async def _assembled(
    body: ContextBody, request: Request, house: TheHouse, context: Context
) -> Response:
    actor = request.headers.get(_ACTOR, "")
    asked = context_question(body, context.identity, actor, house.clock())
    async with while_awaited(request, context.deadline):
        found = await house.assembler.assemble(context, asked)
    told = (
        telemetry(request, "search.context", context_telemetry(found)) if body.telemetry else None
    )
    result = context_answer(found, asked, body.without_effect(asked))
    return ok(result, telemetry=told, headers=find_headers(found) | body.ignored_header())


@router.post(
    "/recall",
    response_model=Ok[ContextShown],
    responses=may_fail("INVALID_URI", told=FIND_HEADERS | RECALL_HEADERS),
    openapi_extra=examples(RECALL),
)
async def recall(body: RecallBody, request: Request, house: TheHouse, context: Context) -> Response:
    """Return memories as a block for a prompt; `search` with `mode: "context"` says more in less.

    Without quotas: ten events, ten entities, three preferences.
    """
    actor = request.headers.get(_ACTOR, "")
    asked = recall_question(body, context.identity, actor, house.clock())
    async with while_awaited(request, context.deadline):
        found = await house.assembler.assemble(context, asked)
    told = telemetry(request, "search.recall", context_telemetry(found)) if body.telemetry else None
    headers = find_headers(found) | body.ignored_header() | DEPRECATION
    return ok(recall_answer(found, asked, body), telemetry=told, headers=headers)
