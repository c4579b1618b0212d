"""skills: adding, replacing, listing, reading, finding, judging and removing them."""

from typing import Annotated

from fastapi import Path, Query, Request
from starlette.responses import Response

from contextfind.domain.identity import Identity
from contextfind.domain.uri import Uri
from contextfind.server.envelope import ok
from contextfind.server.examples import SKILL, SKILL_FIND, SKILL_JUDGE, SKILL_UPDATE
from contextfind.server.house import House
from contextfind.server.openapi import AT_ADDRESS, examples, may_fail, room
from contextfind.server.premises import Context, Tenant, TheHouse, premises_of
from contextfind.server.presence import while_awaited
from contextfind.server.seats import aside
from contextfind.server.skills import begun, until_skills_added
from contextfind.server.waiting import Patience
from contextfind.server.wire import skill_answers as told
from contextfind.server.wire.answers import Ok
from contextfind.server.wire.find import FIND_HEADERS, find_headers, find_telemetry
from contextfind.server.wire.skills import (
    JudgeBody,
    ListParams,
    RootParams,
    SkillBody,
    SkillFindBody,
    place_for,
    roots_of,
    skill_question,
    source_of,
)
from contextfind.server.wire.telemetry import telemetry

router = room("skills")

Name = Annotated[str, Path(description="The name of a skill.")]


@router.get("", response_model=Ok[told.Skills], responses=may_fail("INVALID_URI"))
async def list_skills(
    asked: Annotated[ListParams, Query()], house: TheHouse, tenant: Tenant
) -> Response:
    """Return the skills that the caller can use, by name."""
    roots = roots_of(asked.target_uri, tenant)
    found = await house.skills.browser.list(tenant, asked.node_limit, roots)
    return ok(told.listed(found, roots))


@router.post(
    "",
    response_model=Ok[told.AddedSkills],
    responses=may_fail(*AT_ADDRESS, "CONFLICT", "FAILED_PRECONDITION"),
    openapi_extra=examples(SKILL),
)
async def add(body: SkillBody, request: Request, house: TheHouse, tenant: Tenant) -> Response:
    """Add a skill, or all of an upload; one of the same name is replaced."""
    return await _added(body, place_for(body, tenant), "", request, house, tenant)


@router.post(
    "/find",
    response_model=Ok[told.FoundSkills],
    responses=may_fail("INVALID_URI", told=FIND_HEADERS),
    openapi_extra=examples(SKILL_FIND),
)
async def find(
    body: SkillFindBody, request: Request, house: TheHouse, context: Context
) -> Response:
    """Return the skills that fit a task best."""
    roots = roots_of(body.target_uri, context.identity)
    question = skill_question(body, context.identity, house.clock())
    async with while_awaited(request, context.deadline):
        found = await house.finder.find(context, question)
        skills = await house.skills.browser.of_hits(context.identity, found.skills)
    measured = telemetry(request, "skills.find", find_telemetry(found)) if body.telemetry else None
    headers = find_headers(found) | body.ignored_header()
    return ok(told.found_skills(skills, roots), telemetry=measured, headers=headers)


@router.post(
    "/validate",
    response_model=Ok[told.Judgement],
    responses=may_fail("NOT_FOUND"),
    openapi_extra=examples(SKILL_JUDGE),
)
async def validate(body: JudgeBody, house: TheHouse, tenant: Tenant) -> Response:
    """Say whether a skill can be added, and what is wrong with it; nothing is written."""
    data = source_of(body)
    if data is None:
        parcels = await house.skills.writer.inspect(tenant, body.temp_file_id)
        result = told.judged_parcels(parcels, strict=body.strict)
    else:
        result = told.judged(await house.skills.writer.judge(data), strict=body.strict)
    return ok(result, headers=body.ignored_header())


@router.get("/{name}", response_model=Ok[told.WholeSkill], responses=may_fail(*AT_ADDRESS))
async def read(
    name: Name, asked: Annotated[RootParams, Query()], house: TheHouse, tenant: Tenant
) -> Response:
    """Return a skill: its text, and what files it has."""
    roots = roots_of(asked.target_uri, tenant)
    return ok(told.whole(await house.skills.browser.read(tenant, name, roots)))


@router.put(
    "/{name}",
    response_model=Ok[told.AddedSkills],
    responses=may_fail(*AT_ADDRESS, "CONFLICT", "FAILED_PRECONDITION"),
    openapi_extra=examples(SKILL_UPDATE),
)
async def update(
    name: Name,
    body: SkillBody,
    request: Request,
    house: TheHouse,
    tenant: Tenant,
) -> Response:
    """Replace a skill where it lies: as adding one of this name there, which must exist."""
    source_of(body)
    skill = await house.skills.browser.named(tenant, name, roots_of(body.target_uri, tenant))
    return await _added(body, skill.root, skill.name, request, house, tenant)


@router.delete("/{name}", response_model=Ok[told.GoneSkill], responses=may_fail(*AT_ADDRESS))
async def remove(
    name: Name, asked: Annotated[RootParams, Query()], house: TheHouse, tenant: Tenant
) -> Response:
    """Remove a skill with all its files; what is not there is no error."""
    roots = roots_of(asked.target_uri, tenant)
    skill = await house.skills.browser.find(tenant, name, roots)
    uri = roots[0].child(name) if skill is None else skill.uri
    gone = 0 if skill is None else await house.writer.remove(tenant, uri, recursive=True)
    return ok(told.gone(uri, gone))


async def _added(
    body: SkillBody,
    root: Uri,
    name: str,
    request: Request,
    house: House,
    tenant: Identity,
) -> Response:
    data, patience = source_of(body), Patience.of(body.timeout, premises_of(request))
    if data is None:
        batch = await house.skills.writer.add_upload(tenant, root, body.temp_file_id, name)
    else:
        batch = await house.skills.writer.write(tenant, root, data, name)
    if body.wait:
        async with aside(request):
            outcomes = await until_skills_added(house, tenant, batch, patience)
    else:
        outcomes = begun(batch)
    measured = telemetry(request, "skills.add") if body.telemetry else None
    result = told.added(batch, outcomes, waited=body.wait)
    return ok(result, telemetry=measured, headers=body.ignored_header())
