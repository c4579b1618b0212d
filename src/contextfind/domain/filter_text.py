"""The filter language as callers write it: `{"op": "must", "field": "level", "conds": [2]}`.

Everything that cannot be understood is refused with its path inside the filter; nothing is ever
passed over. Whose records may be seen is not expressible here: see `domain.scope`.
"""

import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from typing import TypeVar, get_args

from contextfind.domain.filter_bounds import BOUNDS, within_bounds
from contextfind.domain.filter_faults import fault, lack, shown
from contextfind.domain.filter_values import Asker, Field, equal_to, plain_text, prefix_of
from contextfind.domain.filters import (
    Contains,
    Everything,
    Filter,
    Not,
    Nothing,
    OneOf,
    Or,
    PartField,
    Prefixed,
    all_of,
)

MAX_NODES = 200
MAX_DEPTH = 20
MAX_VALUES = 1_000  # in all `conds` together; an engine looks at each one

Node = Mapping[str, object]

_Choice = TypeVar("_Choice", bound=str)
_FIELDS: tuple[Field, ...] = get_args(Field)
_TIMES: tuple[Field, ...] = ("created_at", "updated_at")
_RANGED: tuple[Field, ...] = ("level", "active_count", *_TIMES)
_PARTS: tuple[PartField, ...] = get_args(PartField)
_NAME_LENGTH = 40  # of operators, fields and keys; what is longer is no slip of the pen
_EXAMPLE = '{"op": "must", "field": "context_type", "conds": ["resource"]}'
_ALIASES = {"search_tags": "tags"}
_MEANT = {  # what other languages call it
    "eq": "must",
    "equals": "must",
    "is": "must",
    "in": "must",
    "term": "must",
    "terms": "must",
    "ne": "must_not",
    "nin": "must_not",
    "not_in": "must_not",
    "gt": "range",
    "gte": "range",
    "lt": "range",
    "lte": "range",
    "between": "range",
    "like": "contains",
    "match": "contains",
    "regex": "contains",
    "substring": "contains",
    "startswith": "prefix",
}


def parse_filter(value: object, user: str, now: datetime, path: str = "filter") -> Filter:
    """Return what a filter from outside means; None and `{}` are `Everything`.

    user: whose tree `~` in an address is. now: the moment from which `7d` counts.

    Raises:
        InvalidArgumentError: it cannot be understood, has more than `MAX_NODES` nodes or
            `MAX_VALUES` values, or is deeper than `MAX_DEPTH`; the message names the path inside,
            the value and what was expected.

    """
    if value is None:
        return Everything()
    _check_size(value, path)
    return _read(value, path, Asker(user, now))


def _check_size(value: object, path: str) -> None:
    """Refuse what is too large, without recursion: it may be far deeper than Python's stack."""
    nodes = values = 0
    waiting = [(value, path, 1)]
    while waiting:
        node, here, depth = waiting.pop()
        if not isinstance(node, Mapping):
            values += 1
            if values > MAX_VALUES:
                raise fault(here, node, f"at most {MAX_VALUES} values in a filter")
            continue
        nodes += 1
        if nodes > MAX_NODES:
            raise fault(here, node, f"at most {MAX_NODES} conditions in a filter")
        if depth > MAX_DEPTH:
            raise fault(here, node, f"a filter of at most {MAX_DEPTH} levels")
        waiting.extend((part, place, depth + 1) for part, place in _inside(node, here))


def _inside(node: Node, path: str) -> Iterator[tuple[object, str]]:
    conds = node.get("conds")
    if isinstance(conds, list):
        yield from ((part, f"{path}.conds[{i}]") for i, part in enumerate(conds))
    if isinstance(node.get("cond"), Mapping):
        yield node["cond"], f"{path}.cond"


def _read(value: object, path: str, asker: Asker) -> Filter:
    if not isinstance(value, Mapping):
        raise fault(path, value, f"an object such as {_EXAMPLE}")
    if not value:
        return Everything()
    node = {key: part for key, part in value.items() if part is not None}  # null says nothing
    if "op" not in node:
        raise lack(f"{path}.op", f"{_one_of(tuple(_FORMS))}, as in {_EXAMPLE}")
    op = node["op"]
    if not isinstance(op, str) or op not in _FORMS:
        raise fault(f"{path}.op", op, _one_of(tuple(_FORMS), op))
    form = _FORMS[op]
    for key, part in node.items():
        if key != "op" and key not in form.keys:
            expected = f"only {', '.join(form.keys)} beside op {op!r}"
            raise fault(_below(path, key), part, expected)
    return form.read(_Place(node, op, path, asker))


