"""A file on its way to the server."""

import io
from collections.abc import Callable
from pathlib import Path

Progress = Callable[[int, int], None]  # bytes sent so far, bytes in all


class WatchedFile(io.BufferedReader):
    """A file that tells how much of it was read.

    Raises:
        OSError: it cannot be opened.

    """

    def __init__(self, path: Path, progress: Progress | None) -> None:
        super().__init__(io.FileIO(path))
        self._size = path.stat().st_size
        self._progress = progress

    def read(self, size: int | None = -1, /) -> bytes:
        """Return the next bytes."""
        data = super().read(size)
        if self._progress is not None:
            self._progress(self.tell(), self._size)
        return data
