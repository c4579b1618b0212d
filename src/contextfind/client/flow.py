"""A call of the client as a series of steps, which neither knows nor cares who takes them.

So a method is written once, and has two performers: one that blocks and one that awaits.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, TypeVar

from contextfind.client.exchange import Request

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Pause:
    """Let some seconds pass."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Work:
    """Call something that reads or writes files; the step's outcome is what it returns."""

    function: Callable[[], object]


@dataclass(frozen=True, slots=True)
class Moment:
    """Tell the time: seconds of a clock that only goes forward."""


@dataclass(frozen=True, slots=True)
class FreshId:
    """Make a text that nobody made before."""


Step = Request[Any] | Pause | Work | Moment | FreshId
Flow = Generator[Step, Any, T]  # it is sent the outcome of each step, an Answer for a Request


def ask(request: Request[T]) -> Flow[T]:
    """Send one request and return what its answer says."""
    return request.read((yield request))
