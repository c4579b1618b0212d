"""Bounds inside a filter, as callers write them: `{"gte": "2026-11-01", "lt": "2026-12-01"}`."""

import math
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TypeVar

from contextfind.domain.filter_faults import fault, shown
from contextfind.domain.filter_values import LARGEST, Asker, Field, is_number, moment
from contextfind.domain.filters import Between, Filter, Nothing, OneOf, TimeField, Used
from contextfind.domain.records import Level
from contextfind.domain.times import Bound

BOUNDS = ("gt", "gte", "lt", "lte")

_Ordered = TypeVar("_Ordered", datetime, float)
_MICROSECOND = timedelta(microseconds=1)
# of a day written as a bare date
_EDGES: dict[str, Bound] = {"gt": "until", "gte": "since", "lt": "since", "lte": "until"}


def within_bounds(field: Field, bounds: Mapping[str, object], path: str, asker: Asker) -> Filter:
    """Return the condition that a number or time lies within at least one of `BOUNDS`.

    A bare date is a whole day: `gte` and `lt` mean its beginning, `lte` and `gt` its end.

    Raises:
        InvalidArgumentError: a bound that is no number or time, two lower or two upper ones, or
            bounds that nothing can lie between.

    """
    for one, other in (("gt", "gte"), ("lt", "lte")):
        if one in bounds and other in bounds:
            raise fault(f"{path}.{one}", bounds[one], f"only one of {one} and {other}")
    if field == "created_at" or field == "updated_at":  # noqa: PLR1714 - narrows the type
        return _time_range(field, bounds, path, asker)
    return _number_range(field, bounds, path)


def _time_range(field: TimeField, bounds: Mapping[str, object], path: str, asker: Asker) -> Filter:
    moments = {
        name: moment(value, _EDGES[name], f"{path}.{name}", asker) for name, value in bounds.items()
    }
    _check_order(moments, bounds, path)
    since, until = moments.get("gte"), moments.get("lte")
    try:
        if "gt" in moments:
            since = moments["gt"] + _MICROSECOND
        if "lt" in moments:
            until = moments["lt"] - _MICROSECOND
    except OverflowError:  # after the last moment there is, or before the first one
        return Nothing()
    return Between(field, since, until)


def _number_range(field: Field, bounds: Mapping[str, object], path: str) -> Filter:
    numbers = {name: _number(value, f"{path}.{name}") for name, value in bounds.items()}
    _check_order(numbers, bounds, path)
    least = math.ceil(numbers["gte"]) if "gte" in numbers else None
    most = math.floor(numbers["lte"]) if "lte" in numbers else None
    if "gt" in numbers:
        least = math.floor(numbers["gt"]) + 1
    if "lt" in numbers:
        most = math.ceil(numbers["lt"]) - 1
    if field == "active_count":
        return Used(least, most)
    inside = (
        str(level.value)
        for level in Level
        if (least is None or least <= level) and (most is None or level <= most)
    )
    return OneOf("level", frozenset(inside))


def _check_order(values: Mapping[str, _Ordered], bounds: Mapping[str, object], path: str) -> None:
    """Refuse bounds that nothing at all can lie between: they were mixed up."""
    low = "gt" if "gt" in values else "gte"
    high = "lt" if "lt" in values else "lte"
    if low not in values or high not in values:
        return
    first, last = values[low], values[high]
    if first > last or (first == last and (low, high) != ("gte", "lte")):
        raise fault(
            f"{path}.{low}", bounds[low], f"it to lie below {high}, which is {shown(bounds[high])}"
        )


def _number(value: object, path: str) -> float:
    if is_number(value):
        return value
    raise fault(path, value, f"a number from {-LARGEST} to {LARGEST}")
