"""Filters compiled over a segment, held to `matches` node by node."""

from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap

from contextfind.adapters.embedded.building import Entry, build_segment
from contextfind.adapters.embedded.mask import Mask
from contextfind.adapters.embedded.segment import union_of
from contextfind.domain.filters import (
    And,
    Between,
    Filter,
    OneOf,
    Or,
    Prefixed,
    Under,
    matches,
)
from contextfind.domain.plain_text import beyond
from contextfind.domain.records import Record
from contextfind.domain.uri import Uri
from contextfind.ports.store import Change
from tests.builders import DIMENSION, NOON, make_passages, make_record
from tests.fakes import SimpleTokenizer
from tests.strategies import ACCOUNTS, PLACES, USERS, filters, last_changes, logs


def check(records: list[Record], wheres: list[Filter], account: str, user: str) -> None:
    entries = [Entry(record, make_passages("x"), None) for record in records]
    segment = build_segment(entries, SimpleTokenizer(), DIMENSION)
    groups = segment.visible(account, user)
    visible = union_of(group.records for group in groups)
    mask = Mask(segment, groups, BitMap())
    seen = [r for r in records if r.account == account and r.owner in ("", user)]
    assert len(visible) == len(seen)
    for where in wheres:
        found = {segment.ids[place] for place in mask.records(where) & visible}
        assert found == {r.id for r in seen if matches(where, r)}, where


@given(
    log=logs(60),
    wheres=st.lists(filters, min_size=5, max_size=10),
    account=st.sampled_from(ACCOUNTS),
    user=st.sampled_from(USERS),
)
@settings(max_examples=200, deadline=None)
def test_a_mask_holds_exactly_the_records_that_match(
    log: list[Change], wheres: list[Filter], account: str, user: str
) -> None:
    check([c.record for c in last_changes(log).values() if c.record], wheres, account, user)


TREE = [
    "viking://",
    "viking://resources",
    "viking://resources/a",
    "viking://resources/a-b",
    "viking://resources/a.md",
    "viking://resources/a/x",
    "viking://resources/a/a",
    "viking://resources/a0",
    "viking://resources/ab",
    "viking://resources/ab/x",
    "viking://resources/文档/😀",
    "viking://user/ann",
    "viking://user/ann/a",
    "viking://agent/\U0010ffff",
    "viking://agent/\U0010ffffa",
]


def test_neighbours_in_the_sort_order_of_an_address_are_not_below_it() -> None:
    records = [make_record(i, uri) for i, uri in enumerate(TREE, 1)]
    places = [*map(Uri.parse, TREE), *PLACES]
    wheres: list[Filter] = [Under(place) for place in places]
    wheres += [OneOf("parent", frozenset({place.text})) for place in places]
    check(records, wheres, "acme", "ann")


def test_a_prefix_of_any_length_is_compared_as_text() -> None:
    records = [make_record(i, uri) for i, uri in enumerate(TREE, 1)]
    cuts = {uri[:length] for uri in TREE for length in range(len(uri) + 1)}
    cuts |= {uri + "/" for uri in TREE} | {uri + "\U0010ffff" for uri in TREE}
    check(records, [Prefixed(cut) for cut in sorted(cuts)], "acme", "ann")


def test_only_an_address_as_it_is_written_names_a_parent() -> None:
    records = [make_record(i, uri) for i, uri in enumerate(TREE, 1)]
    spellings = ("", "viking://resources/", "viking://resources", "resources", "viking:/", "/")
    check(records, [OneOf("parent", frozenset({text})) for text in spellings], "acme", "ann")


def test_bounds_of_a_time_are_inclusive_to_the_microsecond() -> None:
    tick = timedelta(microseconds=1)
    moments = [NOON - tick, NOON, NOON + tick]
    records = [
        make_record(i, f"viking://resources/{i}", created_at=moment, updated_at=moment)
        for i, moment in enumerate(moments)
    ]
    bounds = [(a, b) for a in (*moments, None) for b in (*moments, None)]
    wheres: list[Filter] = [Between("created_at", a, b) for a, b in bounds]
    wheres += [Between("updated_at", a, b) for a, b in bounds]
    check(records, wheres, "acme", "ann")


def test_an_empty_set_means_nothing_and_no_parts_of_and_mean_everything() -> None:
    records = [make_record(i, uri) for i, uri in enumerate(TREE, 1)]
    wheres: list[Filter] = [
        OneOf("level", frozenset()),
        OneOf("name", frozenset()),
        And(()),
        Or(()),
    ]
    check(records, wheres, "acme", "ann")


@given(prefix=st.text(), text=st.text())
def test_beyond_bounds_exactly_the_texts_with_a_prefix(prefix: str, text: str) -> None:
    end = beyond(prefix)
    for candidate in (text, prefix + text):
        inside = prefix <= candidate and (end is None or candidate < end)
        assert inside == candidate.startswith(prefix)
