from datetime import UTC, datetime, timedelta

import pytest

from contextfind.domain.errors import InvalidArgumentError
from contextfind.domain.filter_text import MAX_DEPTH, MAX_NODES, MAX_VALUES, parse_filter
from contextfind.domain.filters import (
    And,
    Between,
    Contains,
    Everything,
    Filter,
    Not,
    Nothing,
    OneOf,
    Or,
    Prefixed,
    Tagged,
    Under,
    Used,
    is_effective,
    matches,
)
from contextfind.domain.records import Level, Record
from contextfind.domain.uri import ROOT, Uri
from tests.builders import make_record

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
DAY = datetime(2026, 11, 20, tzinfo=UTC)
TICK = timedelta(microseconds=1)
LAST = DAY + timedelta(days=1) - TICK
DOCS = Uri("viking://resources/docs")


def parse(value: object) -> Filter:
    return parse_filter(value, "ann", NOW)


def refusal(value: object) -> str:
    with pytest.raises(InvalidArgumentError) as caught:
        parse(value)
    assert caught.value.code == "INVALID_ARGUMENT"
    assert str(caught.value.details["field"]) in str(caught.value)
    return str(caught.value)


def must(field: str, conds: object) -> dict[str, object]:
    return {"op": "must", "field": field, "conds": conds}


def ranged(field: str, op: str = "range", **bounds: object) -> dict[str, object]:
    return {"op": op, "field": field, **bounds}


# every operator


def test_must_holds_for_any_of_the_values() -> None:
    assert parse(must("context_type", ["memory", "skill"])) == OneOf(
        "context_type", frozenset({"memory", "skill"})
    )
    assert parse(must("tags", ["a=1", "b=2"])) == Or((Tagged("a=1"), Tagged("b=2")))


def test_must_not_holds_for_none_of_the_values() -> None:
    node = must("tags", ["a=1", "b=2"]) | {"op": "must_not"}
    assert parse(node) == Not(Or((Tagged("a=1"), Tagged("b=2"))))


def test_conds_without_a_list_are_one_value() -> None:
    assert parse(must("level", 2)) == parse(must("level", [2])) == OneOf("level", frozenset("2"))


def test_must_without_values_matches_nothing_and_must_not_without_values_says_nothing() -> None:
    assert parse(must("tags", [])) == Nothing()
    assert not is_effective(parse({"op": "must_not", "field": "tags", "conds": []}))


@pytest.mark.parametrize("value", [None, {}, {"op": "and", "conds": []}])
def test_an_empty_object_and_an_empty_and_are_no_condition(value: object) -> None:
    assert parse(value) == Everything()
    assert not is_effective(parse(value))


def test_an_empty_or_matches_nothing() -> None:
    assert parse({"op": "or", "conds": []}) == Nothing()
    assert is_effective(Nothing())


def test_and_or_and_not_combine_filters() -> None:
    a, b = must("level", 0), must("name", "x")
    level, name = OneOf("level", frozenset({"0"})), OneOf("name", frozenset({"x"}))
    assert parse({"op": "and", "conds": [a, b]}) == And((level, name))
    assert parse({"op": "or", "conds": [a, b]}) == Or((level, name))
    assert parse({"op": "not", "conds": [a]}) == Not(level)
    assert parse({"op": "not", "cond": a}) == Not(level)


def test_an_empty_object_inside_is_no_condition_either() -> None:
    assert parse({"op": "and", "conds": [{}, must("level", 0)]}) == OneOf("level", frozenset("0"))
    assert not is_effective(parse({"op": "or", "conds": [{}, must("level", 0)]}))
    assert parse({"op": "not", "cond": {}}) == Not(Everything())


def test_prefix_is_the_plain_text_of_the_address() -> None:
    node = {"op": "prefix", "field": "uri", "prefix": "viking://resources/do"}
    assert parse(node) == Prefixed("viking://resources/do")


