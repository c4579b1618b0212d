"""A transaction that reads, in as few round trips as there are answers waited for."""

import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
from psycopg import AsyncConnection
from psycopg.pq import TransactionStatus

from contextfind.adapters.postgres.database import Database

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
_SEES = "SELECT set_config('contextfind.account', %s, true)"


class Snapshot:
    """One state of the data, seen as one account after the other.

    Statements go out together when an answer is waited for, the beginning of the transaction with the first of them.
    """

    def __init__(self, connection: AsyncConnection) -> None:
        self.connection = connection
        self._account = ""

    async def see(self, account: str) -> None:
        """Have what follows see the rows of one account and no others."""
        if account != self._account:
            await self.connection.execute(_SEES, (account,))
            self._account = account


@asynccontextmanager
async def snapshot(database: Database, breadth: int) -> AsyncIterator[Snapshot]:
    """Open one, and have the database answer as it does best for what an index asks.

    breadth: nodes that a graph looks at for one question, at least.
    """
    settings = {**_SETTINGS, "hnsw.ef_search": str(breadth)}
    calls = ", ".join(f"set_config('{name}', '{value}', true)" for name, value in settings.items())
    async with database.tenant() as connection:
        try:
            async with connection.pipeline():
                await connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                await connection.execute(f"SELECT {calls}".encode())
                yield Snapshot(connection)
                await connection.execute("COMMIT")
        finally:
            if connection.info.transaction_status is not TransactionStatus.IDLE:
                with contextlib.suppress(psycopg.Error):
                    await connection.execute("ROLLBACK")
