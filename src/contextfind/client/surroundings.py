"""What the client takes from the world: time, chance and names, exchangeable for tests."""

import asyncio
import random
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from uuid import uuid4


def _pause(seconds: float) -> None:
    threading.Event().wait(seconds)


def _fresh_id() -> str:
    return uuid4().hex


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Waiting (blocking and awaited), a clock in seconds, chance in 0..1, fresh names."""

    pause: Callable[[float], None] = _pause
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    clock: Callable[[], float] = time.monotonic
    chance: Callable[[], float] = random.random
    fresh_id: Callable[[], str] = _fresh_id
