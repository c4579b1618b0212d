"""Adding files to the tree as a job: what is checked at once, and what is done behind the request."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from contextfind.domain.errors import InvalidArgumentError, ResourceExhaustedError
from contextfind.domain.identity import Identity
from contextfind.domain.uri import Uri
from contextfind.ingestion.errands import Course
from contextfind.ingestion.gate import Gate
from contextfind.ingestion.ingest import AddPlan, Ingest, Outcome
from contextfind.ingestion.jobs import Jobs
from contextfind.ingestion.settling import Settling
from contextfind.ingestion.writing import check_place
from contextfind.ports import FileSource, Job, ServerPaths, UploadShelf

ADD_RESOURCE = "add_resource"
_AT_ONCE = 2  # ingests side by side: parsing has two cores, more would only interleave commits
MOST_UNFINISHED = 2_000  # tasks of an account; a zip is one, however many files it has
_SOON = 5  # seconds until an account with so many may try again: some will have ended by then
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
class AddDesk:
    """What adding works with.

    paths: what callers may name. own_paths: what the operator named when the server was started.
    """

    ingest: Ingest
    settling: Settling
    uploads: UploadShelf
    paths: ServerPaths
    own_paths: ServerPaths


class Adding:
    """Starts the jobs that add files, a few at once, and is the `Errand` that carries them out."""

    kind = ADD_RESOURCE

    def __init__(self, desk: AddDesk, jobs: Jobs) -> None:
        self._desk = desk
        self._jobs = jobs
        self._gate = Gate(_AT_ONCE)

    async def add_resource(
        self, identity: Identity, request: AddRequest, *, own: bool = False
    ) -> Job:
        """Start adding files and return at once; `spec["root_uri"]` says where they will be.

        own: the server itself asks, for a path that it was started with; that gives callers no right
            to name it. Adds to overlapping places are carried out in the order of these calls.

        Raises:
            InvalidArgumentError: neither or both of upload and path, or an upload that cannot be used.
            NotFoundError: no such upload or path. PermissionDeniedError: not the caller's to read or write.
            ResourceExhaustedError: too many tasks of the account are not finished.

        """
        unfinished = 0 if own else await self._jobs.unfinished(identity.account)
        if unfinished >= MOST_UNFINISHED:
            raise ResourceExhaustedError(
                f"{unfinished} tasks of your account are not finished; wait for some of them",
                {"retryable": True, "retry_after_seconds": _SOON},
            )
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
        spec = {key: value for key, value in asdict(request).items() if key not in {"to", "parent"}}
        return await self._jobs.start(
            identity, ADD_RESOURCE, {**spec, "root_uri": root.text, "own": own}
        )

    def place(self, job: Job) -> Uri:
        """See `Errand.place`."""
        return Uri.parse(str(job.spec["root_uri"]))

    async def carry_out(self, job: Job, course: Course) -> Mapping[str, object]:
        """See `Errand.carry_out`."""
        desk, who, spec = self._desk, job.identity, _Spec.read(job)
        source = await self._source(who, spec.upload, spec.path, spec.source_name, own=spec.own)

        async def progress(done: int, total: int) -> None:
            await course.note("reading", done, total)

        await course.come()
        # Not held while the embedder works: words should be found at once.
        async with self._gate.passed(who.account), course.at_work("reading"):
            outcome = await desk.ingest.add(spec.plan(who), source, progress)
        course.leave()
        await course.note("embedding")
        settled = await desk.settling.settle(
            who.account, spec.root, None, who.user, told=course.foresee
        )
        return {"root_uri": spec.root.text, **_report(outcome), "note": settled.note}

    async def ended(self, job: Job) -> None:
        """Drop the upload: it is in the tree, or will not be."""
        upload = _text(job.spec.get("upload"))
        if upload is not None:
            await self._desk.uploads.drop(upload)

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
