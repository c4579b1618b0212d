"""Job store in a dict."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from contextfind.domain.identity import Identity
from contextfind.ports.jobs import Job


class MemoryJobStore:
    """`JobStore` without a file."""

    shared = False

    def __init__(self) -> None:
        self._cancel: set[str] = set()
        self._jobs: dict[str, Job] = {}

    async def save(self, job: Job) -> None:
        """See `JobStore.save`."""
        self._jobs[job.id] = job

    async def get(self, identity: Identity, job_id: str) -> Job | None:
        """See `JobStore.get`."""
        job = self._jobs.get(job_id)
        return job if job is not None and _belongs(job, identity) else None

    async def list(self, identity: Identity, limit: int) -> Sequence[Job]:
        """See `JobStore.list`."""
        mine = [job for job in self._jobs.values() if _belongs(job, identity)]
        return sorted(mine, key=lambda job: (job.created_at, job.id), reverse=True)[:limit]

    async def forget(self, before: datetime, limit: int) -> int:
        """See `JobStore.forget`."""
        over = [one for one in self._jobs.values() if one.state.ended and one.updated_at < before]
        for job in over[:limit]:
            del self._jobs[job.id]
        return len(over[:limit])

    async def unfinished(self, account: str | None = None) -> Sequence[Job]:
        """See `JobStore.unfinished`."""
        open_jobs = [
            job
            for job in self._jobs.values()
            if not job.state.ended and account in (None, job.identity.account)
        ]
        return sorted(open_jobs, key=lambda job: (job.created_at, job.id))

    async def take_over(self) -> Sequence[Job]:
        """See `JobStore.take_over`."""
        return await self.unfinished()

    async def request_cancel(self, identity: Identity, job_id: str) -> None:
        """See `JobStore.request_cancel`."""
        if await self.get(identity, job_id) is not None:
            self._cancel.add(job_id)

    async def own(self) -> Mapping[str, bool]:
        """See `JobStore.own`."""
        return {job.id: job.id in self._cancel for job in await self.unfinished()}


def _belongs(job: Job, identity: Identity) -> bool:
    return (job.identity.account, job.identity.user) == (identity.account, identity.user)
