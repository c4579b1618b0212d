"""A time in which no blob of a data directory is taken away, agreed on between processes."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from contextfind.domain.errors import FailedPreconditionError, UnavailableError

_NAME = "sweep.lock"
_PATIENCE = 10.0  # seconds: one step of a sweep takes milliseconds, on a busy disk some more


class Stillness:
    """Held by a backup, which reads blobs by and by; asked by a sweep before each of its steps.

    It ends with the process that holds it, however that ends. patience: seconds that `held` waits for a sweep.
    """

    def __init__(self, directory: Path, patience: float = _PATIENCE) -> None:
        self._file = directory / _NAME
        self._patience = patience

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let no blob go until the context ends. Blocks for up to `patience` seconds.

        Raises:
            FailedPreconditionError: somebody else holds it. UnavailableError: nothing can be written there.

        """
        lock = self._lock(self._patience)
        try:
            lock.acquire()
        except Timeout:
            raise FailedPreconditionError(
                "another backup of this data is being taken; wait until it is done"
            ) from None
        except OSError as error:
            raise UnavailableError(
                f"{self._file.parent} cannot be written ({error.strerror}), so nothing in it can be held on to; "
                "copy the directory elsewhere and save that"
            ) from error
        self._give_to_owner()
        try:
            yield
        finally:
            lock.release()

    @contextmanager
    def absent(self) -> Iterator[None]:
        """Let nobody hold it until the context ends.

        Raises:
            UnavailableError: a backup is being taken.

        """
        lock = self._lock(0)
        try:
            lock.acquire()
        except Timeout:
            raise UnavailableError("a backup is being taken") from None
        try:
            yield
        finally:
            lock.release()

    def _give_to_owner(self) -> None:
        """Let the server sweep afterwards, when this was run by root and that is not."""
        owner = self._file.parent.stat()
        with suppress(OSError):  # nobody but root may, and nobody else needs to
            os.chown(self._file, owner.st_uid, owner.st_gid)

    def _lock(self, patience: float) -> FileLock:
        return FileLock(self._file, timeout=patience, thread_local=False)
