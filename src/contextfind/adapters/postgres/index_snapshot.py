"""A transaction that reads, in as few round trips as there are answers waited for."""

import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
from psycopg import AsyncConnection
from psycopg.pq import TransactionStatus

from contextfind.adapters.postgres.database import Database
from contextfind.adapters.postgres.index_rules import Effort

# What is looked up are some hundred rows by their keys. The planner knows too little of that: it would read a whole
# table, or compile the statement first, either of which takes longer than all the rest.
_SETTINGS = {
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "enable_sort": "off",
    "enable_incremental_sort": "off",
    "max_parallel_workers_per_gather": "0",
    "jit": "off",
    "hnsw.iterative_scan": "strict_order",
}
_SET = "SELECT " + ", ".join(
    f"set_config('{name}', '{to}', true)" for name, to in _SETTINGS.items()
)
_SEES = "SELECT set_config('contextfind.account', %s, true)"
_LOOKS = (
    "SELECT set_config('hnsw.ef_search', %s, true), set_config('hnsw.max_scan_tuples', %s, true)"
)


class Snapshot:
    """One state of the data, seen as one account after the other.

    Statements go out together when an answer is waited for, the beginning of the transaction with the first of them.
    """

    def __init__(self, connection: AsyncConnection) -> None:
        self.connection = connection
        self._account = ""
        self._effort: Effort | None = None

    async def see(self, account: str) -> None:
        """Have what follows see the rows of one account and no others."""
        if account != self._account:
            await self.connection.execute(_SEES, (account,))
            self._account = account

    async def look(self, effort: Effort | None) -> None:
        """Have a graph do so much from now on; None leaves it as it is."""
        if effort is not None and effort != self._effort:
            values = (str(effort.breadth), str(effort.nodes))
            await self.connection.execute(_LOOKS, values)
            self._effort = effort


@asynccontextmanager
async def snapshot(database: Database) -> AsyncIterator[Snapshot]:
    """Open one, and have the database answer as it does best for what an index asks."""
    async with database.tenant() as connection:
        try:
            async with connection.pipeline():
                await connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                await connection.execute(_SET)
                yield Snapshot(connection)
                await connection.execute("COMMIT")
        finally:
            if connection.info.transaction_status is not TransactionStatus.IDLE:
                with contextlib.suppress(psycopg.Error):
                    await connection.execute("ROLLBACK")
