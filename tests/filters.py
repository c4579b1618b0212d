"""Filters as callers write them: random ones, what each means, and the way back from the tree."""

import operator
from datetime import datetime, timedelta
from typing import Any, assert_never

from hypothesis import strategies as st

from contextfind.domain.filters import (
    And,
    Between,
    Contains,
    Everything,
    Filter,
    Not,
    Nothing,
    Numbered,
    OneOf,
    Or,
    Prefixed,
    Tagged,
    Under,
    Used,
)
from contextfind.domain.records import Record
from tests.builders import NOON
from tests.strategies import NAMES, PLACES, TAGS

Node = dict[str, Any]

NOW = NOON + timedelta(hours=24)
DATES = ("2026-02-28", "2026-03-01", "2026-03-02", "2026-03-03")
COMPARISONS = {"gt": operator.gt, "gte": operator.ge, "lt": operator.lt, "lte": operator.le}
TIMES = ("created_at", "updated_at")

_addresses = st.builds(
    lambda uri, tail: uri.text.rstrip("/") + tail if uri.segments else uri.text,
    st.sampled_from(PLACES),
    st.sampled_from(("", "/", "/a", "/.abstract.md", "/.overview.md")),
) | st.sampled_from(("viking://~", "viking://~/memories", "viking://~/memories/a"))
_prefixes = st.builds(
    lambda uri, tail: uri.text + tail,
    st.sampled_from(PLACES),
    st.sampled_from(("", "/", "/a", "a")),
) | st.sampled_from(("viking://~", "viking://~/m", "viking://u"))
_moments = st.builds(
    lambda hours, ticks: (NOON + timedelta(hours=hours, microseconds=ticks)).isoformat(),
    st.integers(0, 24),
    st.integers(-1, 1),
)
_times = _moments | st.sampled_from(DATES) | st.integers(0, 25).map(lambda hours: f"{hours}h")
_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "context_type": st.sampled_from(("memory", "resource", "skill")),
    "level": st.sampled_from((0, 1, 2, 2.0)),
    "uri": _addresses,
    "parent_uri": _addresses,
    "name": st.sampled_from(NAMES),
    "tags": st.sampled_from((*TAGS, " Lang = EN ", "no=tag")),
    "created_at": _times,
    "updated_at": _times,
    "active_count": st.integers(0, 4),
}


def _spelled(field: str) -> st.SearchStrategy[str]:
    return st.sampled_from(("tags", "search_tags")) if field == "tags" else st.just(field)


@st.composite
def _choices(draw: st.DrawFn) -> Node:
    field = draw(st.sampled_from(sorted(_VALUES)))
    values = _VALUES[field]
    conds = draw(values | st.lists(values, max_size=3))
    op = draw(st.sampled_from(("must", "must_not")))
    return {"op": op, "field": draw(_spelled(field)), "conds": conds}


@st.composite
def _ranges(draw: st.DrawFn) -> Node:
    op = draw(st.sampled_from(("range", "range_out", "time_range")))
    times = op == "time_range" or draw(st.booleans())
    if times:
        field = draw(st.sampled_from(TIMES))
        bounds = draw(_time_bounds())
    else:
        field = draw(st.sampled_from(("level", "active_count")))
        bounds = draw(_number_bounds())
    return {"op": op, "field": field, **bounds}


@st.composite
def _number_bounds(draw: st.DrawFn) -> Node:
    low = draw(st.integers(-1, 3) | st.sampled_from((0.5, 1.5)))
    pair = {
        draw(st.sampled_from(("gt", "gte"))): low,
        draw(st.sampled_from(("lt", "lte"))): low + draw(st.sampled_from((0.5, 1, 2))),
    }
    return draw(st.just(pair) | _one_of(pair) | st.just({"gte": low, "lte": low}))


@st.composite
def _time_bounds(draw: st.DrawFn) -> Node:
    hours = draw(st.integers(0, 20))
    first = NOON + timedelta(hours=hours)
    last = first + timedelta(hours=draw(st.integers(1, 4)), microseconds=draw(st.integers(0, 1)))
    pair = {
        draw(st.sampled_from(("gt", "gte"))): first.isoformat(),
        draw(st.sampled_from(("lt", "lte"))): last.isoformat(),
    }
    one = {draw(st.sampled_from(sorted(COMPARISONS))): draw(_times)}
    days = st.sampled_from(
        (
            {"gte": DATES[1], "lte": DATES[1]},
            {"gte": DATES[1], "lt": DATES[2]},
            {"gt": DATES[1], "lte": DATES[2]},
            {"gt": DATES[1]},
            {"lte": DATES[1]},
            {"lt": DATES[2]},
        )
    )
    return draw(st.just(pair) | st.just(one) | days)


def _one_of(pair: Node) -> st.SearchStrategy[Node]:
    return st.sampled_from([{key: value} for key, value in pair.items()])


def _group(op: str, conds: list[Node]) -> Node:
    return {"op": op, "conds": conds}


