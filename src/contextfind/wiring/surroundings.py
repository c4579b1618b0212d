"""What comes from outside."""

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from contextfind.ports import Clock, IdMaker


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What comes from outside: time and identifiers."""

    clock: Clock
    new_id: IdMaker
    timer: Callable[[], float]

    @classmethod
    def real(cls) -> "Surroundings":
        """Return the clock on the wall and identifiers nobody can guess."""
        return cls(lambda: datetime.now(UTC), lambda: uuid.uuid4().hex, time.perf_counter)
