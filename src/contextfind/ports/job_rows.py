"""A job as the row of a table, and back: what all stores with tables have in common."""

import json
from collections.abc import Callable
from typing import cast

from contextfind.domain.identity import Identity, Role
from contextfind.domain.times import microseconds, moment_of
from contextfind.ports.jobs import Job, JobState

JOB_COLUMNS = (
    'id, account, "user", role, kind, state, created_at, updated_at, spec, stage, done, total,'
    " result, error, begun"
)
JobRow = tuple[
    str, str, str, Role, str, str, int, int, str, str, int, int, str | None, str | None, int
]  # in the order of JOB_COLUMNS


def job_row(job: Job, storable: Callable[[str], str]) -> JobRow:
    """Return the row of a job; times in microseconds. storable: turns a text into one that the database takes."""
    return (
        job.id,
        job.identity.account,
        job.identity.user,
        job.identity.role,
        job.kind,
        job.state.value,
        microseconds(job.created_at),
        microseconds(job.updated_at),
        json.dumps(dict(job.spec)),
        storable(job.stage),
        job.done,
        job.total,
        None if job.result is None else json.dumps(dict(job.result)),
        None if job.error is None else storable(job.error),
        job.begun,
    )


def job_of(row: JobRow, restored: Callable[[str], str] = str) -> Job:
    """Return the job of a row. restored: undoes `storable`.

    Raises:
        ValueError: no job was ever written like this.

    """
    result, error = row[12], row[13]
    return Job(
        id=row[0],
        identity=Identity(row[1], row[2], row[3]),
        kind=row[4],
        state=JobState(row[5]),
        created_at=moment_of(row[6]),
        updated_at=moment_of(row[7]),
        spec=cast("dict[str, object]", json.loads(row[8])),
        stage=restored(row[9]),
        done=row[10],
        total=row[11],
        result=None if result is None else cast("dict[str, object]", json.loads(result)),
        error=None if error is None else restored(error),
        begun=row[14],
    )
