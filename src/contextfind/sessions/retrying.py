"""When what a model owes to archives is asked for again: by the clock, also over a restart."""

import asyncio
from collections.abc import Mapping, Sequence

from contextfind.domain.identity import Identity
from contextfind.domain.session_ids import session_uri
from contextfind.domain.uri import Uri
from contextfind.ingestion.errands import Course
from contextfind.ingestion.jobs import Jobs
from contextfind.ports import Clock, Job, JobState
from contextfind.sessions.archiving import Archivist
from contextfind.sessions.report import report

SESSION_RETRY = "session_retry"
_WAITING = "waiting"
WAITS = (60.0, 240.0, 960.0, 3_840.0)  # seconds before each try, as for summaries of directories


def waits_for_its_time(job: Job) -> bool:
    """Whether nothing of the job is done before its time comes, which may be an hour from now."""
    begun = job.state is JobState.RUNNING and job.stage != _WAITING
    return job.kind == SESSION_RETRY and not begun and not job.state.ended


class Retrying:
    """Starts jobs that wait and try again, one per session, and is the `Errand` that does so."""

    kind = SESSION_RETRY

    def __init__(
        self, archivist: Archivist, jobs: Jobs, clock: Clock, waits: Sequence[float] = WAITS
    ) -> None:
        self._archivist = archivist
        self._jobs = jobs
        self._clock = clock
        self._waits = waits
        self._waiting: dict[str, tuple[str, Uri]] = {}  # by job: account and session
        self._starting: set[tuple[str, Uri]] = set()  # those whose job is being saved

    async def later(self, identity: Identity, session_id: str, tries: int = 0) -> bool:
        """Have what a session is owed tried again; False after the last of the tries.

        tries: how many there were. A session that waits already waits once.
        """
        place = session_uri(identity, session_id)
        if tries >= len(self._waits):
            return False
        mine = (identity.account, place)
        if mine not in self._waiting.values() and mine not in self._starting:
            spec = {"session_id": session_id, "root_uri": place.text, "tries": tries}
            self._starting.add(mine)
            try:
                job = await self._jobs.start(identity, SESSION_RETRY, spec)
                self._waiting[job.id] = mine
            finally:
                self._starting.discard(mine)
        return True

    def place(self, job: Job) -> Uri:
        """See `Errand.place`."""
        return Uri.parse(str(job.spec["root_uri"]))

    async def carry_out(self, job: Job, course: Course) -> Mapping[str, object]:
        """See `Errand.carry_out`; after a restart only the rest of the time is waited for.

        Never longer than that, though: the clock may have been set back.
        """
        who, name = job.identity, str(job.spec["session_id"])
        self._waiting[job.id] = (who.account, self.place(job))
        course.leave()  # commits of the session do not wait for the end of this
        await course.note(_WAITING)
        tries = int(str(job.spec["tries"]))
        wait = self._waits[min(tries, len(self._waits) - 1)]
        passed = (self._clock() - job.created_at).total_seconds()
        await asyncio.sleep(wait - min(max(passed, 0.0), wait))
        self._waiting.pop(job.id, None)
        async with course.at_work("summarising"):
            done = await self._archivist.work_off(who, name, course)
        if any(one.stalled for one in done):
            await self.later(who, name, tries + 1)
        return report(who, name, done)

    async def ended(self, job: Job) -> None:
        """See `Errand.ended`."""
        self._waiting.pop(job.id, None)