def test_contains_is_a_part_of_the_text_with_its_case() -> None:
    for field in ("abstract", "name"):
        node = {"op": "contains", "field": field, "substring": "Auth "}
        assert parse(node) == Contains(field, "Auth ")


def test_contains_on_tags_is_compared_with_tags_as_they_are_stored() -> None:
    node = {"op": "contains", "field": "search_tags", "substring": "TEAM="}
    assert parse(node) == Contains("tags", "team=")


def test_nulls_of_a_node_count_as_absent() -> None:
    node = {"op": "range", "field": "level", "gte": 1, "lte": None, "conds": None}
    assert parse(node) == OneOf("level", frozenset({"1", "2"}))


# every field


def test_must_on_uri_means_the_address_and_everything_below_it() -> None:
    assert parse(must("uri", "viking://resources/docs/")) == Under(DOCS)
    assert parse(must("uri", "viking://")) == Under(ROOT)


def test_parent_uri_means_direct_children() -> None:
    where = parse(must("parent_uri", "viking://resources/docs"))
    assert where == OneOf("parent", frozenset({DOCS.text}))


@pytest.mark.parametrize(
    ("shown", "level"), [(".abstract.md", Level.ABSTRACT), (".overview.md", Level.OVERVIEW)]
)
@pytest.mark.parametrize("directory", [DOCS.text, "viking://user/ann", "viking://agent"])
def test_the_shown_address_of_a_directory_means_its_record_of_that_level(
    shown: str, level: Level, directory: str
) -> None:
    where = parse(must("uri", Uri(directory).folder + shown))
    for uri in (directory, "viking://resources/docs/a.md", "viking://"):
        for other in Level:
            expected = (uri, other) == (directory, level)
            assert matches(where, make_record(1, uri, other)) == expected


def test_a_tilde_is_the_tree_of_who_asks() -> None:
    own = Uri("viking://user/ann/memories")
    assert parse(must("uri", "viking://~/memories")) == Under(own)
    assert parse(must("parent_uri", "viking://~/memories")) == OneOf(
        "parent", frozenset({own.text})
    )
    prefix = {"op": "prefix", "field": "uri"}
    assert parse(prefix | {"prefix": "viking://~/mem"}) == Prefixed("viking://user/ann/mem")
    assert parse(prefix | {"prefix": "viking://~"}) == Prefixed("viking://user/ann")
    assert parse(prefix | {"prefix": "viking://~x"}) == Prefixed("viking://~x")


def test_another_users_tree_may_be_named_and_is_left_to_the_scope() -> None:
    assert parse(must("uri", "viking://user/ben")) == Under(Uri("viking://user/ben"))


def test_names_and_addresses_are_compared_in_nfc() -> None:
    assert parse(must("name", "e\u0301.md")) == OneOf("name", frozenset({"\xe9.md"}))
    node = {"op": "prefix", "field": "uri", "prefix": "viking://resources/e\u0301"}
    assert parse(node) == Prefixed("viking://resources/\xe9")
    node = {"op": "contains", "field": "name", "substring": "e\u0301"}
    assert parse(node) == Contains("name", "\xe9")


@pytest.mark.parametrize("field", ["tags", "search_tags"])
def test_tags_are_normalised_as_everywhere(field: str) -> None:
    assert parse(must(field, " Team = Docs ")) == Tagged("team=docs")


def test_a_time_is_equal_to_that_moment_and_a_bare_date_to_its_day() -> None:
    assert parse(must("created_at", "2026-11-20T08:00:00+08:00")) == Between("created_at", DAY, DAY)
    assert parse(must("updated_at", "2026-11-20")) == Between("updated_at", DAY, LAST)


def test_active_count_is_compared_as_a_number() -> None:
    assert parse(must("active_count", [0, 2.0])) == Or((Used(0, 0), Used(2, 2)))


@pytest.mark.parametrize("value", [1, 1.0])
def test_a_level_is_a_number(value: float) -> None:
    assert parse(must("level", value)) == OneOf("level", frozenset({"1"}))


