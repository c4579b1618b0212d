"""What is fuzzed: a name, inputs that are good, and what is done with any other."""

import random
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

Run = Callable[[bytes], None]
Mutation = Callable[[bytes], bytes]
Kneading = Callable[[bytes, Mutation, random.Random], bytes]


@dataclass(frozen=True)
class Target:
    """A parser under fire.

    seeds: good inputs to start from. opened: gives what takes one input; it returns, or raises one of
    our own errors, or else it is broken. knead: mutates inside of a container whose checksums would
    refuse nearly everything else. longest: bytes of an input. seconds: of the processor for one input; more is a hang.
    """

    name: str
    seeds: Callable[[], Sequence[bytes]]
    opened: Callable[[], AbstractContextManager[Run]]
    words: Sequence[bytes] = ()
    knead: Kneading | None = None
    longest: int = 8_000
    seconds: float = 2.0
