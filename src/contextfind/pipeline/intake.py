"""Sources into the tree of an open house, as jobs."""

import asyncio
import logging
import tempfile
from collections.abc import Sequence
from pathlib import Path

from contextfind.adapters.git.clones import clone
from contextfind.domain.errors import DeadlineExceededError, FailedPreconditionError
from contextfind.domain.identity import DEFAULT_ACCOUNT, DEFAULT_USER, Identity
from contextfind.ingestion.adding import AddRequest
from contextfind.pipeline.sources import Source
from contextfind.ports import Job, JobState
from contextfind.wiring import House

_log = logging.getLogger(__name__)

OWNER = Identity(DEFAULT_ACCOUNT, DEFAULT_USER)
_LOOK_SECONDS = 0.05  # between two looks at a job that reads a clone
_LONGEST_CLONE = 3_600.0  # seconds of one, where the caller waits as long as it takes
_READ = "embedding"  # the stage from which on the files themselves are not needed any more


class Intake:
    """Adds sources within a time; what is not finished then goes on by itself.

    seconds: for all that is done with it together; None for as long as it takes.
    """

    def __init__(self, house: House, seconds: float | None) -> None:
        self._house = house
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._end = None if seconds is None else self._loop.time() + seconds

    async def start(self, sources: Sequence[Source]) -> list[Job]:
        """Clone what must be cloned, and start the jobs, in order.

        Raises:
            UnavailableError: a repository cannot be cloned; what was started before goes on.
            DeadlineExceededError: the time is over before everything was started.

        """
        return [await self._start(source) for source in sources]

    async def finished(self, jobs: Sequence[Job]) -> None:
        """Return when all jobs have ended; what could not be taken in is named in the log.

        Raises:
            DeadlineExceededError: the time is over.
            FailedPreconditionError: a job failed; the message says why.

        """
        for job in jobs:
            try:
                ended = await self._house.jobs.finished(OWNER, job.id, self._limit())
            except DeadlineExceededError:
                raise self._late() from None
            _report(ended)

    async def _start(self, source: Source) -> Job:
        if source.origin is None:
            return await self._add(source, source.path)
        work = await asyncio.to_thread(tempfile.TemporaryDirectory, prefix="contextfind-clone-")
        try:
            files = Path(work.name) / source.uri.name
            await clone(source.origin, files, self._left(_LONGEST_CLONE))
            job = await self._add(source, files)
            return await self._read(job)
        finally:
            await asyncio.shield(asyncio.to_thread(work.cleanup))

    async def _add(self, source: Source, path: Path | None) -> Job:
        request = AddRequest(
            path=str(path),
            source_name=source.uri.name,
            parent=source.uri.parent,
            exclude=source.exclude,
        )
        return await self._house.adding.add_resource(OWNER, request, own=True)

    async def _read(self, job: Job) -> Job:
        """Return when the files of a clone are in the tree, or the job has ended.

        One that is given up is cancelled: its files are about to go.
        """
        try:
            async with asyncio.timeout(self._limit()):
                while not job.state.ended and job.stage != _READ:
                    await asyncio.sleep(_LOOK_SECONDS)
                    job = await self._house.jobs.get(OWNER, job.id)
        except BaseException as fault:
            await self._house.jobs.cancel(OWNER, job.id)
            if isinstance(fault, TimeoutError):
                raise self._unread(job) from None
            raise
        return job

    def _limit(self) -> float | None:
        return None if self._end is None else self._left(0.0)

    def _left(self, unbounded: float) -> float:
        """Return how many seconds are left; `unbounded` where there is no limit."""
        return unbounded if self._end is None else max(self._end - self._loop.time(), 0.0)

    def _unread(self, job: Job) -> DeadlineExceededError:
        return DeadlineExceededError(
            f"{job.spec['root_uri']} could not be read within {self._seconds:g} s; add it again with a "
            "longer timeout"
        )

    def _late(self) -> DeadlineExceededError:
        return DeadlineExceededError(
            f"not everything is searchable after {self._seconds:g} s; the work goes on while the "
            "pipeline is open, and when it is opened again; a longer timeout waits for it"
        )


def _report(job: Job) -> None:
    uri, result = job.spec.get("root_uri"), job.result or {}
    if job.state is not JobState.COMPLETED:
        raise FailedPreconditionError(f"{uri}: {job.error or job.state.value}")
    if not any(result.get(kind) for kind in ("added", "updated", "unchanged")):
        _log.warning(
            "%s: nothing of it was taken in: %s", uri, result.get("skipped") or "it is empty"
        )
    if result.get("failed_count"):
        told = (uri, result["failed_count"], result.get("failed"))
        _log.warning("%s: %s files could not be read: %s", *told)
    if result.get("note"):
        _log.warning("%s: %s", uri, result["note"])