# ranges


@pytest.mark.parametrize(
    ("bounds", "least", "most"),
    [
        ({"gt": 1}, 2, None),
        ({"gt": 1.5}, 2, None),
        ({"gte": 1.5}, 2, None),
        ({"gte": -1}, -1, None),
        ({"lt": 3}, None, 2),
        ({"lt": 2.5}, None, 2),
        ({"lte": 2.5}, None, 2),
        ({"gt": 0, "lt": 1}, 1, 0),
        ({"gte": 2, "lte": 2}, 2, 2),
    ],
)
def test_bounds_of_a_number_are_exact(
    bounds: dict[str, float], least: int | None, most: int | None
) -> None:
    assert parse(ranged("active_count", **bounds)) == Used(least, most)
    assert parse(ranged("active_count", "range_out", **bounds)) == Not(Used(least, most))


@pytest.mark.parametrize(
    ("bounds", "levels"),
    [({"gt": 0, "lt": 2}, "1"), ({"gte": 0, "lte": 1}, "01"), ({"gt": 7}, ""), ({"lt": 0.5}, "0")],
)
def test_levels_have_ranges(bounds: dict[str, float], levels: str) -> None:
    assert parse(ranged("level", **bounds)) == OneOf("level", frozenset(levels))


@pytest.mark.parametrize("op", ["range", "time_range"])
@pytest.mark.parametrize(
    ("bounds", "since", "until"),
    [
        ({"gte": "2026-11-20T00:00:00Z"}, DAY, None),
        ({"gt": "2026-11-20T00:00:00Z"}, DAY + TICK, None),
        ({"lte": "2026-11-20T00:00:00Z"}, None, DAY),
        ({"lt": "2026-11-20T00:00:00Z"}, None, DAY - TICK),
        ({"gte": "2h", "lt": "1h"}, NOW - timedelta(hours=2), NOW - timedelta(hours=1) - TICK),
    ],
)
def test_bounds_of_a_time_are_exact_to_the_microsecond(
    op: str, bounds: dict[str, str], since: datetime | None, until: datetime | None
) -> None:
    assert parse(ranged("created_at", op, **bounds)) == Between("created_at", since, until)


def test_a_bare_date_as_a_bound_is_a_whole_day() -> None:
    day = "2026-11-20"
    assert parse(ranged("created_at", gte=day, lte=day)) == Between("created_at", DAY, LAST)
    assert parse(ranged("created_at", gt=day)) == Between("created_at", LAST + TICK, None)
    assert parse(ranged("created_at", lt=day)) == Between("created_at", None, DAY - TICK)


def test_range_out_is_what_range_leaves() -> None:
    inside = parse(ranged("updated_at", gte="2026-11-20"))
    assert parse(ranged("updated_at", "range_out", gte="2026-11-20")) == Not(inside)


def test_nothing_is_after_the_last_moment_or_before_the_first() -> None:
    assert parse(ranged("created_at", gt="9999-12-31")) == Nothing()
    assert parse(ranged("created_at", lt="0001-01-01")) == Nothing()


