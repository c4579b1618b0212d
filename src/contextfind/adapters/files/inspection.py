"""What is wrong with the blobs in a directory: every one read, none touched."""

import hashlib
import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path

import numpy as np

from contextfind.ports.housekeeping import NameKeys, Swept, key_of

_SHELVES = tuple(f"{number:02x}" for number in range(256))
_DIGEST = re.compile(r"[0-9a-f]{64}")


class BlobState(Enum):
    """How a blob is."""

    WHOLE = "whole"
    LOST = "lost"
    DAMAGED = "damaged"


class BlobInspection:
    """Looks at the blobs in a directory. Every method blocks."""

    def __init__(self, directory: Path) -> None:
        self._root = directory

    def state(self, digest: str) -> BlobState:
        """Read a blob and return how it is; one that the disk does not give back is damaged."""
        try:
            with (self._root / digest[:2] / digest[2:]).open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except FileNotFoundError:
            return BlobState.LOST
        except OSError:
            return BlobState.DAMAGED
        return BlobState.WHOLE if found == digest else BlobState.DAMAGED

    def loose(self, named: NameKeys) -> Iterator[Swept]:
        """Yield, for each of 256 shelves, how many blobs nobody names, and their bytes. named: ascending."""
        for shelf in _SHELVES:
            directory = self._root / shelf
            files = list(directory.iterdir()) if directory.is_dir() else []
            blobs = [file for file in files if _DIGEST.fullmatch(shelf + file.name)]
            keys = np.array([key_of(shelf + file.name) for file in blobs], np.uint64)
            there = np.isin(keys, named)
            loose = [blobs[place] for place in np.flatnonzero(~there)]
            yield Swept(len(loose), sum(file.stat().st_size for file in loose))
