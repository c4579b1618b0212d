"""The one place where concrete things are built."""

from contextfind.wiring.house import House
from contextfind.wiring.surroundings import Surroundings

__all__ = ["House", "Surroundings"]