# what cannot be understood


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("level=2", 'filter is \'level=2\'; expected an object such as {"op": "must"'),
        ([], "filter is []; expected an object"),
        (False, "filter is False; expected an object"),
        ({"field": "level"}, "filter.op is missing; expected one of must, must_not, range"),
        ({"op": "mustnot"}, "filter.op is 'mustnot'; expected one of must, "),
        ({"op": "regex"}, "filter.op is 'regex'; expected one of must, "),
        ({"op": 5}, "filter.op is 5; expected one of must, "),
        ({"op": ["and"]}, "filter.op is ['and']; expected one of must, "),
        ({"op": "must", "conds": [1]}, "filter.field is missing; expected one of context_type, "),
        (must("levle", 1), "filter.field is 'levle'; expected one of context_type, "),
        (must("account", "acme"), "filter.field is 'account'; expected one of context_type, "),
        (must("owner", "ben"), "filter.field is 'owner'; expected one of context_type, "),
        (must("abstract", "x"), "filter.field is 'abstract'; expected one of context_type, "),
        (must("level", None), "filter.conds is missing; expected a value or a list of values"),
        ({"op": "must", "field": {}, "conds": 1}, "filter.field is {}; expected one of "),
        (
            must("level", 1) | {"para": "-d=1"},
            "filter.para is '-d=1'; expected only field, conds beside op 'must'",
        ),
        (must("level", 1) | {"a b": 1}, "filter['a b'] is 1; expected only field, conds beside"),
        (
            {"op": "and", "conds": [{}, {"op": "or", "conds": [{"op": "x"}]}]},
            "filter.conds[1].conds[0].op is 'x'; expected one of must, ",
        ),
        ({"op": "and"}, "filter.conds is missing; expected a list of filters"),
        ({"op": "or", "conds": {}}, "filter.conds is {}; expected a list of filters"),
        ({"op": "or", "conds": [1]}, "filter.conds[0] is 1; expected an object such as"),
        ({"op": "or", "conds": [None]}, "filter.conds[0] is None; expected an object such as"),
        ({"op": "not"}, "filter.conds is missing; expected either cond (one filter) or conds"),
        ({"op": "not", "conds": []}, "filter.conds is []; expected a list with exactly one filter"),
        (
            {"op": "not", "conds": [{}, {}]},
            "filter.conds is [{}, {}]; expected a list with exactly",
        ),
        ({"op": "not", "cond": {}, "conds": [{}]}, "filter.conds is [{}]; expected either cond "),
        ({"op": "not", "cond": [{}]}, "filter.cond is [{}]; expected an object such as"),
        (ranged("level"), "filter.gte is missing; expected at least one of the bounds gt, gte"),
        (ranged("level", gt=1, gte=1), "filter.gt is 1; expected only one of gt and gte"),
        (ranged("level", lt=1, lte=1), "filter.lt is 1; expected only one of lt and lte"),
        (
            ranged("level", gte=2, lte=1),
            "filter.gte is 2; expected it to lie below lte, which is 1",
        ),
        (ranged("level", gt=1, lte=1), "filter.gt is 1; expected it to lie below lte, which is 1"),
        (
            ranged("created_at", gte="1h", lt="2h"),
            "filter.gte is '1h'; expected it to lie below lt, which is '2h'",
        ),
        (
            ranged("created_at", gte="2026-11-20", lt="2026-11-20"),
            "filter.gte is '2026-11-20'; expected it to lie below lt, which is '2026-11-20'",
        ),
        (ranged("level", gte="1"), "filter.gte is '1'; expected a number from"),
        (ranged("level", gte=True), "filter.gte is True; expected a number from"),
        (ranged("level", gte=[1]), "filter.gte is [1]; expected a number from"),
        (ranged("active_count", lt=float("nan")), "filter.lt is nan; expected a number from"),
        (ranged("active_count", lt=float("inf")), "filter.lt is inf; expected a number from"),
        (ranged("active_count", lt=10**30), "filter.lt is 1000000000000000000000000000000; "),
        (ranged("active_count", lt=10**9_999), "filter.lt is an integer of 33216 bits; expected"),
        (ranged("created_at", gte=1700000000), "filter.gte is 1700000000; expected an ISO 8601"),
        (ranged("created_at", gte="garbage"), "filter.gte is 'garbage'; expected an ISO 8601 time"),
        (ranged("created_at", gte=""), "filter.gte is ''; expected an ISO 8601 time"),
        (ranged("name", gte="a"), "filter.field is 'name'; expected one of level, active_count, "),
        (
            ranged("level", "time_range", gte=1),
            "filter.field is 'level'; expected one of created_at, updated_at for op 'time_range'",
        ),
        (must("context_type", "banana"), "filter.conds is 'banana'; expected 'memory', 'resource'"),
        (must("context_type", ["memory", 1]), "filter.conds[1] is 1; expected 'memory', "),
        (must("level", 3), "filter.conds is 3; expected the number 0 (abstract), 1 (overview)"),
        (must("level", "2"), "filter.conds is '2'; expected the number 0 (abstract), "),
        (must("level", True), "filter.conds is True; expected the number 0 (abstract), "),
        (must("level", [[2]]), "filter.conds[0] is [2]; expected the number 0 (abstract), "),
        (must("level", [2, None]), "filter.conds[1] is None; expected the number 0 (abstract), "),
        (must("level", {"a": 1}), "filter.conds is {'a': 1}; expected the number 0 (abstract), "),
        (must("active_count", 1.5), "filter.conds is 1.5; expected a whole number from 0 to "),
        (must("active_count", -1), "filter.conds is -1; expected a whole number from 0 to "),
        (must("tags", "team"), "filter.conds is 'team'; expected key=value with exactly one '='"),
        (must("tags", ["a=1", "a=b=c"]), "filter.conds[1] is 'a=b=c'; expected key=value"),
        (must("tags", 5), "filter.conds is 5; expected key=value"),
        (must("tags", "a=\ud800"), "filter.conds is 'a=\\ud800'; expected whole characters"),
        (must("name", ""), "filter.conds is ''; expected a name such as"),
        (must("name", "a/b.md"), "filter.conds is 'a/b.md'; expected a name without '/'"),
        (must("name", "\ud800"), "filter.conds is '\\ud800'; expected whole characters"),
        (
            must("uri", "docs/a.md"),
            "filter.conds is 'docs/a.md'; expected an address such as viking://resources/docs (this",
        ),
        (must("uri", ["viking://bogus"]), "filter.conds[0] is 'viking://bogus'; expected an addre"),
        (
            must("parent_uri", "viking://resources/../user"),
            "filter.conds is 'viking://resources/..",
        ),
        (must("uri", 5), "filter.conds is 5; expected an address such as"),
        (must("created_at", 5), "filter.conds is 5; expected an ISO 8601 time"),
        (
            {"op": "prefix", "field": "name", "prefix": "a"},
            "filter.field is 'name'; expected uri for op 'prefix'",
        ),
        (
            {"op": "prefix", "field": "uri", "prefix": "docs"},
            "filter.prefix is 'docs'; expected a text that starts with viking://",
        ),
        ({"op": "prefix", "field": "uri"}, "filter.prefix is missing; expected the text that addr"),
        ({"op": "prefix", "field": "uri", "prefix": ""}, "filter.prefix is ''; expected a text"),
        (
            {"op": "contains", "field": "uri", "substring": "a"},
            "filter.field is 'uri'; expected one of abstract, name, tags for op 'contains'",
        ),
        ({"op": "contains", "field": "name"}, "filter.substring is missing; expected a text"),
        ({"op": "contains", "field": "name", "substring": ""}, "filter.substring is ''; expected"),
        ({"op": "contains", "field": "name", "substring": 1}, "filter.substring is 1; expected a"),
    ],
)
def test_a_fault_is_named_with_its_path_its_value_and_what_was_expected(
    value: object, told: str
) -> None:
    assert refusal(value).startswith(told)


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        ({"op": "mustnot"}, "must_not"),
        ({"op": "AND"}, "and"),
        ({"op": "eq"}, "must"),
        ({"op": "between"}, "range"),
        ({"op": "Regex"}, "contains"),
        (must("contex_type", 1), "context_type"),
        (must("parent", 1), "parent_uri"),
        (must("tag", 1), "tags"),
    ],
)
def test_what_was_probably_meant_is_said(value: object, meant: str) -> None:
    assert f"(did you mean {meant!r}?)" in refusal(value)


