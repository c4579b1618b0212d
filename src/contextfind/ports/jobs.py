"""Long work that survives a restart."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from contextfind.domain.identity import Identity


class JobState(StrEnum):
    """A job is pending or running until it ends one way."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen."""
        return self not in (JobState.PENDING, JobState.RUNNING)


@dataclass(frozen=True, slots=True)
class Job:
    """What was asked for (`spec`), how far it is (`done` of `total` files), how it ended.

    spec and result hold JSON values only. rate and seconds_left are of the stage that it is in, in files or
    in texts, None while nobody can say; they are not stored.
    """

    id: str
    identity: Identity
    kind: str
    state: JobState
    created_at: datetime
    updated_at: datetime
    spec: Mapping[str, object] = field(default_factory=dict)
    stage: str = ""
    done: int = 0
    total: int = 0
    result: Mapping[str, object] | None = None
    error: str | None = None
    rate: float | None = None
    seconds_left: float | None = None


class JobStore(Protocol):
    """Jobs, durably."""

    async def save(self, job: Job) -> None:
        """Write the job as it now is."""
        ...

    async def get(self, identity: Identity, job_id: str) -> Job | None:
        """Return a job of this identity's account and user, None when there is none."""
        ...

    async def list(self, identity: Identity, limit: int) -> Sequence[Job]:
        """Return at most `limit` of the identity's jobs, newest first."""
        ...

    async def forget(self, before: datetime, limit: int) -> int:
        """Remove at most `limit` jobs that ended before a moment, and return how many that were."""
        ...

    async def unfinished(self) -> Sequence[Job]:
        """Return every pending or running job, oldest first (asked once, at start)."""
        ...
