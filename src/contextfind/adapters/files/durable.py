"""What lies on the disk for good, also when the machine loses its power."""

import os
from pathlib import Path


def sync(place: Path) -> None:
    """Make a file, or the names in a directory, durable."""
    handle = os.open(place, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
