"""The job store in `contextfind.db`."""

import logging
import sqlite3
from collections.abc import Mapping, Sequence
from datetime import datetime

from contextfind.adapters.sqlite.database import Database, is_damage
from contextfind.adapters.sqlite.rows import storable
from contextfind.domain.identity import Identity
from contextfind.domain.times import microseconds
from contextfind.ports.job_rows import JOB_COLUMNS, job_of, job_row
from contextfind.ports.jobs import Job, JobState

_log = logging.getLogger(__name__)

_JOBS = f"SELECT {JOB_COLUMNS} FROM jobs"  # noqa: S608 - fixed text
_ENDED = tuple(state.value for state in JobState if state.ended)
# What ended before a moment began before it, and of the beginnings there is an index.
_FORGET = (
    f"DELETE FROM jobs WHERE id IN (SELECT id FROM jobs WHERE state IN ({', '.join('?' * len(_ENDED))})"  # noqa: S608 - fixed text, bound values
    " AND created_at < ? AND updated_at < ? LIMIT ?)"
)


class SqliteJobStore:
    """`JobStore` in a database file, which one process has to itself."""

    shared = False

    def __init__(self, database: Database) -> None:
        self._database = database
        self._cancel: set[str] = set()

    async def save(self, job: Job) -> None:
        """See `JobStore.save`."""
        row = job_row(job, storable)

        def work(connection: sqlite3.Connection) -> None:
            marks = ", ".join("?" * len(row))
            connection.execute(
                f"INSERT OR REPLACE INTO jobs ({JOB_COLUMNS}) VALUES ({marks})",  # noqa: S608 - fixed text, bound values
                row,
            )

        await self._database.write(work)

    async def get(self, identity: Identity, job_id: str) -> Job | None:
        """See `JobStore.get`."""
        where = "WHERE id = ? AND account = ? AND user = ?"
        found = await self._select(where, (job_id, identity.account, identity.user))
        return found[0] if found else None

    async def list(self, identity: Identity, limit: int) -> Sequence[Job]:
        """See `JobStore.list`."""
        where = "WHERE account = ? AND user = ? ORDER BY created_at DESC, id DESC LIMIT ?"
        return await self._select(where, (identity.account, identity.user, limit))

    async def forget(self, before: datetime, limit: int) -> int:
        """See `JobStore.forget`."""
        moment = microseconds(before)
        values = (*_ENDED, moment, moment, limit)
        return await self._database.tidy(lambda c: c.execute(_FORGET, values).rowcount)

    async def unfinished(self, account: str | None = None) -> Sequence[Job]:
        """See `JobStore.unfinished`."""
        jobs = await self._database.read(_unfinished)
        return [job for job in jobs if account in (None, job.identity.account)]

    async def take_over(self) -> Sequence[Job]:
        """See `JobStore.take_over`."""
        return await self.unfinished()

    async def request_cancel(self, identity: Identity, job_id: str) -> None:
        """See `JobStore.request_cancel`."""
        if await self.get(identity, job_id) is not None:
            self._cancel.add(job_id)

    async def own(self) -> Mapping[str, bool]:
        """See `JobStore.own`."""
        return {job.id: job.id in self._cancel for job in await self.unfinished()}

    async def _select(self, where: str, values: tuple[str | int, ...]) -> Sequence[Job]:
        def work(connection: sqlite3.Connection) -> Sequence[Job]:
            return [job_of(row) for row in connection.execute(f"{_JOBS} {where}", values)]

        return await self._database.read(work)


def _unfinished(connection: sqlite3.Connection) -> Sequence[Job]:
    """Return the jobs that have not ended; one that cannot be read keeps nobody from starting."""
    jobs: list[Job] = []
    states = (JobState.PENDING.value, JobState.RUNNING.value)
    query = f"{_JOBS} WHERE state IN (?, ?) ORDER BY created_at, id"
    try:
        for row in connection.execute(query, states):
            try:
                jobs.append(job_of(row))
            except ValueError as error:
                _log.error("task %s cannot be read and is not resumed: %s", row[0], error)
    except sqlite3.Error as error:
        if not is_damage(error):
            raise
        _log.error("unfinished tasks cannot be read and are not resumed: %s", error)
    return jobs
