"""Errors of PostgreSQL as ours."""

import asyncio
import contextlib
from collections.abc import Iterator

import psycopg
from psycopg import errors
from psycopg_pool import PoolTimeout

from contextfind.domain.errors import (
    DiskRefusesError,
    FailedPreconditionError,
    InvalidArgumentError,
    StoreBusyError,
    StoreDownError,
    UnavailableError,
)

_FULL = "53100"  # disk_full
_READ_ONLY = "25006"  # read_only_sql_transaction
# A connection that was refused bears no code, only the sentence of the server, which another language may be set for.
_CROWDED = ("too many clients", "remaining connection slots", "too many connections")
_BETWEEN = (
    "is starting up",
    "is shutting down",
    "not yet accepting",
    "not accepting connections",
    "in recovery mode",
)
_AGAIN = {"retryable": True}


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """Let no error of the driver out: each becomes one of ours, as its cause deserves."""
    try:
        yield
    except PoolTimeout as error:
        raise StoreDownError("no connection to the database is free; try again", _AGAIN) from error
    except psycopg.Error as error:
        raise _ours(error) from error
    except (TimeoutError, OSError) as error:
        if isinstance(error, asyncio.CancelledError):
            raise
        raise StoreDownError(f"the database does not answer: {error}", _AGAIN) from error


def _ours(error: psycopg.Error) -> Exception:
    if error.sqlstate == _FULL:
        return DiskRefusesError("is full")
    if error.sqlstate == _READ_ONLY:
        return DiskRefusesError("is read-only")
    if isinstance(error, errors.InsufficientPrivilege | errors.InvalidCatalogName):
        return FailedPreconditionError(f"the database refuses: {_line(error)}")
    if isinstance(error, errors.ProgramLimitExceeded):  # it will not fit the next time either
        return InvalidArgumentError(
            "an address or a tag is too long for the database, which finds none of more than some 2,600 bytes: "
            f"{_line(error)}"
        )
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return _down(_line(error))
    return UnavailableError(f"the database refuses: {_line(error)}")


def _down(line: str) -> StoreDownError:
    if any(words in line for words in _CROWDED):
        return StoreBusyError(
            "the database has no connection left for this server: raise max_connections or the CONNECTION LIMIT of the "
            f"role, or lower storage.connections ({line})",
            _AGAIN,
        )
    kind = StoreBusyError if any(words in line for words in _BETWEEN) else StoreDownError
    return kind(f"the database does not answer: {line}", _AGAIN)


def _line(error: psycopg.Error) -> str:
    return " ".join(str(error).split())[:300]
