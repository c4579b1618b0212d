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
    in texts, None while nobody can say; they are not stored. left: whether others may come to the place that it is
    about; stored where several processes share the jobs. begun: how often something of it was begun to which no end
    came, because the process was gone by then; what is under way counts.
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
    left: bool = False
    begun: int = 0


class JobStore(Protocol):
    """Jobs, durably.

    A process has the jobs that it saved first, and those that it took over from a process that is gone.
    """

    @property
    def shared(self) -> bool:
        """Whether several processes may work on these jobs."""
        ...

    async def save(self, job: Job) -> None:
        """Write the job as it now is.

        Raises:
            TakenOverError: another process has it by now.

        """
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

    async def unfinished(self, account: str | None = None) -> Sequence[Job]:
        """Return every pending or running job, of one account or all, whoever has it; the first saved one first."""
        ...

    async def take_over(self) -> Sequence[Job]:
        """Return the unfinished jobs of processes that are gone, oldest first; they are this one's from now on.

        Of two processes that ask at once one gets each. Where jobs are not shared these are all that are unfinished.
        """
        ...

    async def request_cancel(self, identity: Identity, job_id: str) -> None:
        """Ask the process that has a job of this identity's account and user to cancel it; it sees that in `own`."""
        ...

    async def own(self) -> Mapping[str, bool]:
        """Return the ids of the unfinished jobs that this process has, and whether somebody asks to cancel them."""
        ...