@dataclass(frozen=True, slots=True)
class _Place:
    """A node without its nulls, its operator, and where it stands."""

    node: Node
    op: str
    path: str
    asker: Asker

    def field(self, choices: Sequence[_Choice]) -> _Choice:
        """Return which of the fields this operator takes is meant."""
        sent = self.need("field", _one_of(choices))
        name = _ALIASES.get(sent, sent) if isinstance(sent, str) else sent
        for choice in choices:
            if choice == name:
                return choice
        raise fault(f"{self.path}.field", sent, f"{_one_of(choices, sent)} for op {self.op!r}")

    def need(self, key: str, expected: str) -> object:
        """Return what stands at a key that must be there."""
        if key not in self.node:
            raise lack(f"{self.path}.{key}", expected)
        return self.node[key]

    def conds(self, expected: str) -> list[object]:
        """Return the list at `conds`."""
        found = self.need("conds", expected)
        if not isinstance(found, list):
            raise fault(f"{self.path}.conds", found, expected)
        return found

    def parts(self) -> list[Filter]:
        """Return the filters at `conds`."""
        return [
            _read(part, f"{self.path}.conds[{i}]", self.asker)
            for i, part in enumerate(self.conds("a list of filters"))
        ]


def _must(place: _Place) -> Filter:
    field = place.field(_FIELDS)
    conds = place.need("conds", "a value or a list of values")
    if not isinstance(conds, list):
        return equal_to(field, conds, f"{place.path}.conds", place.asker)
    return _any_of(
        [
            equal_to(field, value, f"{place.path}.conds[{i}]", place.asker)
            for i, value in enumerate(conds)
        ]
    )


def _any_of(parts: Sequence[Filter]) -> Filter:
    """Return the disjunction; values of one field become one set."""
    sets = [part for part in parts if isinstance(part, OneOf)]
    if sets and len(sets) == len(parts):
        return OneOf(sets[0].field, frozenset().union(*(part.values for part in sets)))
    if not parts:
        return Nothing()
    return parts[0] if len(parts) == 1 else Or(tuple(parts))


def _must_not(place: _Place) -> Filter:
    return Not(_must(place))


def _range(place: _Place) -> Filter:
    field = place.field(_TIMES if place.op == "time_range" else _RANGED)
    bounds = {key: place.node[key] for key in BOUNDS if key in place.node}
    if not bounds:
        raise lack(f"{place.path}.gte", "at least one of the bounds gt, gte, lt and lte")
    return within_bounds(field, bounds, place.path, place.asker)


def _range_out(place: _Place) -> Filter:
    return Not(_range(place))


def _and(place: _Place) -> Filter:
    return all_of(*place.parts())


def _or(place: _Place) -> Filter:
    parts = place.parts()
    return Or(tuple(parts)) if parts else Nothing()


def _not(place: _Place) -> Filter:
    expected = "either cond (one filter) or conds (a list with one filter)"
    if "cond" in place.node and "conds" in place.node:
        raise fault(f"{place.path}.conds", place.node["conds"], expected)
    if "cond" in place.node:
        return Not(_read(place.node["cond"], f"{place.path}.cond", place.asker))
    if len(place.conds(expected)) != 1:
        raise fault(f"{place.path}.conds", place.node["conds"], "a list with exactly one filter")
    return Not(place.parts()[0])


def _prefix(place: _Place) -> Filter:
    place.field(("uri",))
    prefix = place.need("prefix", "the text that addresses start with")
    return Prefixed(prefix_of(prefix, f"{place.path}.prefix", place.asker))


def _contains(place: _Place) -> Filter:
    field = place.field(_PARTS)
    path = f"{place.path}.substring"
    text = plain_text(place.need("substring", "a text that is not empty"), path)
    if field == "name":
        text = unicodedata.normalize("NFC", text)
    return Contains(field, text.lower() if field == "tags" else text)  # as they are stored


@dataclass(frozen=True, slots=True)
class _Form:
    """What an operator takes beside `op`, and how it is read."""

    keys: tuple[str, ...]
    read: Callable[[_Place], Filter]


_FORMS = {
    "must": _Form(("field", "conds"), _must),
    "must_not": _Form(("field", "conds"), _must_not),
    "range": _Form(("field", *BOUNDS), _range),
    "range_out": _Form(("field", *BOUNDS), _range_out),
    "time_range": _Form(("field", *BOUNDS), _range),
    "and": _Form(("conds",), _and),
    "or": _Form(("conds",), _or),
    "not": _Form(("conds", "cond"), _not),
    "prefix": _Form(("field", "prefix"), _prefix),
    "contains": _Form(("field", "substring"), _contains),
}


def _one_of(choices: Sequence[str], wrong: object = None) -> str:
    """Return the choices in words, with the one that was probably meant."""
    told = choices[0] if len(choices) == 1 else f"one of {', '.join(choices)}"
    if not isinstance(wrong, str) or len(wrong) > _NAME_LENGTH:
        return told
    word = wrong.strip().lower()
    near = [_MEANT[word]] if word in _MEANT else get_close_matches(word, choices, 1)
    return f"{told} (did you mean {near[0]!r}?)" if near and near[0] in choices else told


def _below(path: str, key: object) -> str:
    """Return the path of a key, which may be any text."""
    plain = isinstance(key, str) and key.isidentifier() and len(key) <= _NAME_LENGTH
    return f"{path}.{key}" if plain else f"{path}[{shown(key)}]"