def test_a_field_without_an_operator_is_answered_with_an_example() -> None:
    told = refusal({"level": 2})
    assert told.endswith('as in {"op": "must", "field": "context_type", "conds": ["resource"]}')


def test_a_very_long_value_is_shortened_in_the_message() -> None:
    for value in ("z" * 1_000_000, ["z"] * 10_000, {"z" * 9_999: "z" * 9_999}):
        for node in (value, {"op": value}, must("uri", [value]), {"op": "and", "x": value}):
            assert len(refusal(node)) < 700
    assert len(refusal({"op": "and", "k" * 9_999: 1})) < 700


# how large a filter may be


def nested(depth: int) -> dict[str, object]:
    """Return a filter of so many levels."""
    node: dict[str, object] = must("level", 2)
    for _ in range(depth - 1):
        node = {"op": "and", "conds": [node]}
    return node


def test_a_filter_may_have_twenty_levels_and_not_one_more() -> None:
    assert parse(nested(MAX_DEPTH)) == OneOf("level", frozenset({"2"}))
    told = refusal(nested(MAX_DEPTH + 1))
    assert told.startswith("filter" + ".conds[0]" * MAX_DEPTH + " is {")
    assert told.endswith("expected a filter of at most 20 levels")


@pytest.mark.parametrize("key", ["cond", "conds"])
def test_an_absurd_depth_is_refused_like_any_other(key: str) -> None:
    node: dict[str, object] = {}
    for _ in range(10_000):
        node = {"op": "not", key: node if key == "cond" else [node]}
    assert "expected a filter of at most 20 levels" in refusal(node)
    deep: object = 1
    for _ in range(10_000):
        deep = [deep]
    for value in (deep, {"op": deep}, must("level", deep), must("level", [deep])):
        refusal(value)


