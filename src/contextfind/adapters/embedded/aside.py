"""Work that would hold the interpreter for seconds, done by a copy of the process that does nothing else.

A fork costs the original the time to copy its page tables, some milliseconds per GiB; its memory is
shared until one of the two writes to it.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable

POSSIBLE = sys.platform == "linux"  # elsewhere a process with threads cannot be copied safely
_HANDLES = 65_536  # sockets, databases and locks of the original, which the copy must not hold open
_FIRST_LOOK, _LONGEST_LOOK = 0.001, 0.05  # seconds between looks whether it has ended
_PATIENCE_SECONDS = 300.0  # a graph of a million nodes is written in 10; a copy that hangs is ended


def done_aside(work: Callable[[], None], patience: float = _PATIENCE_SECONDS) -> bool:
    """Run `work` in a copy of this process; return whether it ended well. Blocks the calling thread.

    Of what `work` does only files remain. It may open files, and use nothing that was open before.
    """
    copy = os.fork()
    if copy == 0:
        _live(work)
    deadline = time.monotonic() + patience
    pause = threading.Event()
    seconds = _FIRST_LOOK
    while time.monotonic() < deadline:
        ended, status = os.waitpid(copy, os.WNOHANG)
        if ended:
            return status == 0
        pause.wait(seconds)
        seconds = min(2 * seconds, _LONGEST_LOOK)
    os.kill(copy, signal.SIGKILL)
    os.waitpid(copy, 0)
    return False


def _live(work: Callable[[], None]) -> None:  # pragma: no cover - nobody counts lines in the copy
    """Be the copy: work, and end without cleaning up what belongs to the original."""
    code = 1
    try:
        os.closerange(3, _HANDLES)
        work()
        code = 0
    finally:
        os._exit(code)
