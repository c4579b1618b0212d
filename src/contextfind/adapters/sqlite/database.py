"""The database file: one thread that writes, two that read."""

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from contextfind.adapters.sqlite.bell import Bell
from contextfind.adapters.sqlite.committing import last_position
from contextfind.adapters.sqlite.readers import Readers
from contextfind.adapters.sqlite.rows import CURE
from contextfind.adapters.sqlite.schema import migrate
from contextfind.adapters.sqlite.writer import Writer
from contextfind.domain.errors import DamagedError, DiskRefusesError, UnavailableError

T = TypeVar("T")

_SHRINKABLE = "PRAGMA auto_vacuum = INCREMENTAL"
FILE_NAME = "contextfind.db"
_REFUSALS = {
    sqlite3.SQLITE_FULL: "is full",
    sqlite3.SQLITE_READONLY: "is read-only",
    sqlite3.SQLITE_IOERR_WRITE: "cannot be written",
    sqlite3.SQLITE_IOERR_FSYNC: "cannot be written",
    sqlite3.SQLITE_IOERR_TRUNCATE: "cannot be written",
    sqlite3.SQLITE_IOERR_SHMSIZE: "cannot be written",
}
_PRIMARY = 0xFF  # the bits of an error code that say what it is; those above say more
_READERS = 2  # as many as cores; a read holds the GIL while it makes records anyway
_BUSY_SECONDS = 5.0  # somebody else (a backup, a shell) holds the file
_CACHE_KIB = 32_768  # per connection: the inner pages of every index at a million passages
_LOG_BYTES = 64 * 1024 * 1024  # what the write-ahead log keeps of its room after a burst


class Database:
    """`contextfind.db` in a directory, opened; shared by all stores that live in it.

    bell: the log position, and who waits for it.
    """

    def __init__(self, directory: Path) -> None:
        """Open, making or migrating the file. Blocks; from a coroutine use `open`.

        Raises:
            FailedPreconditionError: a file of a newer contextfind.
            UnavailableError: the file cannot be opened or is no database.

        """
        self._path = directory / FILE_NAME
        self._log = directory / f"{FILE_NAME}-wal"
        with translated():
            connection = self._connected()
        self.bell = Bell(last_position(connection))
        self._writer = Writer(connection, lambda writing: self.bell.ring(last_position(writing)))
        self._readers = Readers(self._reader, _READERS)
        self._closed = False
        self._writes = 0

    @property
    def writes(self) -> int:
        """How often `write` was called."""
        return self._writes

    @classmethod
    async def open(cls, directory: Path) -> "Database":
        """Open without blocking the loop; raises what the constructor does."""
        return await asyncio.to_thread(cls, directory)

    async def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` in the writer's thread and return its result once it is on disk.

        A caller that is cancelled takes back only work that has not begun.

        Raises:
            UnavailableError: the disk or the file refuses, or the store is closed.

        """
        self._writes += 1
        return await self.tidy(work)

    async def tidy(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do what `write` does, uncounted: for what leaves nothing behind that is to be tidied up."""
        with translated():
            return await asyncio.wrap_future(self._writer.submit(work))

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` in a reader's thread; all its statements see one state of the data.

        Raises:
            UnavailableError: the file refuses, or the store is closed.

        """
        return await self.glance(lambda connection: _at_once(connection, work))

    async def glance(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` of a single statement, which sees one state of the data by itself.

        Raises:
            UnavailableError: as for `read`.

        """
        if self._closed:
            raise UnavailableError("the store is closed")
        try:
            with translated():
                return await self._readers.run(work)
        except UnicodeEncodeError:  # of what was asked for
            raise
        except (
            ValueError
        ) as error:  # no JSON, no member of an enumeration: nobody wrote it like this
            raise DamagedError(f"a row of {FILE_NAME} is damaged ({error}); {CURE}") from error

    def size(self) -> int:
        """Return the bytes of the file and of its log. Blocks."""
        return _size(self._path) + _size(self._log)

    def cut_log(self) -> int:
        """Write the log back into the file, empty it, and return how many bytes it had.

        Nobody waits for it: where somebody reads or writes at the last moment, the log stays as it is.
        Blocks, for as long as the log is long.

        Raises:
            UnavailableError: the disk or the file refuses, or the store is closed.

        """
        if self._closed:
            raise UnavailableError("the store is closed")
        before = _size(self._log)
        with translated(), contextlib.closing(sqlite3.connect(self._path)) as connection:
            connection.execute("PRAGMA synchronous = FULL")
            _, written, back = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            if written == back:  # all of it is in the file: emptying it takes no time
                connection.execute("PRAGMA busy_timeout = 0")
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return max(before - _size(self._log), 0)

    async def rewrite(self) -> None:
        """Write the whole file anew, without gaps and so that single pages can be given back later.

        Raises:
            UnavailableError: the disk or the file refuses; nothing has changed then.

        """

        def work() -> None:
            with translated(), contextlib.closing(sqlite3.connect(self._path)) as connection:
                connection.execute(_SHRINKABLE)
                connection.execute("VACUUM")

        await asyncio.to_thread(work)
        await asyncio.to_thread(self.cut_log)

    async def aclose(self) -> None:
        """Finish what is queued and close the file; closing twice is harmless."""
        if self._closed:
            return
        self._closed = True
        self.bell.close()
        await asyncio.to_thread(self._close)

    def _connected(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute(_SHRINKABLE)  # before anything else: it counts for a new file only
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(f"PRAGMA journal_size_limit = {_LOG_BYTES}")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
            migrate(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _reader(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"{self._path.absolute().as_uri()}?mode=ro",
            timeout=_BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
            uri=True,
        )
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        return connection

    def _close(self) -> None:
        self._readers.close()
        self._writer.close()


def _at_once(connection: sqlite3.Connection, work: Callable[[sqlite3.Connection], T]) -> T:
    """Let all statements of `work` see one state of the data."""
    connection.execute("BEGIN")
    try:
        return work(connection)
    finally:
        connection.execute("ROLLBACK")  # COMMIT fails, and stays open, behind a damaged page


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """Let no error of SQLite out: each becomes one of ours, as its cause deserves."""
    try:
        yield
    except sqlite3.Error as error:
        if is_damage(error):
            raise DamagedError(f"{FILE_NAME} is damaged ({error}); {CURE}") from error
        if state := refused(error):
            raise DiskRefusesError(state) from error
        raise UnavailableError(f"the database does not answer: {error}") from error


def refused(error: sqlite3.Error) -> str:
    """Return why the disk takes nothing, as in `is full`; empty for other errors.

    A transaction that was lost has the writer's own error, which names the cause.
    """
    codes = (getattr(one, "sqlite_errorcode", 0) for one in (error, error.__cause__))
    return next((_REFUSALS[code] for code in codes if code in _REFUSALS), "")


def is_damage(error: sqlite3.Error) -> bool:
    """Whether the file itself holds what was never written."""
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:  # the module's own errors have none; this one is about a text that is no UTF-8
        return str(error).startswith("Could not decode")
    return code & _PRIMARY in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
