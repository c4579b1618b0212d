import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextfind.domain.errors import InvalidArgumentError, NotFoundError
from contextfind.server.envelope import (
    HEADER_LENGTH,
    PlainJson,
    StrictJson,
    failed,
    header_list,
    ok,
)
from contextfind.server.rules import fresh_key

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(VALUES, st.sampled_from([StrictJson, PlainJson]))
def test_every_value_comes_out_of_json_as_it_went_in(value, form):
    assert json.loads(bytes(ok(value, form=form).body)) == {"status": "ok", "result": value}


@pytest.mark.parametrize("form", [StrictJson, PlainJson])
@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_json_does_not_have_are_refused(number, form):
    with pytest.raises(ValueError, match="not JSON compliant"):
        ok({"score": [number]}, form=form)


@pytest.mark.parametrize("text", ["NaN", "-Infinity", "half of \ud800", '中 \x00 "quoted"'])
def test_any_text_is_told_as_it_is(text):
    assert bytes(ok([text], form=PlainJson).body) == bytes(ok([text]).body)


def test_telemetry_and_extra_stand_beside_the_result():
    body = json.loads(bytes(ok([], {"id": "x"}, {"has_more": False}).body))
    assert body == {"status": "ok", "result": [], "has_more": False, "telemetry": {"id": "x"}}


def test_a_failure_of_a_field_is_listed_as_a_validation_error():
    error = InvalidArgumentError("limit is 0; expected more", {"field": "limit"})
    details = json.loads(bytes(failed(error).body))["error"]["details"]
    assert details["validation_errors"] == [
        {"loc": ["body", "limit"], "message": "limit is 0; expected more", "type": "value_error"}
    ]


def test_details_of_other_errors_stay_as_they_are():
    body = json.loads(bytes(failed(NotFoundError("gone", {"resource": "a"})).body))
    assert body["error"] == {"code": "NOT_FOUND", "message": "gone", "details": {"resource": "a"}}


@settings(max_examples=150, deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=50), max_size=200))
def test_a_header_list_is_short_plain_text_whatever_is_named(names):
    line = header_list(names)
    assert len(line) <= HEADER_LENGTH
    assert line.isascii()
    assert line.isprintable()


@pytest.mark.parametrize(
    ("field", "loc"),
    [
        ("limit", ["limit"]),
        ("tags[0]", ["tags", 0]),
        ("filter.conds[10].op", ["filter", "conds", 10, "op"]),
        ("filter.²", ["filter", "²"]),
    ],
)
def test_the_place_of_a_wrong_value_is_listed_step_by_step(field, loc):
    error = InvalidArgumentError("wrong", {"field": field})
    (told,) = json.loads(bytes(failed(error).body))["error"]["details"]["validation_errors"]
    assert told == {"loc": ["body", *loc], "message": "wrong", "type": "value_error"}


def test_a_failure_repeats_no_key_that_was_sent_in_the_wrong_place() -> None:
    key = fresh_key()
    error = InvalidArgumentError(f"no route /api/v1/{key}/x", {"path": f"/api/v1/{key}/x"})
    body = failed(error).body.decode()
    assert key not in body
    assert json.loads(body)["error"]["message"] == "no route /api/v1/cf_…/x"
    name = "viking://resources/cf_a_name_like_many_others.md"
    assert name in failed(InvalidArgumentError(name)).body.decode()
