"""From JSON to the dataclasses of `answers`: what is not known is left aside, what is missing is said."""

import dataclasses
from collections.abc import Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from contextfind.client.failure import UnavailableError

T = TypeVar("T")
RAW = "raw"  # the field that holds the JSON object itself


def shaped(kind: type[T], value: object, where: str = "result") -> T:
    """Return JSON as a value of a dataclass of `answers`.

    Unknown fields are left aside and null counts as absent, so that servers of other ages are
    understood. A field `is_dir` is read from `is_dir` or `isDir`.

    Raises:
        UnavailableError: a field that is needed is not there, or something is of another kind.

    """
    made: T = _shaped(kind, value, where)
    return made


def _shaped(kind: Any, value: object, where: str) -> Any:
    if kind is Any:
        return value
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is UnionType:
        (inner,) = (one for one in arguments if one is not NoneType)
        return None if value is None else _shaped(inner, value, where)
    if origin is tuple:
        items = _checked(value, list, where)
        return tuple(_shaped(arguments[0], item, f"{where}[{n}]") for n, item in enumerate(items))
    if dataclasses.is_dataclass(kind):
        return _object(kind, _checked(value, dict, where), where)
    if kind is float and isinstance(value, int):
        value = value if isinstance(value, bool) else float(value)
    return _checked(value, dict if origin is Mapping else kind, where)


def _object(kind: Any, value: Mapping[str, Any], where: str) -> Any:
    known: dict[str, Any] = {}
    for name, (spelling, inner, needed) in _fields(kind).items():
        said = value if name == RAW else value.get(name, value.get(spelling))
        if said is not None:
            known[name] = said if name == RAW else _shaped(inner, said, f"{where}.{name}")
        elif needed:
            raise UnavailableError("UNAVAILABLE", f"the server's answer has no {where}.{name}")
    return kind(**known)


def _checked(value: object, kind: type, where: str) -> Any:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        said = f"{where} as {type(value).__name__}, and {kind.__name__} was expected"
        raise UnavailableError("UNAVAILABLE", f"the server's answer has {said}")
    return value


@cache
def _fields(kind: Any) -> Mapping[str, tuple[str, Any, bool]]:
    """Return of each field its other spelling, its type, and whether it must be there."""
    hints = get_type_hints(kind)
    missing = dataclasses.MISSING
    return {
        field.name: (
            _camel(field.name),
            hints[field.name],
            field.default is missing and field.default_factory is missing,
        )
        for field in dataclasses.fields(kind)
    }


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
