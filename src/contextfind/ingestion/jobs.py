"""Long work in the background: started by a request, seen by its id, finished after a crash, by whichever process lives."""

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from contextfind.domain.errors import (
    ContextFindError,
    DeadlineExceededError,
    DiskRefusesError,
    NotFoundError,
    StoreDownError,
    TakenOverError,
    UnavailableError,
)
from contextfind.domain.identity import Identity
from contextfind.domain.uri import Uri
from contextfind.ingestion.errands import Errand
from contextfind.ingestion.runs import LOOK_SECONDS, MOST_BEGUN, Run, Workplace
from contextfind.ports import Clock, IdMaker, Job, JobState, JobStore

_log = logging.getLogger(__name__)

_ENDING_SECONDS = (
    5.0  # that whoever cancels waits until it is stored; on a full disk it goes on behind
)
_ROOM_SECONDS = 1.0  # between two looks whether a disk takes something again
_GLANCE_SECONDS = (
    0.2  # between two looks at a job that another process carries out and somebody waits for
)


class Jobs:
    """Runs jobs of the kinds that it was told of, and remembers how they went."""

    def __init__(self, store: JobStore, clock: Clock, new_id: IdMaker) -> None:
        self._store = store
        self._clock = clock
        self._new_id = new_id
        self._errands: dict[str, Errand] = {}
        self._running: dict[str, Run] = {}
        self._workplace = Workplace(self._may_come, store, clock)
        self._watch: asyncio.Task[None] | None = None
        self._unbegun: set[str] = (
            set()
        )  # jobs of this process that it was not at, when it last looked

    def take_on(self, errand: Errand) -> None:
        """Run jobs of the errand's kind from now on."""
        self._errands[errand.kind] = errand

    async def start(self, identity: Identity, kind: str, spec: Mapping[str, object]) -> Job:
        """Save a job of a kind that was taken on, start it, and return at once."""
        now = self._clock()
        job = Job(
            id=self._new_id(),
            identity=identity,
            kind=kind,
            state=JobState.PENDING,
            created_at=now,
            updated_at=now,
            spec=spec,
        )
        errand = self._errands[kind]
        await self._store.save(job)
        if job.id not in self._running:  # it took so long that it was begun already
            self._start(job, errand)
        return job

    async def resume(self) -> int:
        """Start again what a process that is gone left unfinished; return how many jobs that are.

        Those of a kind that was not taken on stay as they are. Where several processes share the jobs, this one looks
        from now on for what the others leave behind, and want cancelled.
        """
        known = 0
        for job in await self._store.take_over():
            if job.id in self._running:
                continue
            errand = self._errands.get(job.kind)
            if errand is None:
                _log.warning("task %s stays unfinished: unknown kind %r", job.id, job.kind)
                continue
            if job.begun:
                told = (job.id, job.kind, job.begun, MOST_BEGUN)
                _log.warning("the process that was at task %s (%s) is gone: %d of %d times", *told)
            self._start(replace(job, left=False), errand)
            known += 1
        if self._store.shared and self._watch is None:
            self._watch = asyncio.create_task(self._look_around(), name="jobs of other processes")
        return known

    async def get(self, identity: Identity, job_id: str) -> Job:
        """Return a job of this identity.

        Raises:
            NotFoundError: there is none with this id.

        """
        running = self._running.get(job_id)
        if running is not None and running.job.identity == identity:
            return running.job
        job = await self._store.get(identity, job_id)
        if job is None:
            raise NotFoundError(f"no task {job_id!r}", {"resource": job_id, "type": "task"})
        return job

    async def list(self, identity: Identity, limit: int) -> Sequence[Job]:
        """Return the identity's jobs, newest first."""
        stored = await self._store.list(identity, limit)
        return [self._running[j.id].job if j.id in self._running else j for j in stored]

    async def running(self, identity: Identity) -> Sequence[Job]:
        """Return the jobs of the identity's account and user that wait or run, in the order of their start."""
        jobs = await self._unended(identity.account)
        return [job for job in jobs if job.identity.user == identity.user]

    async def finished(
        self,
        identity: Identity,
        job_id: str,
        timeout: float | None,  # noqa: ASYNC109 - ends with our own error, which says what goes on
    ) -> Job:
        """Return the job when it has ended.

        Raises:
            NotFoundError: there is none with this id.
            DeadlineExceededError: it runs longer than `timeout` seconds; it goes on all the same.

        """
        loop = asyncio.get_running_loop()
        end = None if timeout is None else loop.time() + timeout
        told = "" if timeout is None else f"{round(timeout, 2):g}"
        while True:
            running = self._running.get(job_id)
            beats = 0 if running is None else running.changed.beats
            job = await self.get(identity, job_id)
            if job.state.ended or (running is None and not self._store.shared):
                return job
            left = None if end is None else end - loop.time()
            if left is not None and left <= 0:
                raise DeadlineExceededError(
                    f"task {job_id} is not finished after {told} s and goes on; "
                    f"ask GET /api/v1/tasks/{job_id}",
                    {"task_id": job_id},
                )
            if running is None:
                await asyncio.sleep(_GLANCE_SECONDS if left is None else min(_GLANCE_SECONDS, left))
            else:
                await running.changed.wait(left, beats)

    async def cancel(self, identity: Identity, job_id: str) -> Job:
        """Stop a job, in whatever process; what it has committed stays. One that has ended stays as it is."""
        job = await self.get(identity, job_id)
        if job.state.ended:
            return job
        running = self._running.get(job_id)
        if running is not None:
            await self._stop(running)
            return running.job
        if self._store.shared:
            await self._store.request_cancel(identity, job_id)
            with contextlib.suppress(DeadlineExceededError):
                return await self.finished(identity, job_id, _ENDING_SECONDS)
        return await self.get(identity, job_id)

    def under_way(self) -> Mapping[JobState, int]:
        """Return how many jobs of all identities run in this process, and how many wait for their turn."""
        return Counter(running.job.state for running in self._running.values())

    async def unfinished(self, account: str) -> int:
        """Return how many jobs of an account wait or run."""
        return len(await self._unended(account))

    async def at_work(self, account: str, place: Uri) -> bool:
        """Whether a job waits or runs that may yet change something at, above or below an address."""
        return any(self._meets(job, place) for job in await self._unended(account))

    async def aclose(self) -> None:
        """Interrupt what runs; it stays unfinished and is resumed at the next start, or by another process."""
        here = [(running, running.job.begun) for running in self._running.values()]
        tasks = [running.task for running, _ in here if running.task is not None]
        if self._watch is not None:
            tasks.append(self._watch)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        # Who was at work, and is no more: that is written down, for this process is not gone without a word.
        stopped = [running for running, begun in here if running.job.begun < begun]
        saves = [one.write(one.job) for one in stopped if not one.job.state.ended]
        await asyncio.gather(*saves, return_exceptions=True)

    async def _unended(self, account: str) -> Sequence[Job]:
        """Return the jobs of an account that wait or run, in the order of their start: each as new as it is known."""
        here = [one.job for one in self._running.values() if one.job.identity.account == account]
        if self._store.shared:
            known = {job.id: job for job in here}
            stored = await self._store.unfinished(account)
            here = [known.get(job.id, job) for job in stored]
        return [job for job in here if not job.state.ended]

    async def _may_come(self, job: Job, place: Uri) -> bool:
        for other in await self._unended(job.identity.account):
            if other.id == job.id:
                break
            if self._meets(other, place):
                return False
        return True

    def _meets(self, job: Job, place: Uri) -> bool:
        """Whether a job still is at a place, or at one above or below it."""
        running, errand = self._running.get(job.id), self._errands.get(job.kind)
        if job.left or errand is None:
            return False
        taken = errand.place(job) if running is None else running.place
        return taken.is_under(place) or place.is_under(taken)

    async def _look_around(self) -> None:
        """Do, until cancelled, what other processes ask for, and what those leave behind that are gone."""
        told = ""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                await self._obey()
                adopted = await self.resume()
                told = ""
            except ContextFindError as fault:
                if str(fault) != told:
                    told = str(fault)
                    _log.warning("does not see the tasks of other processes: %s", told)
                continue
            if adopted:
                _log.info("%d unfinished tasks of a process that is gone go on here", adopted)

    async def _obey(self) -> None:
        """End what somebody asked another process to cancel, and let go what another process has taken over."""
        here = list(self._running.values())
        own = await self._store.own()
        for running in here:
            if running.job.state.ended or running.task is None:
                continue
            cancel = own.get(running.job.id)
            if cancel is None:
                running.task.cancel()
                self._let_go(running)
            elif cancel:
                await self._stop(running)
        await self._begin_left({job for job in own if job not in self._running})

    async def _begin_left(self, unbegun: set[str]) -> None:
        """Begin what was saved and never begun: others at its place would wait for it for ever.

        Whoever started it was cancelled just then, or has never heard that it was saved.
        """
        left, self._unbegun = unbegun & self._unbegun, unbegun
        for job in await self._store.unfinished() if left else ():
            errand = self._errands.get(job.kind)
            if job.id in left and job.id not in self._running and errand is not None:
                _log.info("task %s was saved and not begun; it begins now", job.id)
                self._start(replace(job, left=False), errand)

    def _let_go(self, running: Run) -> None:
        _log.warning("another process has taken over task %s", running.job.id)
        self._running.pop(running.job.id, None)
        running.leave()
        running.changed.beat()

    async def _stop(self, running: Run) -> None:
        """Interrupt a job and save that it was cancelled, unless it comes to its end meanwhile."""
        if running.task is None or running.job.state.ended:
            return
        running.task.cancel()
        await asyncio.wait([running.task])
        if not running.job.state.ended:
            stopped = replace(
                running.job, state=JobState.CANCELLED, error="cancelled by the caller"
            )
            running.job = stopped  # at once: somebody else may stop it too
            running.task = asyncio.create_task(self._end(running, stopped))
            await asyncio.wait([running.task], timeout=_ENDING_SECONDS)

    def _start(self, job: Job, errand: Errand) -> None:
        running = Run(job, errand, errand.place(job), self._workplace)
        self._running[job.id] = running
        running.task = asyncio.create_task(self._run(running), name=f"job {job.id}")
        running.task.add_done_callback(lambda task: self._ended(running, task))

    def _ended(self, running: Run, task: asyncio.Task[None]) -> None:
        """Let the next job come, and give one that fell over a clear end."""
        running.leave()
        if task.cancelled() or task.exception() is None:
            return
        _log.error("task %s broke off", running.job.id, exc_info=task.exception())
        fallen = replace(
            running.job,
            state=JobState.FAILED,
            error=f"internal error; the log of the server names task {running.job.id}",
        )
        running.task = asyncio.create_task(self._end(running, fallen))

    async def _run(self, running: Run) -> None:
        try:
            running.require_hope()
            result = await self._result(running)
            ended = replace(running.job, state=JobState.COMPLETED, stage="done", result=result)
        except TakenOverError:
            self._let_go(running)
            return
        except ContextFindError as fault:
            _log.warning("task %s failed: %s", running.job.id, fault)
            ended = replace(running.job, state=JobState.FAILED, error=str(fault))
        await self._end(running, ended)

    async def _result(self, running: Run) -> Mapping[str, object]:
        """Carry the job out, again and again while disk or database take nothing: it was accepted."""
        told = False
        while True:
            try:
                return await running.errand.carry_out(running.job, running)
            except (DiskRefusesError, StoreDownError) as fault:
                what = "disk" if isinstance(fault, DiskRefusesError) else "database"
                if not told:
                    _log.warning("task %s waits for the %s: %s", running.job.id, what, fault)
                told = True
                await running.note(f"waiting for the {what}")
                await asyncio.sleep(_ROOM_SECONDS)

    async def _end(self, running: Run, ended: Job) -> None:
        """Save how the job ended, as soon as the store takes it: else it would begin again at the next start."""
        told = ""
        while True:
            try:
                await running.write(replace(ended, rate=None, seconds_left=None))
                break
            except TakenOverError:
                self._let_go(running)
                return
            except UnavailableError as fault:
                if str(fault) != told:
                    told = str(fault)
                    _log.warning("the end of task %s is not saved yet: %s", ended.id, told)
                await asyncio.sleep(_ROOM_SECONDS)
        self._running.pop(ended.id, None)
        try:
            await running.errand.ended(ended)
        except ContextFindError as fault:
            _log.warning("task %s has ended and could not tidy up: %s", ended.id, fault)
