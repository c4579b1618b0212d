"""JSON whose shape is the caller's own business: kept, given back, never trusted."""

import itertools
import math
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

LONGEST = 1_000_000  # characters; a quarter of a million tokens, more than a model reads at once
_VALUES = 10_000  # inside of one: enough for the output of any tool, walked in milliseconds
_DEEPEST = 32  # an encoder of JSON gives up at some depth; nothing that is said is nested like this


def _storable(value: object) -> object:
    """Return the value as it is, if it can be stored and written as JSON again."""
    left = [(value, 0)]
    characters = values = 0
    while left:
        one, depth = left.pop()
        values += 1
        characters += _length(one)
        left += [(part, depth + 1) for part in itertools.islice(_inside(one), _VALUES)]
        if depth > _DEEPEST:
            raise PydanticCustomError("json_depth", f"expected at most {_DEEPEST} levels")
        if len(left) + values > _VALUES:
            raise PydanticCustomError("json_values", f"expected at most {_VALUES} values")
    if characters > LONGEST:
        raise PydanticCustomError("json_length", f"expected at most {LONGEST} characters")
    return value


def _inside(value: object) -> Iterable[object]:
    """Return what an object or a list holds, the names of an object included."""
    if isinstance(value, Mapping):
        return (part for pair in value.items() for part in pair)
    return value if isinstance(value, list) else ()


def _length(value: object) -> int:
    """Return the characters of a text; refuse halves of them, and numbers that JSON has not."""
    if isinstance(value, float) and not math.isfinite(value):
        raise PydanticCustomError("json_number", "expected numbers that JSON has")
    if not isinstance(value, str):
        return 0
    try:
        value.encode()
    except UnicodeEncodeError:
        raise PydanticCustomError("string_unicode", "expected whole characters") from None
    return len(value)


FREE = AfterValidator(_storable)
"""Holds a field to what can be stored: bounded in length, number of values and depth."""

FreeObject = Annotated[dict[str, Any], FREE]
