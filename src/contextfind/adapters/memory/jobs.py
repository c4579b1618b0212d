"""Job store in a dict."""

from collections.abc import Sequence
from datetime import datetime

from contextfind.domain.identity import Identity
from contextfind.ports.jobs import Job


class MemoryJobStore:
    """`JobStore` without a file."""

    def __init__(self) -> None:
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

    async def unfinished(self) -> Sequence[Job]:
        """See `JobStore.unfinished`."""
        open_jobs = [job for job in self._jobs.values() if not job.state.ended]
        return sorted(open_jobs, key=lambda job: (job.created_at, job.id))


def _belongs(job: Job, identity: Identity) -> bool:
    return (job.identity.account, job.identity.user) == (identity.account, identity.user)
