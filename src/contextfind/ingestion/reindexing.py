"""Building the index anew, or a part of it, as a task while it answers."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from contextfind.domain.errors import ConflictError
from contextfind.domain.identity import Identity
from contextfind.domain.records import RecordId
from contextfind.domain.uri import ROOT, Uri
from contextfind.ingestion.errands import Course
from contextfind.ingestion.jobs import Jobs
from contextfind.ingestion.settling import Settling
from contextfind.ports import Job
from contextfind.ports.company import Company, Solitude
from contextfind.ports.index import ChangeLog, RebuildableIndex, Step
from contextfind.ports.reindexing import Extent, Part, ReindexedStore

Mode = Literal["vectors_only", "semantic_and_vectors", "prune_orphans"]

_KIND = "admin_reindex"  # as clients ask for it with `task_type`
_Step = Callable[[Part, Uri | None, int], Awaitable[Uri | None]]
_STEP = 1_000  # addresses: some 10 ms in which nobody else can write
_NAMED = 20  # addresses that an answer names


@dataclass(frozen=True, slots=True)
class ReindexDesk:
    """What the task works with.

    timer: seconds. give_way: returns when nobody is being answered, or soon. company: of the processes that may build.
    """

    store: ReindexedStore
    index: RebuildableIndex
    settling: Settling
    timer: Callable[[], float]
    give_way: Callable[[], Awaitable[None]]
    company: Company = field(default_factory=Solitude)


class Reindexing:
    """Starts such tasks, and carries them out (an `Errand`).

    The whole index is built beside the old one, which answers until the new one takes its place. A part of the tree
    is followed again: each batch of records takes the place of its old state at once. Neither asks a model, since
    the store has the vectors; what has none yet is embedded as always.
    """

    def __init__(self, desk: ReindexDesk, jobs: Jobs) -> None:
        self._desk = desk
        self._jobs = jobs
        self._starting = asyncio.Lock()

    @property
    def kind(self) -> str:
        """See `Errand.kind`."""
        return _KIND

    async def start(self, identity: Identity, under: Uri, mode: Mode, *, whole: bool) -> Job:
        """Start a task for what the identity may see at or below an address, or (whole) for everybody's records.

        Raises:
            ConflictError: the caller has one running for this address.

        """
        async with self._starting:
            for job in await self._jobs.running(identity):
                if job.kind == _KIND and self.place(job) == under:
                    raise ConflictError(
                        f"task {job.id} is at {under.text!r} already; ask GET /api/v1/tasks/{job.id}",
                        {"retryable": True, "task_id": job.id},
                    )
            spec = {"root_uri": under.text, "mode": mode, "whole": whole}
            return await self._jobs.start(identity, _KIND, spec)

    async def foresee(self, identity: Identity, under: Uri) -> Mapping[str, object]:
        """Return the result that such a task would begin from; nothing changes, and nothing was rebuilt."""
        extent = await self._desk.store.extent(Part(identity.account, under, identity.user), _NAMED)
        return {**_counted(extent), "rebuilt_records": 0}

    def place(self, job: Job) -> Uri:
        """See `Errand.place`."""
        return Uri(str(job.spec["root_uri"]))

    async def carry_out(self, job: Job, course: Course) -> Mapping[str, object]:
        """See `Errand.carry_out`; the result is what `result` of the route shows."""
        course.leave()  # it changes no record: nobody waits for it
        desk, who, under = self._desk, job.identity, self.place(job)
        begun = desk.timer()
        part = Part(who.account, under, who.user)
        whole = bool(job.spec["whole"])
        async with course.at_work("building the index" if whole else "indexing again"):
            if job.spec["mode"] == "semantic_and_vectors":
                await self._step_by_step(desk.store.mark_stale, part)
            if whole:
                await self._build(course)
            else:
                await self._step_by_step(desk.store.log_again, part)
        await course.note("settling")
        settled = await desk.settling.settle(who.account, under, None, who.user)
        counted = _counted(await desk.store.extent(part, _NAMED), settled.note)
        return {**counted, "duration_ms": round(1_000 * (desk.timer() - begun))}

    async def ended(self, job: Job) -> None:
        """See `Errand.ended`; nothing is left."""

    async def _step_by_step(self, step: _Step, part: Part) -> None:
        before = await step(part, None, _STEP)
        while before is not None:
            await self._desk.give_way()
            before = await step(part, before, _STEP)

    async def _build(self, course: Course) -> None:
        store = self._desk.store

        async def step(position: int) -> None:
            await course.note("building the index", position, await store.position())
            await self._desk.give_way()

        if damaged := await rebuilt(self._desk.index, store.changes, step, self._desk.company):
            await store.embed_again(damaged)


async def rebuilt(
    index: RebuildableIndex, log: ChangeLog, step: Step, company: Company
) -> Sequence[RecordId]:
    """Build an index anew, no other process doing so meanwhile; return the records whose vectors are damaged.

    Two that built beside the same index would take turns at one new one, and each believe the other's part its own.
    """
    async with company.holding("rebuilding", "", ROOT):
        return await index.rebuild(log, step)


async def put_right(
    index: RebuildableIndex,
    store: ReindexedStore,
    company: Company,
    goes_on: Callable[[], Awaitable[bool]],
) -> None:
    """Build an index anew that cannot go on with the log; whoever comes meanwhile waits, and finds it put right.

    goes_on: says whether it can.

    Raises:
        UnavailableError: the index or the store does not answer.

    """
    async with company.holding("putting right", "", ROOT):
        if await goes_on():
            return
        if damaged := await rebuilt(index, store.changes, _nothing, company):
            await store.embed_again(damaged)


async def _nothing(position: int) -> None:
    del position


def _counted(extent: Extent, note: str = "") -> Mapping[str, object]:
    notes = [note] if note else []
    return {
        "scanned_records": extent.records,
        "rebuilt_records": extent.records - extent.lacking,
        "failed_records": extent.lacking,
        "warnings": [*notes, *(f"no vector yet: {uri.text}" for uri in extent.first)],
    }
