"""The job store in PostgreSQL: several processes work on the jobs, each on its own."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from psycopg import AsyncConnection

from contextfind.adapters.postgres.database import Database, Work
from contextfind.adapters.postgres.schema import lock_number
from contextfind.adapters.postgres.texts import restored, storable
from contextfind.domain.errors import TakenOverError
from contextfind.domain.identity import Identity
from contextfind.domain.times import microseconds
from contextfind.ports.job_rows import JOB_COLUMNS, JobRow, job_of, job_row
from contextfind.ports.jobs import Job, JobState

_log = logging.getLogger(__name__)

_COLUMNS = f"{JOB_COLUMNS}, has_left"
_JOBS = f"SELECT {_COLUMNS} FROM jobs"  # noqa: S608 - fixed text
_UNFINISHED = f"state IN ('{JobState.PENDING.value}', '{JobState.RUNNING.value}')"
# Not for a job that another process has taken over: it would end twice.
_SAVE = (
    f"INSERT INTO jobs ({_COLUMNS}, worker) VALUES ({', '.join(['%s'] * 17)})"  # noqa: S608 - fixed text, bound values
    " ON CONFLICT (id) DO UPDATE SET state = EXCLUDED.state, updated_at = EXCLUDED.updated_at,"
    " spec = EXCLUDED.spec, stage = EXCLUDED.stage, done = EXCLUDED.done, total = EXCLUDED.total,"
    " result = EXCLUDED.result, error = EXCLUDED.error, has_left = EXCLUDED.has_left,"
    " begun = EXCLUDED.begun"
    " WHERE jobs.worker = EXCLUDED.worker"
)
_TAKE_OVER = (
    f"UPDATE jobs SET worker = %s, has_left = false WHERE worker = ANY(%s) AND {_UNFINISHED}"  # noqa: S608 - fixed text, bound values
    f" RETURNING {_COLUMNS}"
)
_FORGET = (
    f"DELETE FROM jobs WHERE id IN (SELECT id FROM jobs WHERE NOT {_UNFINISHED}"  # noqa: S608 - fixed text, bound values
    " AND updated_at < %s LIMIT %s FOR UPDATE SKIP LOCKED)"
)

_Row = tuple[*JobRow, bool]  # in the order of _COLUMNS


class PostgresJobStore:
    """`JobStore` in a schema that several processes share."""

    shared = True

    def __init__(self, database: Database) -> None:
        self._database = database
        self._missing: set[int] | None = None  # who did not live when it was last looked

    async def save(self, job: Job) -> None:
        """See `JobStore.save`."""
        worker = self._database.presence.worker
        beginning = lock_number(self._database.place.schema, "jobs")

        async def work(connection: AsyncConnection) -> None:
            if job.state is JobState.PENDING:  # the numbers of turns become visible in their order
                await connection.execute("SELECT pg_advisory_xact_lock(%s)", (beginning,))
            cursor = await connection.execute(_SAVE, (*job_row(job, storable), job.left, worker))
            if cursor.rowcount == 0:
                raise TakenOverError(f"task {job.id} is carried out by another process by now")

        await self._database.write(work)

    async def get(self, identity: Identity, job_id: str) -> Job | None:
        """See `JobStore.get`."""
        where = 'WHERE id = %s AND account = %s AND "user" = %s'
        work = _selecting(where, (storable(job_id), identity.account, identity.user))
        found = await self._database.read(identity.account, work)
        return found[0] if found else None

    async def list(self, identity: Identity, limit: int) -> Sequence[Job]:
        """See `JobStore.list`."""
        where = 'WHERE account = %s AND "user" = %s ORDER BY created_at DESC, id DESC LIMIT %s'
        work = _selecting(where, (identity.account, identity.user, limit))
        return await self._database.read(identity.account, work)

    async def forget(self, before: datetime, limit: int) -> int:
        """See `JobStore.forget`."""

        async def work(connection: AsyncConnection) -> int:
            return (await connection.execute(_FORGET, (microseconds(before), limit))).rowcount

        return await self._database.tidy(work)

    async def unfinished(self, account: str | None = None) -> Sequence[Job]:
        """See `JobStore.unfinished`."""
        if account is None:
            return await self._database.glance(_selecting(f"WHERE {_UNFINISHED} ORDER BY turn", ()))
        where = f"WHERE {_UNFINISHED} AND account = %s ORDER BY turn"
        return await self._database.glance(_selecting(where, (account,)))

    async def take_over(self) -> Sequence[Job]:
        """See `JobStore.take_over`.

        First it is read who has jobs, then who lives: whoever is missing there is gone. What another process takes
        meanwhile has its number then, and is left to it. After the first time whoever is missing has until the next time
        to come back: when a database begins again, all of them are missing for a moment.
        """
        presence = self._database.presence

        async def owners(connection: AsyncConnection) -> set[int]:
            cursor = await connection.execute(
                f"SELECT DISTINCT worker FROM jobs WHERE {_UNFINISHED} AND worker <> %s",  # noqa: S608 - fixed text, bound value
                (presence.worker,),
            )
            return {int(row[0]) for row in await cursor.fetchall()}

        async def work(connection: AsyncConnection) -> Sequence[Job]:
            missing = others - await presence.living(connection)
            dead = missing if self._missing is None else missing & self._missing
            self._missing = missing
            if not dead:
                return []
            cursor = await connection.execute(_TAKE_OVER, (presence.worker, list(dead)))
            return _jobs_of(await cursor.fetchall())

        others = await self._database.glance(owners)
        if not others:
            self._missing = set()
            return []
        taken = await self._database.write(work)
        return sorted(taken, key=lambda job: (job.created_at, job.id))

    async def request_cancel(self, identity: Identity, job_id: str) -> None:
        """See `JobStore.request_cancel`."""

        async def work(connection: AsyncConnection) -> None:
            await connection.execute(
                f"UPDATE jobs SET cancel = true WHERE {_UNFINISHED}"  # noqa: S608 - fixed text, bound values
                ' AND id = %s AND account = %s AND "user" = %s',
                (storable(job_id), identity.account, identity.user),
            )

        await self._database.write(work)

    async def own(self) -> Mapping[str, bool]:
        """See `JobStore.own`."""

        async def work(connection: AsyncConnection) -> Mapping[str, bool]:
            cursor = await connection.execute(
                f"SELECT id, cancel FROM jobs WHERE {_UNFINISHED} AND worker = %s",  # noqa: S608 - fixed text, bound value
                (self._database.presence.worker,),
            )
            return {str(row[0]): bool(row[1]) for row in await cursor.fetchall()}

        return await self._database.glance(work)


def _selecting(where: str, values: tuple[str | int, ...]) -> Work[Sequence[Job]]:
    """Return the work of reading jobs."""

    async def work(connection: AsyncConnection) -> Sequence[Job]:
        cursor = await connection.execute(f"{_JOBS} {where}", values)
        return _jobs_of(await cursor.fetchall())

    return work


def _jobs_of(rows: Sequence[_Row]) -> Sequence[Job]:
    """Return the jobs of rows; one that cannot be read keeps nobody from the others."""
    jobs: list[Job] = []
    for row in rows:
        try:
            jobs.append(replace(job_of(row[:-1], restored), left=row[-1]))
        except ValueError as error:
            _log.error("task %s cannot be read: %s", row[0], error)
    return jobs
