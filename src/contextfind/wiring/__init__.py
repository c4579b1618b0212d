"""The one place where concrete things are built."""

from contextfind.wiring.house import House
from contextfind.wiring.surroundings import Surroundings
from contextfind.wiring.vault import Vault

__all__ = ["House", "Surroundings", "Vault"]
