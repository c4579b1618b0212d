"""A transaction that reads, in as few round trips as there are answers waited for."""

from collections.abc import Iterator
from contextlib import contextmanager

from psycopg import Connection

from contextfind.adapters.postgres.index_rules import Effort

# What is looked up are some hundred rows by their keys. The planner knows too little of that: it would read a whole
# table, or compile the statement first, either of which takes longer than all the rest.
_SETTINGS = {
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "enable_memoize": "off",  # a vector is needed once, and copying it takes longer than finding it
    "enable_sort": "off",
    "enable_incremental_sort": "off",
    "max_parallel_workers_per_gather": "0",
    "jit": "off",
    # Of what is found by many numbers, each page is remembered; beyond this each row would be compared with all of them.
    "work_mem": "64MB",
}
_SET = "SELECT " + ", ".join(
    f"set_config('{name}', '{to}', true)" for name, to in _SETTINGS.items()
)
_SEES = "SELECT set_config('contextfind.account', %s, true)"
_LOOKS = (
    "SELECT set_config('hnsw.ef_search', %s, true), set_config('hnsw.iterative_scan', %s, true)"
)


class Snapshot:
    """One state of the data, seen as one account after the other.

    Statements go out together when an answer is waited for, the beginning of the transaction with the first of them.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._account = ""
        self._effort: Effort | None = None

    def see(self, account: str) -> None:
        """Have what follows see the rows of one account and no others."""
        if account != self._account:
            self.connection.execute(_SEES, (account,))
            self._account = account

    def look(self, effort: Effort | None) -> None:
        """Have a graph do so much from now on; None leaves it as it is."""
        if effort is not None and effort != self._effort:
            values = (str(effort.breadth), "strict_order" if effort.deeper else "off")
            self.connection.execute(_LOOKS, values)
            self._effort = effort


@contextmanager
def snapshot(connection: Connection, state: str) -> Iterator[Snapshot]:
    """Open one, and have the database answer as it does best for what an index asks.

    state: the table of an index that whoever puts others in its place takes first. It is locked before anything is
    read: a name means the table that is there when it is looked up, and may already mean one that was filled after the state that is seen.
    """
    with connection.pipeline():
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        connection.execute(f'LOCK TABLE "{state}" IN ACCESS SHARE MODE'.encode())
        connection.execute(_SET)
        yield Snapshot(connection)
        connection.execute("COMMIT")
