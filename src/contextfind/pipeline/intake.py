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
                ended = await self._house.jobs.finished(OWNER, job.id, self._left())
            except DeadlineExceededError:
                raise self._late() from None
            _report(ended)

    async def _start(self, source: Source) -> Job:
        if source.origin is None:
            return await self._add(source, source.path)
        with await asyncio.to_thread(
            tempfile.TemporaryDirectory, prefix="contextfind-clone-"
        ) as work:
            files = Path(work) / source.uri.name
            left = self._left()
            await clone(source.origin, files, 3_600.0 if left is None else left)
            job = await self._add(source, files)
            await self._until_read(job)
            return job

    async def _add(self, source: Source, path: Path | None) -> Job:
        request = AddRequest(
            path=str(path),
            source_name=source.uri.name,
            parent=source.uri.parent,
            exclude=source.exclude,
        )
        return await self._house.adding.add_resource(OWNER, request, own=True)

    async def _until_read(self, job: Job) -> None:
        """Return when the files of a clone are in the tree; the clone is removed then."""
        while not job.state.ended and job.stage != _READ:
            left = self._left()
            if left is not None and left <= 0:
                raise self._late()
            await asyncio.sleep(_LOOK_SECONDS)
            job = await self._house.jobs.get(OWNER, job.id)

    def _left(self) -> float | None:
        return None if self._end is None else self._end - self._loop.time()

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
