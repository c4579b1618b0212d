"""Indexing local paths while the server answers."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from contextfind.cli.meter import Countdown, Meter, meter
from contextfind.cli.pace import Paces
from contextfind.cli.screen import say
from contextfind.cli.startup import Source
from contextfind.domain.errors import ContextFindError
from contextfind.domain.identity import DEFAULT_ACCOUNT, DEFAULT_USER, Identity
from contextfind.ingestion.adding import AddRequest
from contextfind.ports import Job, JobState
from contextfind.wiring import House

LOOK_SECONDS = 0.25  # between two looks at a job: fast enough for a bar
OWNER = Identity(DEFAULT_ACCOUNT, DEFAULT_USER)


@asynccontextmanager
async def indexing(
    house: House, sources: Sequence[Source], up: asyncio.Event
) -> AsyncIterator[None]:
    """Index the sources one after the other in the background, from `up` on; leaving stops looking.

    What is under way then is carried on at the next start of the server.
    """
    task = asyncio.create_task(_index_all(house, sources, up), name="indexing of paths")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _index_all(house: House, sources: Sequence[Source], up: asyncio.Event) -> None:
    await up.wait()
    for source in sources:
        try:
            with meter() as shown:
                job = await _followed(house, source, shown)
        except ContextFindError as error:
            say(f"{source.name}: {error}", style="red")
            continue
        _report(source, job)


async def _followed(house: House, source: Source, shown: Meter) -> Job:
    request = AddRequest(path=str(source.path), source_name=source.name)
    job = await house.adding.add_resource(OWNER, request, own=True)
    countdown, paces = Countdown(), Paces()
    while not job.state.ended:
        if job.stage == "embedding":
            left = await house.settling.settle(OWNER.account, source.uri, 0)
            done, total = countdown.at(left.texts)
            unit = paces.at("embedded", done, total, "texts")
            shown.show(f"{source.name}: embedded", done, total, unit)
        else:
            unit = paces.at("indexed", job.done, job.total, "files")
            shown.show(f"{source.name}: indexed", job.done, job.total, unit)
        await asyncio.sleep(LOOK_SECONDS)
        job = await house.jobs.get(OWNER, job.id)
    return job


def _report(source: Source, job: Job) -> None:
    if job.state is not JobState.COMPLETED:
        say(f"{source.name}: {job.error or job.state.value}", style="red")
        return
    result = job.result or {}
    counts = ("added", "updated", "unchanged", "removed", "skipped_count", "failed_count")
    told = [f"{result[name]} {name.removesuffix('_count')}" for name in counts if result.get(name)]
    say(f"{source.uri}: {', '.join(told) or 'nothing in it'}", style="green")
    if result.get("note"):
        say(str(result["note"]), style="yellow")
