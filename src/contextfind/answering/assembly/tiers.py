"""How much of an entry is shown: its address, its abstract, an overview, all of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from contextfind.domain.uri import Uri


class Tier(StrEnum):
    """From least to most."""

    URI = "uri"
    ABSTRACT = "abstract"
    OVERVIEW = "overview"
    FULL = "full"


ORDER = tuple(Tier)


def at_most(ceiling: Tier) -> tuple[Tier, ...]:
    """Return the tiers up to one, least first."""
    return ORDER[: ORDER.index(ceiling) + 1]


@dataclass(frozen=True, slots=True)
class Head:
    """What is said of an entry at every tier."""

    uri: Uri
    category: str
    score: float
    origin: str


@dataclass(frozen=True, slots=True)
class Offer:
    """An entry that may be shown, and its texts by tier; URI has none and is always there.

    A tier that is missing is not to be had, or the caller does not want that much.
    """

    head: Head
    texts: Mapping[Tier, str]


@dataclass(frozen=True, slots=True)
class Shown:
    """An entry as it is shown."""

    head: Head
    tier: Tier
    text: str
