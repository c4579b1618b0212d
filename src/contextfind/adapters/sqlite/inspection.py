"""What is wrong in a database file: read from one end to the other, changed nowhere."""

import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from contextfind.adapters.sqlite.committing import last_position
from contextfind.adapters.sqlite.database import FILE_NAME, translated
from contextfind.adapters.sqlite.rows import RECORD_COLUMNS, record_of
from contextfind.adapters.sqlite.schema import MIGRATIONS, migrate
from contextfind.domain.records import Record

_COMPLAINTS = 3  # of one table that are told; a damaged page brings hundreds
_BUSY_SECONDS = 5.0
_FLOAT_BYTES = 4
_OBJECTS = "SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'"
Ids = np.ndarray[tuple[int], np.dtype[np.int64]]


@dataclass(frozen=True, slots=True)
class Census:
    """The passages of an account: in all, waiting for a vector, without one that nothing waits for, with a damaged one."""

    passages: int = 0
    pending: int = 0
    vectorless: int = 0
    damaged: int = 0


class DatabaseInspection:
    """Looks at `contextfind.db` in a directory; made by `open`. Every method blocks.

    Raises (every method):
        DamagedError: what it wants to read cannot be read. UnavailableError: the file does not answer.

    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    @classmethod
    @contextmanager
    def open(cls, directory: Path) -> Iterator["DatabaseInspection"]:
        """Open the file to be read only."""
        place = f"{(directory / FILE_NAME).absolute().as_uri()}?mode=ro"
        with (
            translated(),
            closing(sqlite3.connect(place, timeout=_BUSY_SECONDS, uri=True)) as opened,
        ):
            yield cls(opened)

    def schema(self) -> tuple[int, int]:
        """Return the version of the file, and the one that this program makes of it."""
        with translated():
            (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        return int(version), len(MIGRATIONS)

    def missing(self) -> Sequence[str]:
        """Return the tables and indices that a file of its version has, and this one has not."""
        version, _ = self.schema()
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as model, translated():
            migrate(model, MIGRATIONS[:version])
            wanted = {name for (name,) in model.execute(_OBJECTS)}
            there = {name for (name,) in self._connection.execute(_OBJECTS)}
        return sorted(wanted - there)

    def tables(self) -> Sequence[str]:
        """Return the names of the tables."""
        with translated():
            rows = self._connection.execute(f"{_OBJECTS} AND type = 'table' ORDER BY name")
            return [name for (name,) in rows]

    def complaints(self, table: str) -> Sequence[str]:
        """Read all pages of a table and of its indices, and return what is wrong with them, the first few lines."""
        with translated():
            check = self._connection.execute(f"PRAGMA integrity_check('{table}')")
            lines = [line for (line,) in check.fetchmany(_COMPLAINTS)]
        return [] if lines == ["ok"] else lines

    def broken_references(self) -> Mapping[str, int]:
        """Return by table how many rows belong to a row that is not there."""
        with translated():
            rows = self._connection.execute("PRAGMA foreign_key_check")
            return dict(Counter(row[0] for row in rows))

    def accounts(self) -> Mapping[str, int]:
        """Return how many records each account has."""
        query = "SELECT account, count(*) FROM records GROUP BY account ORDER BY account"
        with translated():
            return dict(self._connection.execute(query).fetchall())

    def records(self, account: str) -> Iterator[Record]:
        """Yield the records of an account."""
        query = f"SELECT {RECORD_COLUMNS} FROM records WHERE account = ? ORDER BY uri, level"  # noqa: S608 - fixed text
        with translated():
            for row in self._connection.execute(query, (account,)):
                yield record_of(row)

    def census(self, account: str) -> Census:
        """Read all passages of an account and their vectors, and count them."""
        query = (
            "SELECT p.text, p.pending, v.vector FROM records r"
            # CROSS: in this order, so that no page of another account is read.
            " CROSS JOIN passages p ON p.record = r.id"
            " LEFT JOIN vectors v ON v.digest = p.digest WHERE r.account = ?"
        )
        found: Counter[str] = Counter()
        sizes: Counter[int] = Counter()
        with translated():
            for _, pending, vector in self._connection.execute(query, (account,)):
                found["passages"] += 1
                found["pending"] += pending
                if vector is None:
                    found["vectorless"] += not pending
                elif _is_vector(vector):
                    sizes[len(vector)] += 1
                else:
                    found["damaged"] += 1
        strange = sizes.total() - max(sizes.values(), default=0)  # of another length than most
        return Census(
            found["passages"], found["pending"], found["vectorless"], found["damaged"] + strange
        )

    def position(self) -> int:
        """Return where the log stands."""
        with translated():
            return last_position(self._connection)

    def unlogged(self) -> int:
        """Return how many records no index can follow, since they are not in the log."""
        query = (
            "SELECT count(*) FROM records WHERE NOT EXISTS (SELECT 1 FROM log WHERE record = id)"
        )
        with translated():
            return int(self._connection.execute(query).fetchone()[0])

    def findable(self) -> Ids:
        """Return the ids of the records that have passages, ascending."""
        query = "SELECT DISTINCT record FROM passages WHERE record IN (SELECT id FROM records) ORDER BY record"
        with translated():
            rows = self._connection.execute(query)
            return np.fromiter((record for (record,) in rows), np.int64)


def _is_vector(blob: bytes) -> bool:
    return len(blob) % _FLOAT_BYTES == 0 and bool(np.isfinite(np.frombuffer(blob, "<f4")).all())
