"""Entries of the log that only said that a record is gone, and that every index has followed.

An index that begins at 0 needs none of them. One that stands somewhere before the last forgotten one would keep what
was deleted; so the file tells up to where that is.
"""

import sqlite3
from collections.abc import Sequence

from contextfind.ports.fault_points import FaultPoint, reached

_FORGOTTEN = "log_forgotten"  # in `meta`
_AT_ONCE = (
    5_000  # entries that a reader looks at: some 5 ms; rarely more than a few of them are forgotten
)


def forgotten(connection: sqlite3.Connection) -> int:
    """Return the position up to which entries of records that are gone may be missing."""
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (_FORGOTTEN,)).fetchone()
    return 0 if row is None else int(row[0])


def gone_entries(
    connection: sqlite3.Connection, after: int, upto: int
) -> tuple[int, Sequence[int]]:
    """Look at the next entries after a position and not after `upto`.

    Returns the position of the last one looked at, `upto` when there are no more, and the positions of those whose
    record is gone. The last entry of all is never among them: by it the file knows where the log stands.
    """
    rows = connection.execute(
        "SELECT position, NOT EXISTS (SELECT 1 FROM records WHERE id = record) FROM log"
        " WHERE position > ? AND position <= ? ORDER BY position LIMIT ?",
        (after, upto, _AT_ONCE),
    ).fetchall()
    (last,) = connection.execute("SELECT max(position) FROM log").fetchone()
    seen = rows[-1][0] if len(rows) == _AT_ONCE else upto
    return seen, [position for position, gone in rows if gone and position != last]


def forget(connection: sqlite3.Connection, gone: Sequence[int], upto: int) -> None:
    """Delete entries, and note up to where some may be missing now. What is gone does not come back."""
    connection.executemany("DELETE FROM log WHERE position = ?", [(entry,) for entry in gone])
    reached(FaultPoint.MID_FORGETTING)
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_FORGOTTEN, str(upto)))
