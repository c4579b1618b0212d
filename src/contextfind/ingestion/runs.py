"""One job that is carried out here: what its errand tells of it, and what is held against it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field, replace

from contextfind.domain.errors import FailedPreconditionError, UnavailableError
from contextfind.domain.uri import Uri
from contextfind.ingestion.errands import Errand
from contextfind.ingestion.pulse import Pulse
from contextfind.ingestion.speed import Speed
from contextfind.ports import Clock, Job, JobState, JobStore

LOOK_SECONDS = 1.0  # between two looks at what other processes ask for, and have left behind
# A process that ends once is chance (somebody killed it, the power went), and twice may be the doing of another job, at
# work beside. So from then on such jobs are at work one at a time: whoever was the third time has done it.
MOST_BEGUN = 3
_SUSPECT = MOST_BEGUN - 1


@dataclass(frozen=True, slots=True)
class Workplace:
    """What all jobs of a process have in common.

    may_come: whether no earlier job is at a job's place. moves: beats when one has left, wherever that was.
    alone: held by the one suspect that is at work.
    """

    may_come: Callable[[Job, Uri], Awaitable[bool]]
    store: JobStore
    clock: Clock
    moves: Pulse = field(default_factory=Pulse)
    alone: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass(slots=True)
class Run:
    """A job that this process carries out; its errand sees it as a `Course`."""

    job: Job
    errand: Errand
    place: Uri
    workplace: Workplace
    task: asyncio.Task[None] | None = None
    changed: Pulse = field(default_factory=Pulse)
    speed: Speed = field(default_factory=Speed)
    farthest: int = field(init=False)  # how much was done when the last process ended at it

    def __post_init__(self) -> None:
        """Take over how far it has come."""
        self.farthest = self.job.done

    async def come(self) -> None:
        """See `Course.come`."""
        moves = self.workplace.moves
        while True:
            beats = moves.beats
            if await self.workplace.may_come(self.job, self.place):
                return
            await moves.wait(LOOK_SECONDS, beats)

    @contextlib.asynccontextmanager
    async def at_work(self, stage: str) -> AsyncIterator[None]:
        """See `Course.at_work`."""
        suspect = self.job.begun >= _SUSPECT
        async with self.workplace.alone if suspect else contextlib.nullcontext():
            self.job = replace(self.job, begun=self.job.begun + 1)
            try:
                await self.note(stage)
                yield
            finally:  # stored with what is noted next, or when the process stops
                self.job = replace(self.job, begun=self.job.begun - 1)

    def leave(self) -> None:
        """See `Course.leave`."""
        self.job = replace(self.job, left=True)
        self.workplace.moves.beat()

    async def note(self, stage: str, done: int | None = None, total: int | None = None) -> None:
        """See `Course.note`."""
        job = replace(self.job, state=JobState.RUNNING, stage=stage)
        done, total = job.done if done is None else done, job.total if total is None else total
        ahead = self.speed.at(self.workplace.clock(), stage, done, total)
        job = replace(job, rate=ahead.rate, seconds_left=ahead.seconds)
        if job.begun > 1 and done > self.farthest:  # what the others died of is behind it
            job = replace(job, begun=1)
        with contextlib.suppress(UnavailableError):  # whoever asks is told all the same
            await self.write(replace(job, done=done, total=total))

    def foresee(self, left: int) -> None:
        """See `Course.foresee`."""
        ahead = self.speed.when_left(self.workplace.clock(), self.job.stage, left)
        self.job = replace(self.job, rate=ahead.rate, seconds_left=ahead.seconds)

    def require_hope(self) -> None:
        """Refuse a job that its processes die of.

        Raises:
            FailedPreconditionError: it was begun too often.

        """
        if self.job.begun >= MOST_BEGUN:
            raise FailedPreconditionError(
                f"given up: {self.job.begun} times the server was gone while it was at this task (killed, out of memory, "
                "or a parser that crashed on a file); see the log of the system for why, then start it again with less "
                "at once, or without that file"
            )

    async def write(self, job: Job) -> None:
        """Save the job as it now is, and wake whoever waits for it, saved or not."""
        self.job = replace(job, updated_at=self.workplace.clock())
        try:
            await self.workplace.store.save(self.job)
        finally:
            self.changed.beat()