def test_a_filter_may_have_two_hundred_nodes_and_not_one_more() -> None:
    parts: list[object] = [must("level", 2)] * (MAX_NODES - 1)
    assert is_effective(parse({"op": "or", "conds": parts}))
    told = refusal({"op": "or", "conds": [*parts, {}]})
    assert "expected at most 200 conditions in a filter" in told


def test_a_filter_may_have_a_thousand_values_and_not_one_more() -> None:
    names = [f"n{i}" for i in range(MAX_VALUES)]
    assert parse(must("name", names)) == OneOf("name", frozenset(names))
    assert "expected at most 1000 values in a filter" in refusal(must("name", [*names, "x"]))


# whether it says anything


@pytest.mark.parametrize(
    ("where", "effective"),
    [
        (Everything(), False),
        (Nothing(), True),
        (Not(Nothing()), False),
        (Not(Everything()), True),
        (And(()), False),
        (And((Everything(), And(()))), False),
        (And((Everything(), Tagged("a=1"))), True),
        (And((Nothing(), Tagged("a=1"))), True),
        (Or(()), True),
        (Or((Tagged("a=1"), Everything())), False),
        (Or((Tagged("a=1"), Nothing())), True),
        (Not(Or((Tagged("a=1"), Not(Nothing())))), True),
        (Tagged("a=1"), True),
        (OneOf("level", frozenset()), True),
    ],
)
def test_a_filter_is_effective_unless_it_holds_whatever_the_record(
    where: Filter, *, effective: bool
) -> None:
    assert is_effective(where) is effective


@pytest.mark.parametrize(
    ("where", "found"),
    [
        (Contains("abstract", "Roll"), True),
        (Contains("abstract", "roll"), False),
        (Contains("name", ".m"), True),
        (Contains("name", "docs"), False),
        (Contains("tags", "m=o"), True),
        (Contains("tags", "ops,"), False),
        (Contains("tags", "opslang"), False),
        (Used(3, 3), True),
        (Used(4, None), False),
        (Used(None, 2), False),
        (Used(None, None), True),
    ],
)
def test_the_meaning_of_substrings_and_uses(where: Filter, *, found: bool) -> None:
    record: Record = make_record(
        1,
        "viking://resources/docs/a.md",
        abstract="Rollback",
        tags=("lang=en", "team=ops"),
        active_count=3,
    )
    assert matches(where, record) is found
