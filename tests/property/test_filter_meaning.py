"""Filters from JSON: what they mean, the way there and back, and that garbage is refused."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from contextfind.domain.errors import InvalidArgumentError
from contextfind.domain.filter_bounds import BOUNDS
from contextfind.domain.filter_text import parse_filter
from contextfind.domain.filters import Filter, is_effective, matches
from contextfind.domain.records import Record
from tests.filters import NOW, Node, holds, json_filters, render
from tests.strategies import USERS, last_changes, random_log

RECORDS: list[Record] = [
    change.record
    for change in last_changes(random_log(random.Random(11), 300)).values()  # noqa: S311
    if change.record is not None
]
OPERATORS = ("must", "must_not", "range", "time_range", "and", "or", "not", "prefix", "contains")
FIELDS = ("level", "uri", "tags", "created_at", "active_count", "abstract", "account")

_words = st.sampled_from((*OPERATORS, *FIELDS)) | st.text(max_size=5)
_scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(10**400), 10**400),
    st.floats(),
    st.text(),
    st.sampled_from(("viking://", "viking://resources/../x", "7d", "2026-01-01", "k=v")),
    _words,
)
_keys = st.sampled_from(
    ("op", "op", "field", "conds", "cond", "prefix", "substring", *BOUNDS)
) | st.text(max_size=5)
garbage = st.recursive(
    _scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(_keys, inner, max_size=5),
        st.fixed_dictionaries(
            {"op": st.sampled_from(OPERATORS)},
            optional={
                "field": st.sampled_from(FIELDS),
                "conds": inner,
                "cond": inner,
                "gt": inner,
                "lte": inner,
                "prefix": inner,
                "substring": inner,
            },
        ),
    ),
    max_leaves=12,
)


def parse(node: object, user: str = "ann") -> Filter:
    return parse_filter(node, user, NOW)


@given(node=json_filters, user=st.sampled_from(USERS))
@settings(max_examples=500, deadline=None)
def test_a_filter_means_what_it_says(node: Node, user: str) -> None:
    where = parse(node, user)
    found = [holds(node, record, user) for record in RECORDS]
    assert [matches(where, record) for record in RECORDS] == found
    assert is_effective(where) or all(found)


@given(node=json_filters)
@settings(max_examples=300, deadline=None)
def test_a_filter_written_out_again_means_the_same(node: Node) -> None:
    where = parse(node)
    again = parse(render(where))
    assert [matches(again, r) for r in RECORDS] == [matches(where, r) for r in RECORDS]


@given(value=garbage)
@settings(max_examples=1_000, deadline=None)
def test_garbage_is_refused_as_an_invalid_argument_and_nothing_else(value: object) -> None:
    try:
        where = parse(value)
    except InvalidArgumentError as error:
        refused = error
    else:
        assert value is None or isinstance(value, dict)
        for record in RECORDS[:5]:
            assert matches(where, record) in (True, False)
        return
    told = str(refused)
    assert refused.code == "INVALID_ARGUMENT"
    assert told.startswith("filter")
    assert "; expected " in told
    assert len(told.encode()) < 1_500
