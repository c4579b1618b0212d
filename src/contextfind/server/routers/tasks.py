"""tasks: background work and how far it is."""

from typing import Annotated

from fastapi import Query
from pydantic import Field
from starlette.responses import Response

from contextfind.server.envelope import ok
from contextfind.server.openapi import may_fail, room
from contextfind.server.premises import Tenant, TheHouse
from contextfind.server.wire.answers import Ok, Task
from contextfind.server.wire.body import Params
from contextfind.server.wire.tasks import task

router = room("tasks")

_LOOKED_AT = 1_000  # newest jobs among which the filters choose


class TaskParams(Params):
    """Which tasks: of one type, one state, one resource; newest first."""

    limit: Annotated[int, Field(ge=1, le=_LOOKED_AT, description="The most tasks.")] = 50
    task_type: Annotated[str | None, Field(description="Of this kind only.")] = None
    status: Annotated[str | None, Field(description="In this state only.")] = None
    resource_id: Annotated[str | None, Field(description="Of this address only.")] = None


@router.get("", response_model=Ok[list[Task]], responses=may_fail())
async def tasks(asked: Annotated[TaskParams, Query()], house: TheHouse, tenant: Tenant) -> Response:
    """Return the caller's tasks, newest first."""
    shown = [task(job) for job in await house.jobs.list(tenant, _LOOKED_AT)]
    wanted = asked.model_dump(exclude={"limit"}, exclude_none=True)
    kept = [one for one in shown if all(one[name] == value for name, value in wanted.items())]
    return ok(kept[: asked.limit])


@router.get("/{task_id}", response_model=Ok[Task], responses=may_fail("NOT_FOUND"))
async def one_task(task_id: str, house: TheHouse, tenant: Tenant) -> Response:
    """Return one of the caller's tasks."""
    return ok(task(await house.jobs.get(tenant, task_id)))


@router.post("/{task_id}/cancel", response_model=Ok[Task], responses=may_fail("NOT_FOUND"))
async def cancel(task_id: str, house: TheHouse, tenant: Tenant) -> Response:
    """Stop a task; what it has written stays. One that has ended stays as it is."""
    return ok(task(await house.jobs.cancel(tenant, task_id)))
