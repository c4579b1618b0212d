"""A small input that shows the same fault as a large one."""

import time
from collections.abc import Callable

_SECONDS = 20.0  # that a finding may cost; the rest of the time is for others


def shrunk(data: bytes, still: Callable[[bytes], bool], seconds: float = _SECONDS) -> bytes:
    """Return `data` without the pieces that do not matter.

    still: whether an input shows the fault.
    """
    end = time.monotonic() + seconds
    size = max(len(data) // 2, 1)
    while size:
        start = 0
        while start < len(data):
            shorter = data[:start] + data[start + size :]
            if time.monotonic() > end:
                return data
            if still(shorter):
                data = shorter
            else:
                start += size
        size //= 2
    return data
