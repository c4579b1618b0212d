"""Long work in the background: started by a request, seen by its id, finished after a crash."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace

from contextfind.domain.errors import (
    ContextFindError,
    DeadlineExceededError,
    InvalidArgumentError,
    NotFoundError,
)
from contextfind.domain.identity import Identity
from contextfind.domain.uri import Uri
from contextfind.ingestion.ingest import AddPlan, Ingest, Outcome
from contextfind.ingestion.pulse import Pulse
from contextfind.ingestion.settling import Settling
from contextfind.ingestion.turns import Turn, Turns
from contextfind.ingestion.writing import check_place
from contextfind.ports import (
    Clock,
    FileSource,
    IdMaker,
    Job,
    JobState,
    JobStore,
    ServerPaths,
    UploadShelf,
)

_log = logging.getLogger(__name__)

ADD_RESOURCE = "add_resource"
_AT_ONCE = 2  # ingests side by side: parsing has two cores, more would only interleave commits
_REPORTED = 100  # skipped and failed files named in a result; their numbers are always complete


@dataclass(frozen=True, slots=True)
class AddRequest:
    """What a caller wants added; exactly one of upload and path.

    to: where exactly (for a single file without its suffix in the address: the directory for it; a
        whole scope such as viking://resources is a parent, never replaced by a tree).
    parent: the directory below which it gets its own name. Neither: below viking://resources.
    """

    upload: str | None = None
    path: str | None = None
    source_name: str | None = None
    to: Uri | None = None
    parent: Uri | None = None
    tags: tuple[str, ...] | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    ignore_dirs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class JobDesk:
    """What jobs work with.

    paths: what callers may name. own_paths: what the operator named when the server was started.
    """

    jobs: JobStore
    ingest: Ingest
    settling: Settling
    uploads: UploadShelf
    paths: ServerPaths
    own_paths: ServerPaths
    clock: Clock
    new_id: IdMaker


@dataclass(slots=True)
class _Running:
    """A job that this process carries out."""

    job: Job
    turn: Turn
    task: asyncio.Task[None] | None = None
    changed: Pulse = field(default_factory=Pulse)


class Jobs:
    """Runs ingests, a few at once, and remembers how they went."""

    def __init__(self, desk: JobDesk) -> None:
        self._desk = desk
        self._running: dict[str, _Running] = {}
        self._turns = Turns()
        self._gate = asyncio.Semaphore(_AT_ONCE)

    async def add_resource(
        self, identity: Identity, request: AddRequest, *, own: bool = False
    ) -> Job:
        """Start adding files and return at once; `spec["root_uri"]` says where they will be.

        own: the server itself asks, for a path that it was started with; that gives callers no right
            to name it. Adds to overlapping places are carried out in the order of these calls.

        Raises:
            InvalidArgumentError: neither or both of upload and path, or an upload that cannot be used.
            NotFoundError: no such upload or path. PermissionDeniedError: not the caller's to read or write.

        """
        if (request.upload is None) == (request.path is None):
            raise InvalidArgumentError(
                "expected exactly one of temp_file_id (from resources/temp_upload) and path",
                {"field": "temp_file_id"},
            )
        source = await self._source(
            identity, request.upload, request.path, request.source_name, own=own
        )
        if request.upload is not None:
            await source.entries(_nothing)  # a zip that cannot be used is refused here, not later
        root = _root(request, source, request.source_name or source.name)
        check_place(identity, root)
        now = self._desk.clock()
        spec = {key: value for key, value in asdict(request).items() if key not in {"to", "parent"}}
        job = Job(
            id=self._desk.new_id(),
            identity=identity,
            kind=ADD_RESOURCE,
            state=JobState.PENDING,
            created_at=now,
            updated_at=now,
            spec={**spec, "root_uri": root.text, "own": own},
        )
        await self._desk.jobs.save(job)
        self._start(job)
        return job

    async def resume(self) -> int:
        """Start again what a former process left unfinished; return how many jobs that are."""
        jobs = await self._desk.jobs.unfinished()
        for job in jobs:
            self._start(job)
        return len(jobs)

    async def get(self, identity: Identity, job_id: str) -> Job:
        """Return a job of this identity.

        Raises:
            NotFoundError: there is none with this id.

        """
        running = self._running.get(job_id)
        if running is not None and running.job.identity == identity:
            return running.job
        job = await self._desk.jobs.get(identity, job_id)
        if job is None:
            raise NotFoundError(f"no task {job_id!r}", {"resource": job_id, "type": "task"})
        return job

    async def list(self, identity: Identity, limit: int) -> Sequence[Job]:
        """Return the identity's jobs, newest first."""
        stored = await self._desk.jobs.list(identity, limit)
        return [self._running[j.id].job if j.id in self._running else j for j in stored]

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
        while True:
            running = self._running.get(job_id)
            beats = 0 if running is None else running.changed.beats
            job = await self.get(identity, job_id)
            if job.state.ended or running is None:
                return job
            left = None if end is None else end - loop.time()
            if left is not None and left <= 0:
                raise DeadlineExceededError(
                    f"task {job_id} is not finished after {timeout:g} s and goes on; "
                    f"ask GET /api/v1/tasks/{job_id}",
                    {"task_id": job_id},
                )
            await running.changed.wait(left, beats)

    async def cancel(self, identity: Identity, job_id: str) -> Job:
        """Stop a job; what it has committed stays. One that has ended stays as it is."""
        job = await self.get(identity, job_id)
        running = self._running.get(job_id)
        if running is None or running.task is None or job.state.ended:
            return job
        running.task.cancel()
        await asyncio.wait([running.task])
        if not running.job.state.ended:
            stopped = replace(
                running.job, state=JobState.CANCELLED, error="cancelled by the caller"
            )
            await self._end(running, stopped)
        return running.job

    async def aclose(self) -> None:
        """Interrupt what runs; it stays unfinished and is resumed at the next start."""
        tasks = [running.task for running in self._running.values() if running.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _start(self, job: Job) -> None:
        root = Uri.parse(str(job.spec["root_uri"]))
        running = _Running(job, self._turns.take(job.identity.account, root))
        self._running[job.id] = running
        running.task = asyncio.create_task(self._run(running), name=f"job {job.id}")
        running.task.add_done_callback(lambda task: self._ended(running, task))

    def _ended(self, running: _Running, task: asyncio.Task[None]) -> None:
        """Let the next job come, and give one that fell over a clear end."""
        self._turns.leave(running.turn)
        if task.cancelled() or task.exception() is None:
            return
        _log.error("task %s broke off", running.job.id, exc_info=task.exception())
        fallen = replace(
            running.job,
            state=JobState.FAILED,
            error=f"internal error; the log of the server names task {running.job.id}",
        )
        running.task = asyncio.create_task(self._end(running, fallen))

    async def _run(self, running: _Running) -> None:
        try:
            result = await self._carry_out(running)
            ended = replace(running.job, state=JobState.COMPLETED, stage="done", result=result)
        except ContextFindError as fault:
            _log.warning("task %s failed: %s", running.job.id, fault)
            ended = replace(running.job, state=JobState.FAILED, error=str(fault))
        await self._end(running, ended)

    async def _end(self, running: _Running, ended: Job) -> None:
        await self._note(running, ended)
        self._running.pop(ended.id, None)
        upload = _text(ended.spec.get("upload"))
        if upload is not None:
            await self._desk.uploads.drop(upload)

    async def _carry_out(self, running: _Running) -> dict[str, object]:
        job, desk = running.job, self._desk
        spec = _Spec.read(job)
        source = await self._source(
            job.identity, spec.upload, spec.path, spec.source_name, own=spec.own
        )

        async def progress(done: int, total: int) -> None:
            await self._note(running, replace(running.job, done=done, total=total))

        await running.turn.come()
        async with self._gate:  # not held while the embedder works: words should be found at once
            await self._note(running, replace(job, state=JobState.RUNNING, stage="reading"))
            outcome = await desk.ingest.add(spec.plan(job.identity), source, progress)
        self._turns.leave(running.turn)
        await self._note(running, replace(running.job, stage="embedding"))
        who = job.identity
        settled = await desk.settling.settle(who.account, spec.root, None, who.user)
        return {"root_uri": spec.root.text, **_report(outcome), "note": settled.note}

    async def _note(self, running: _Running, job: Job) -> None:
        running.job = replace(job, updated_at=self._desk.clock())
        await self._desk.jobs.save(running.job)
        running.changed.beat()

    async def _source(
        self,
        identity: Identity,
        upload: str | None,
        path: str | None,
        name: str | None,
        *,
        own: bool,
    ) -> FileSource:
        if upload is not None:
            return await self._desk.uploads.source(identity, upload, name)
        paths = self._desk.own_paths if own else self._desk.paths
        return paths.source(path or "")


@dataclass(frozen=True, slots=True)
class _Spec:
    """A job's `spec`, typed again after JSON."""

    root: Uri
    upload: str | None
    path: str | None
    source_name: str | None
    own: bool
    lists: dict[str, tuple[str, ...]]
    tags: tuple[str, ...] | None

    @classmethod
    def read(cls, job: Job) -> "_Spec":
        spec = job.spec
        names = ("include", "exclude", "ignore_dirs")
        return cls(
            root=Uri.parse(str(spec["root_uri"])),
            upload=_text(spec.get("upload")),
            path=_text(spec.get("path")),
            source_name=_text(spec.get("source_name")),
            own=spec.get("own") is True,
            lists={name: _texts(spec.get(name)) or () for name in names},
            tags=_texts(spec.get("tags")),
        )

    def plan(self, identity: Identity) -> AddPlan:
        return AddPlan(
            identity=identity,
            root=self.root,
            name=self.source_name or "",
            tags=self.tags,
            include=self.lists["include"],
            exclude=self.lists["exclude"],
            ignore_dirs=self.lists["ignore_dirs"],
        )


def _nothing(_: str) -> bool:
    """Prune no directory."""
    return False


def _root(request: AddRequest, source: FileSource, name: str) -> Uri:
    """Return the address of the tree, or of the single file."""
    if request.to is None or request.to == request.to.scope_root:
        return (request.to or request.parent or Uri("viking://resources")).child(name)
    if not source.single:
        return request.to
    suffix = name.rpartition(".")[2]
    same_kind = "." in name and request.to.name.endswith(f".{suffix}")
    return request.to if same_kind else request.to.child(name)


def _report(outcome: Outcome) -> dict[str, object]:
    return {
        "added": outcome.added,
        "updated": outcome.updated,
        "unchanged": outcome.unchanged,
        "removed": outcome.removed,
        "skipped_count": len(outcome.skipped),
        "failed_count": len(outcome.failed),
        "skipped": [{"path": p, "reason": r} for p, r in outcome.skipped[:_REPORTED]],
        "failed": [{"path": p, "reason": r} for p, r in outcome.failed[:_REPORTED]],
    }


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _texts(value: object) -> tuple[str, ...] | None:
    return tuple(str(item) for item in value) if isinstance(value, (list, tuple)) else None
