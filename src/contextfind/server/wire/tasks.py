"""tasks: a job as clients know it."""

from contextfind.ports import Job
from contextfind.server.wire.listing import iso


def task(job: Job) -> dict[str, object]:
    """Return a job: its state, how far it is (`done` of `total` files), how it ended."""
    return {
        "task_id": job.id,
        "task_type": job.kind,
        "status": job.state.value,
        "stage": job.stage,
        "done": job.done,
        "total": job.total,
        "rate": None if job.rate is None else round(job.rate, 2),
        "eta_seconds": None if job.seconds_left is None else round(job.seconds_left, 1),
        "resource_id": root_of(job),
        "meta": {"source_path": source_of(job)},
        "result": None if job.result is None else dict(job.result),
        "error": job.error,
        "created_at": job.created_at.timestamp(),
        "updated_at": job.updated_at.timestamp(),
        "processing_seconds": (job.updated_at - job.created_at).total_seconds(),
        "created_at_iso": iso(job.created_at),
        "updated_at_iso": iso(job.updated_at),
    }


def root_of(job: Job) -> str:
    """Return the address below which the job's files lie, empty for other kinds of job."""
    return str(job.spec.get("root_uri", ""))


def source_of(job: Job) -> str:
    """Return what the caller called the source: never more of a path than they sent."""
    named = job.spec.get("source_name") or job.spec.get("path") or job.spec.get("upload") or ""
    return str(named)
