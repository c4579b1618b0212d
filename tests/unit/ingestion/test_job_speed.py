import asyncio
from collections.abc import Mapping
from datetime import timedelta
from itertools import count

from contextfind.adapters.memory.jobs import MemoryJobStore
from contextfind.domain.uri import Uri
from contextfind.ingestion.errands import Course
from contextfind.ingestion.jobs import Jobs
from contextfind.ports import Job
from contextfind.server.wire.tasks import task
from tests.builders import NOON
from tests.households import ANN, DOCS


class Walk:
    """An errand that stops on its way until it is told to go on; a look at the clock takes a second."""

    kind = "walk"

    def __init__(self) -> None:
        self.at = asyncio.Semaphore(0)
        self.on = asyncio.Semaphore(0)

    def place(self, job: Job) -> Uri:  # noqa: ARG002 - see `Errand`
        return DOCS

    async def carry_out(self, job: Job, course: Course) -> Mapping[str, object]:  # noqa: ARG002
        await course.note("reading", 0, 100)
        await course.note("reading", 20, 100)
        self.at.release()
        await self.on.acquire()
        await course.note("embedding")
        course.foresee(50)
        course.foresee(40)
        self.at.release()
        await self.on.acquire()
        return {}

    async def ended(self, job: Job) -> None:
        """Nothing to tidy up."""


async def test_a_running_job_tells_its_rate_and_when_its_stage_ends() -> None:
    seconds, numbers = count(), count()
    walk = Walk()
    jobs = Jobs(
        MemoryJobStore(),
        lambda: NOON + timedelta(seconds=next(seconds)),
        lambda: f"id{next(numbers)}",
    )
    jobs.take_on(walk)
    job = await jobs.start(ANN, "walk", {})
    told = []
    for _ in range(2):
        await asyncio.wait_for(walk.at.acquire(), 10)
        shown = task(await jobs.get(ANN, job.id))
        told.append([shown["stage"], shown["done"], shown["rate"], shown["eta_seconds"]])
        walk.on.release()
    # two looks at the clock from one note to the next, one from one foresight to the next
    assert told == [["reading", 20, 10.0, 8.0], ["embedding", 20, 10.0, 4.0]]
    ended = task(await jobs.finished(ANN, job.id, 10))
    assert (ended["rate"], ended["eta_seconds"]) == (None, None)
