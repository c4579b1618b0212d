"""`wait=true`: answering only when what was asked for can be found."""

import asyncio
from dataclasses import dataclass

from contextfind.domain.errors import ConflictError, DeadlineExceededError, FailedPreconditionError
from contextfind.domain.identity import Identity
from contextfind.domain.uri import Uri
from contextfind.ingestion.settling import Settled
from contextfind.ports import Job, JobState
from contextfind.server.closing import Closing
from contextfind.server.house import House
from contextfind.server.premises import Premises
from contextfind.sessions.retrying import waits_for_its_time


@dataclass(frozen=True, slots=True)
class Patience:
    """How long one request waits; `end` is on the event loop's clock. It ends when the server does."""

    seconds: float
    end: float
    closing: Closing

    @classmethod
    def of(cls, timeout: float | None, premises: Premises) -> "Patience":
        """Return the patience that a caller's `timeout` means."""
        rules = premises.rules
        asked = rules.wait_seconds if timeout is None else timeout
        seconds = min(asked, rules.longest_wait_seconds)
        return cls(seconds, asyncio.get_running_loop().time() + seconds, premises.closing)

    @property
    def left(self) -> float:
        """Seconds that are left, never below 0."""
        return max(self.end - asyncio.get_running_loop().time(), 0.0)


async def until_settled(
    house: House, identity: Identity, under: Uri | None, patience: Patience
) -> Settled:
    """Wait until all below an address can be found; an embedder that is down ends the wait early.

    Raises:
        DeadlineExceededError: not finished in time; the work goes on.
        UnavailableError: the server is stopping; the work goes on after its restart.

    """
    async with patience.closing.ends_wait("what is stored can be found after its restart"):
        settled = await house.settling.settle(identity.account, under, patience.left, identity.user)
    pending = settled.texts + settled.directories
    if patience.left <= 0 and (pending or patience.seconds > 0):
        raise DeadlineExceededError(
            f"not finished within {patience.seconds:g} s; the work goes on. Wait for it with "
            "POST /api/v1/system/wait",
            {"retryable": True, "texts": settled.texts, "directories": settled.directories},
        )
    return settled


async def until_jobs_end(house: House, identity: Identity, patience: Patience) -> None:
    """Wait for every task that the caller has running; not for one whose time is yet to come.

    Raises:
        DeadlineExceededError: one needs longer; it goes on.
        UnavailableError: the server is stopping; the tasks go on after its restart.

    """
    for job in await house.jobs.running(identity):
        if not waits_for_its_time(job):
            await until_ended(house, identity, job.id, patience)


async def until_ended(house: House, identity: Identity, job_id: str, patience: Patience) -> Job:
    """Return the job when it has ended, however it did.

    Raises:
        DeadlineExceededError: it needs longer; it goes on.
        UnavailableError: the server is stopping; it goes on after the restart.

    """
    async with patience.closing.ends_wait(f"task {job_id} goes on after its restart"):
        return await house.jobs.finished(identity, job_id, patience.left)


async def until_added(house: House, identity: Identity, job: Job, patience: Patience) -> Job:
    """Return the job of an add when it has ended well; raises what `until_done` does."""
    return await until_done(house, identity, job, patience, "nothing more was added")


async def until_done(
    house: House, identity: Identity, job: Job, patience: Patience, failed: str
) -> Job:
    """Return a job when it has ended well; failed: how the refusal begins.

    Raises:
        DeadlineExceededError: it needs longer; it goes on.
        UnavailableError: the server is stopping; it goes on after the restart.
        FailedPreconditionError: it failed. ConflictError: somebody cancelled it.

    """
    ended = await until_ended(house, identity, job.id, patience)
    if ended.state is JobState.FAILED:
        raise FailedPreconditionError(f"{failed}: {ended.error}", {"task_id": ended.id})
    if ended.state is JobState.CANCELLED:
        raise ConflictError(f"task {ended.id} was cancelled", {"task_id": ended.id})
    return ended
