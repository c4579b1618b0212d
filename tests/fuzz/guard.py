"""One input, watched: what is no error of ours, takes too long or takes too much memory is a fault."""

import resource
import signal
import sys
import traceback
from dataclasses import dataclass
from types import FrameType

from contextfind.domain.errors import ContextFindError
from tests.fuzz.target import Run

# A small input that needs more than this was built to: usual ones stay below a tenth of it.
MEMORY = 256 * 1024 * 1024
_OURS = ("/src/contextfind/", "/tests/fuzz/")
_UNIT = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss
_TOLD = 500  # characters of a message


class Hang(BaseException):
    """The time of an input is over; no handler of `Exception` stops it."""


@dataclass(frozen=True)
class Fault:
    """kind: of the exception, `Hang` or `Memory`. place: the last function of ours. told: all of it."""

    kind: str
    place: str
    told: str

    @property
    def alike(self) -> tuple[str, str]:
        """What two findings of the same fault have in common."""
        return self.kind, self.place


def fault_of(run: Run, data: bytes, seconds: float) -> Fault | None:
    """Return what is wrong with the way an input is taken, None where nothing is.

    seconds: of this process' processor time, so that a busy machine proves nothing.
    """
    before = _peak()
    try:
        _timed(run, data, seconds)
    except ContextFindError as error:
        return _of_ours(error)
    except (Exception, Hang) as error:  # noqa: BLE001 - the purpose of this module
        return _described(error)
    grown = _peak() - before
    if grown > MEMORY:
        return Fault("Memory", "", f"one input of {len(data)} bytes took {grown:,} bytes of memory")
    return None


def _timed(run: Run, data: bytes, seconds: float) -> None:
    before = signal.signal(signal.SIGPROF, _stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        run(data)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _stop(_signal: int, _frame: FrameType | None) -> None:
    raise Hang


def _of_ours(error: ContextFindError) -> Fault | None:
    """Our own errors are answers, where they can be told and blame the input."""
    if error.code in ("INTERNAL", "UNAVAILABLE"):
        return _described(error)
    try:
        str(error).encode()
    except UnicodeEncodeError as unspeakable:
        return _described(unspeakable.with_traceback(error.__traceback__))
    return None


def _described(error: BaseException) -> Fault:
    frames = traceback.extract_tb(error.__traceback__)
    mine = [
        one
        for one in frames
        if any(part in one.filename for part in _OURS) and one.filename != __file__
    ]
    last = (mine or frames)[-1]
    place = f"{last.filename.rpartition('/src/')[2]}:{last.name}"
    told = "".join(traceback.format_exception(error)).strip()
    return Fault(type(error).__name__, place, told[-3_000:] + f"\n{str(error)[:_TOLD]}")


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _UNIT
