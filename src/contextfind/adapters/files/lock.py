"""One process per data directory."""

import contextlib
import os
from pathlib import Path
from types import TracebackType
from typing import Self

from filelock import FileLock, Timeout

from contextfind.domain.errors import FailedPreconditionError

LOCK_NAME = "contextfind.lock"
OWNER_NAME = "contextfind.pid"  # beside the lock: a locked file cannot be read everywhere

_PATIENCE = 0.5  # seconds: enough for a predecessor that is just closing, and still "at once"


class DirectoryLock:
    """Holds a data directory until it is released or the process ends, however it ends.

    Keep it: a lock that nobody refers to any more is released too.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lock = FileLock(directory / LOCK_NAME, timeout=_PATIENCE, thread_local=False)

    def acquire(self) -> None:
        """Take the directory, making it if it is not there. Blocks for up to half a second.

        Raises:
            FailedPreconditionError: another process holds it, or it cannot be written.

        """
        try:
            # For its owner alone: it will hold everybody's texts. One that is there keeps its rights.
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock.acquire()
            (self._directory / OWNER_NAME).write_text(f"{os.getpid()}\n", encoding="ascii")
        except Timeout:
            raise FailedPreconditionError(
                f"the data directory {str(self._directory)!r} is in use by {self._owner()}; stop "
                "that one, or give this one another directory (--data DIR, storage.path in ov.conf, "
                "or CONTEXTFIND_DATA)"
            ) from None
        except OSError as error:
            self._lock.release()
            raise FailedPreconditionError(
                f"the data directory {str(self._directory)!r} cannot be written: {error.strerror}"
            ) from error

    def release(self) -> None:
        """Give the directory back; doing so twice is harmless."""
        if self._lock.is_locked:
            with contextlib.suppress(OSError):
                (self._directory / OWNER_NAME).unlink()
            self._lock.release()

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()

    def _owner(self) -> str:
        try:
            pid = (self._directory / OWNER_NAME).read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError):
            pid = ""
        return f"the process {pid}" if pid.isdigit() else "another process"