_parts = st.builds(
    lambda field, text: {"op": "contains", "field": field, "substring": text},
    st.sampled_from(("abstract", "name", "tags", "search_tags")),
    st.sampled_from(("a", "A", "b", ".m", "文", "=", "Lang=", "roll", "about", "%", "_", "\0")),
)
_leaves: st.SearchStrategy[Node] = st.one_of(
    st.just({}),
    _choices(),
    _choices(),
    _ranges(),
    _ranges(),
    _ranges(),
    _prefixes.map(lambda prefix: {"op": "prefix", "field": "uri", "prefix": prefix}),
    _parts,
    _parts,
)
json_filters: st.SearchStrategy[Node] = st.recursive(
    _leaves,
    lambda inner: st.one_of(
        st.builds(_group, st.sampled_from(("and", "or")), st.lists(inner, max_size=3)),
        st.builds(_group, st.sampled_from(("and", "or")), st.lists(inner, min_size=2, max_size=4)),
        st.builds(
            lambda node, listed: {"op": "not"} | ({"conds": [node]} if listed else {"cond": node}),
            inner,
            st.booleans(),
        ),
    ),
    max_leaves=6,
)


def holds(node: Node, record: Record, user: str) -> bool:  # noqa: C901, PLR0911 - one arm per operator
    """Return what the filter says about a record: the language once more, said plainly."""
    if not node:
        return True
    match node["op"]:
        case "and":
            return all(holds(part, record, user) for part in node["conds"])
        case "or":
            return any(holds(part, record, user) for part in node["conds"])
        case "not":
            part = node["cond"] if "cond" in node else node["conds"][0]
            return not holds(part, record, user)
        case "must" | "must_not":
            conds = node["conds"] if isinstance(node["conds"], list) else [node["conds"]]
            found = any(_is(node["field"], value, record, user) for value in conds)
            return found == (node["op"] == "must")
        case "range" | "time_range" | "range_out":
            inside = all(
                _compares(node["field"], name, node[name], record)
                for name in COMPARISONS
                if name in node
            )
            return inside == (node["op"] != "range_out")
        case "prefix":
            return record.uri.text.startswith(_expanded(node["prefix"], user))
        case "contains":
            text = node["substring"]
            if node["field"] in ("tags", "search_tags"):
                return any(text.lower() in tag for tag in record.tags)
            return text in getattr(record, node["field"])
        case other:
            raise AssertionError(other)


def _is(field: str, value: Any, record: Record, user: str) -> bool:
    match field:
        case "tags" | "search_tags":
            return "".join(value.lower().split()) in record.tags
        case "uri":
            return _reaches(_expanded(value, user), record)
        case "parent_uri":
            parent = record.parent
            wanted = _expanded(value, user)
            wanted = wanted if wanted == "viking://" else wanted.rstrip("/")
            return parent is not None and parent.text == wanted
        case "created_at" | "updated_at":
            if value in DATES:
                return bool(getattr(record, field).date().isoformat() == value)
            return bool(getattr(record, field) == _moment(value))
        case _:
            return bool(getattr(record, field) == value)


def _reaches(address: str, record: Record) -> bool:
    for level, name in ((0, "/.abstract.md"), (1, "/.overview.md")):
        if address.endswith(name):
            return record.uri.text == address.removesuffix(name) and record.level == level
    folder = address.rstrip("/") + "/"
    return address == "viking://" or (record.uri.text + "/").startswith(folder)


def _expanded(address: str, user: str) -> str:
    whole = address == "viking://~" or address.startswith("viking://~/")
    return address.replace("~", f"user/{user}", 1) if whole else address


def _compares(field: str, name: str, bound: Any, record: Record) -> bool:
    value = getattr(record, field)
    if bound in DATES:
        return bool(COMPARISONS[name](value.date().isoformat(), bound))
    return bool(COMPARISONS[name](value, _moment(bound) if isinstance(bound, str) else bound))


def _moment(text: str) -> datetime:
    if text.endswith("h"):
        return NOW - timedelta(hours=int(text[:-1]))
    return datetime.fromisoformat(text)


def render(where: Filter) -> Node:  # noqa: C901, PLR0911, PLR0912 - one arm per node
    """Return a filter, made by `parse_filter`, as a caller could have written it."""
    match where:
        case Everything():
            return {}
        case Nothing():
            return {"op": "or", "conds": []}
        case And(parts):
            return {"op": "and", "conds": [render(part) for part in parts]}
        case Or(parts):
            return {"op": "or", "conds": [render(part) for part in parts]}
        case Not(part):
            return {"op": "not", "cond": render(part)}
        case OneOf(field, values):
            conds = [int(value) if field == "level" else value for value in sorted(values)]
            name = "parent_uri" if field == "parent" else field
            return {"op": "must", "field": name, "conds": conds}
        case Tagged(tag):
            return {"op": "must", "field": "tags", "conds": tag}
        case Between(field, since, until):
            return _bounded(field, since and since.isoformat(), until and until.isoformat())
        case Under(directory):
            return {"op": "must", "field": "uri", "conds": [directory.text]}
        case Prefixed(prefix):
            return {"op": "prefix", "field": "uri", "prefix": prefix}
        case Contains(part_field, substring):
            return {"op": "contains", "field": part_field, "substring": substring}
        case Used(least, most):
            return _bounded("active_count", least, most)
        case Numbered():
            raise AssertionError("a caller cannot say this")
        case _:
            assert_never(where)


def _bounded(field: str, low: object, high: object) -> Node:
    """Return both bounds as conditions of their own: together they may leave nothing."""
    sides = (("gte", low), ("lte", high))
    ranges = [{"op": "range", "field": field, op: at} for op, at in sides if at is not None]
    return {"op": "and", "conds": ranges}
