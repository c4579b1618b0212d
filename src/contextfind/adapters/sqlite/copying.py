"""`contextfind.db` copied as it is at one moment, also while a server writes to it."""

import contextlib
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from contextfind.adapters.sqlite.committing import last_position
from contextfind.adapters.sqlite.database import FILE_NAME, refused
from contextfind.adapters.sqlite.records import FINGERPRINT
from contextfind.adapters.sqlite.schema import MIGRATIONS
from contextfind.domain.errors import FailedPreconditionError, UnavailableError

KNOWN_SCHEMA = len(MIGRATIONS)  # what a server of this program can open, and every one below

_BUSY_SECONDS = 30.0  # a server that is just starting or stopping holds the file for a moment
_PAGES = 2_048  # copied between two signs of life: 8 MiB
_DIGEST = re.compile(r"[0-9a-f]{64}")
_COUNTED = ("accounts", "users", "keys", "records", "passages", "sessions", "messages", "jobs")
# Ordered by the database, which needs no memory for it: a million names are 100 MB here. What a body was made from is
# kept beside it now and then only.
_NAMES = """
    SELECT name, max(needed) FROM (
        SELECT content AS name, 1 AS needed FROM records WHERE length(content) = 64
        UNION ALL SELECT source, 0 FROM records WHERE length(source) = 64
    )
    GROUP BY name ORDER BY name
"""

Told = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Contents:
    """What a database file holds: its schema, its log position, whose vectors, and rows by table."""

    schema: int
    position: int
    fingerprint: str
    counts: Mapping[str, int]


def copy_database(directory: Path, target: Path, told: Told) -> Contents:
    """Write the database of a data directory into a new file, as of one moment, and look it through.

    Others may read and write meanwhile and wait for nothing; their log grows until it is done. The copy is one
    file, not synced. told: pages done and pages in all, now and then.

    Raises:
        UnavailableError: the database cannot be read, the copy not written, or what was read is damaged.
        FailedPreconditionError: the file was written by a newer contextfind.

    """
    with _translated(), _reading(directory / FILE_NAME) as source, _writing(target) as copy:
        # One transaction around all steps: without it a copy begins anew whenever somebody writes.
        source.execute("BEGIN")
        (schema,) = source.execute("PRAGMA user_version").fetchone()
        if schema > KNOWN_SCHEMA:
            raise FailedPreconditionError(
                f"contextfind.db has version {schema}, this contextfind knows up to {KNOWN_SCHEMA}; "
                "take the backup with the contextfind that wrote it"
            )
        source.backup(copy, pages=_PAGES, progress=lambda _, left, all_: told(all_ - left, all_))
        copy.execute("PRAGMA journal_mode = DELETE")  # so that it is one file
        (verdict,) = copy.execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            raise UnavailableError(f"the database is damaged: {verdict}")
        return _contents(copy, schema)


def named_blobs(file: Path) -> Iterator[tuple[str, bool]]:
    """Yield the digests that records in a database file name, each once, ascending; whether it must be there.

    Raises:
        UnavailableError: the file cannot be read.

    """
    with _translated(), _reading(file) as connection:
        for name, needed in connection.execute(_NAMES):
            if _DIGEST.fullmatch(name):
                yield name, bool(needed)


def _contents(connection: sqlite3.Connection, schema: int) -> Contents:
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (FINGERPRINT,)).fetchone()
    there = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    counts = {
        table: int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])  # noqa: S608 - fixed text
        for table in _COUNTED
        if table in there
    }
    return Contents(schema, last_position(connection), row[0] if row else "", counts)


@contextlib.contextmanager
def _reading(file: Path) -> Iterator[sqlite3.Connection]:
    address = f"{file.absolute().as_uri()}?mode=ro"
    connection = sqlite3.connect(address, timeout=_BUSY_SECONDS, isolation_level=None, uri=True)
    with contextlib.closing(connection):
        yield connection


@contextlib.contextmanager
def _writing(file: Path) -> Iterator[sqlite3.Connection]:
    file.write_bytes(b"")  # what cannot be made says why here, and only that it cannot there
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")  # whoever asked for it syncs it, once
        yield connection


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        if state := refused(error):  # that of the copy: the data are only read
            raise UnavailableError(f"the disk of the backup {state}") from error
        raise UnavailableError(f"the database cannot be copied: {error}") from error
    except OSError as error:
        raise UnavailableError(f"the database cannot be copied: {error.strerror}") from error
