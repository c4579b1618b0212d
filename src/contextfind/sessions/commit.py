"""Commits: what was said is put away at once, its summary and its memories follow as a job."""

from collections.abc import Mapping
from dataclasses import dataclass

from contextfind.domain.conversation import Archive
from contextfind.domain.errors import NotFoundError
from contextfind.domain.identity import Identity
from contextfind.domain.session_ids import parse_session_id, session_uri
from contextfind.domain.uri import Uri
from contextfind.ingestion.errands import Course
from contextfind.ingestion.jobs import Jobs
from contextfind.ingestion.turns import Turns
from contextfind.ports import Clock, Job, JobState, SessionStore
from contextfind.ports.company import Company, Solitude
from contextfind.sessions.archiving import Archivist
from contextfind.sessions.report import report
from contextfind.sessions.retrying import Retrying

SESSION_COMMIT = "session_commit"
_PATIENCE = 10.0  # seconds that a commit waits for one of the same session in another process
_BUSY = "nothing new to archive; task {} is not through with the last commit yet"
_AGAIN = "nothing new to archive; what a model owes to an earlier commit is tried again"
_NOTHING = "nothing to archive"


@dataclass(frozen=True, slots=True)
class Committed:
    """What a commit did at once.

    archive: the new one, else the one whose summary or memories are tried again (None: neither).
    job: what goes on behind; None where nothing does. active_tokens: of the messages that stay.
    reason: why nothing was archived, empty where something was.
    """

    session_id: str
    archive: Archive | None
    job: Job | None
    active_tokens: int
    reason: str = ""


class Committer:
    """Archives messages, and is the `Errand` that summarises them and finds memories in them.

    The job is saved before the messages are archived, and looks for itself which archives wait: so
    none is forgotten when the process ends between any two steps. One that finds none ends.
    """

    kind = SESSION_COMMIT

    def __init__(
        self,
        sessions: SessionStore,
        archivist: Archivist,
        retrying: Retrying,
        jobs: Jobs,
        clock: Clock,
        company: Company | None = None,
    ) -> None:
        self._company = company or Solitude()
        self._sessions = sessions
        self._archivist = archivist
        self._retrying = retrying
        self._jobs = jobs
        self._clock = clock
        self._doors = Turns()  # one commit of a session is at its archiving at a time
        self._active: dict[str, tuple[str, Uri]] = {}  # by job: account and session

    async def commit(self, identity: Identity, session_id: str, keep: int = 0) -> Committed:
        """Archive all messages but the last `keep`; their summary is made behind the request.

        Of commits of one session at the same time the first one archives; those after it find
        nothing. What a model owes is tried again with each commit, and by the clock (`Retrying`).

        Raises:
            InvalidArgumentError: the id cannot be one. NotFoundError: there is no such session.

        """
        name = parse_session_id(session_id)
        door = self._doors.take(identity.account, session_uri(identity, name))
        try:
            await door.come()
            place = session_uri(identity, name)
            async with self._company.holding(
                "archiving", identity.account, place, patience=_PATIENCE
            ):
                return await self._commit(identity, name, keep)
        finally:
            self._doors.leave(door)

    def place(self, job: Job) -> Uri:
        """See `Errand.place`."""
        return Uri.parse(str(job.spec["root_uri"]))

    async def carry_out(self, job: Job, course: Course) -> Mapping[str, object]:
        """See `Errand.carry_out`."""
        who, name = job.identity, str(job.spec["session_id"])
        self._active[job.id] = (who.account, self.place(job))
        door = self._doors.take(who.account, self.place(job))
        try:
            await door.come()  # the request that started this has archived, or given up
        finally:
            self._doors.leave(door)
        await course.come()  # another process may be at this session
        async with course.at_work("summarising"):
            done = await self._archivist.work_off(who, name, course)
        if any(one.stalled for one in done):
            await self._retrying.later(who, name)
        return report(who, name, done)

    async def ended(self, job: Job) -> None:
        """Give a summary to what a cancelled or failed job leaves; a later commit does the rest."""
        self._active.pop(job.id, None)
        if job.state is not JobState.COMPLETED:
            await self._archivist.quote_waiting(job.identity, str(job.spec["session_id"]))

    async def _commit(self, identity: Identity, name: str, keep: int) -> Committed:
        session = await self._sessions.get(identity, name)
        if session is not None and session.message_count > keep:
            job = await self._start(identity, name)
            archive = await self._sessions.archive(identity, name, keep, self._clock())
            session = await self._sessions.get(identity, name)
            if session is not None and archive is not None:
                return Committed(name, archive, job, session.pending_tokens)
        if session is None:
            raise NotFoundError(f"no session {name!r}", {"resource": name, "type": "session"})
        tokens = session.pending_tokens
        busy = await self._busy(identity, name)
        if busy:
            return Committed(name, None, None, tokens, _BUSY.format(busy))
        owed = await self._archivist.waiting(identity, name)
        if not owed:
            return Committed(name, None, None, tokens, _NOTHING)
        job = await self._start(identity, name)
        return Committed(name, owed[-1], job, tokens, _AGAIN)

    async def _start(self, identity: Identity, name: str) -> Job:
        place = session_uri(identity, name)
        spec = {"session_id": name, "root_uri": place.text}
        job = await self._jobs.start(identity, SESSION_COMMIT, spec)
        self._active[job.id] = (identity.account, place)
        return job

    async def _busy(self, identity: Identity, name: str) -> str:
        """Return the id of a job that is at this session, empty where there is none."""
        place = (identity.account, session_uri(identity, name))
        for number in [job for job, other in self._active.items() if other == place]:
            job = await self._jobs.get(identity, number)
            if not job.state.ended:  # else it is seen to have ended, and only tidies up
                return job.id
        return ""
