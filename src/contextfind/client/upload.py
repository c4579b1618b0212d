"""A file on its way to the server."""

import io
from pathlib import Path

from contextfind.client.exchange import Told


class WatchedFile(io.BufferedReader):
    """A file that tells how much of it was read.

    Raises:
        OSError: it cannot be opened.

    """

    def __init__(self, path: Path, told: Told | None) -> None:
        super().__init__(io.FileIO(path))
        self._size = path.stat().st_size
        self._told = told

    def read(self, size: int | None = -1, /) -> bytes:
        """Return the next bytes."""
        data = super().read(size)
        if self._told is not None:
            self._told(self.tell(), self._size)
        return data
