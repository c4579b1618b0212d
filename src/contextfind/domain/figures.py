"""A figure that is measured: a name, what it means, and its values."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Figure:
    """What monitoring is told under one name.

    name: without the program's; `index_rows`. meaning: one line for people. kind: a `counter` only rises
    while the process lives. label: what tells the values apart; empty where there is one. values: by
    label, under "" where there is one.
    """

    name: str
    meaning: str
    kind: Literal["gauge", "counter"]
    values: Mapping[str, float]
    label: str = ""


def gauge(name: str, meaning: str, value: float) -> Figure:
    """Return a figure with one value, which rises and falls."""
    return Figure(name, meaning, "gauge", {"": value})


def counter(name: str, meaning: str, value: float) -> Figure:
    """Return a figure with one value, which only rises."""
    return Figure(name, meaning, "counter", {"": value})
