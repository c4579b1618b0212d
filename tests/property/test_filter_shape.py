"""What /openapi.json says of filters is what the reader takes."""

import pytest
from hypothesis import given, settings
from jsonschema import Draft202012Validator
from pydantic import TypeAdapter

from contextfind.domain.errors import InvalidArgumentError
from contextfind.domain.filter_text import parse_filter
from contextfind.server.wire.filter_shape import FilterShape
from tests.builders import NOON
from tests.filters import Node, json_filters

SHAPE = Draft202012Validator(TypeAdapter(FilterShape).json_schema())


@settings(max_examples=400, deadline=None)
@given(node=json_filters)
def test_a_filter_that_is_read_has_the_shape_that_is_described(node: Node) -> None:
    parse_filter(node, "ann", NOON)
    assert SHAPE.is_valid(node)


@pytest.mark.parametrize(
    "node",
    [
        {"op": "is", "field": "level", "conds": [1]},
        {"op": "must", "field": "colour", "conds": ["red"]},
        {"op": "must", "field": "level", "conds": ["1"]},
        {"op": "must", "field": "level", "conds": 3},
        {"op": "must", "field": "context_type", "conds": ["file"]},
        {"op": "must", "field": "tags", "conds": ["draft"]},
        {"op": "must", "field": "uri", "conds": ["docs"]},
        {"op": "must", "field": "name", "conds": ["a/b"]},
        {"op": "must", "field": "level"},
        {"op": "must", "field": "level", "conds": [1], "boost": 2},
        {"op": "range", "field": "name", "gte": "a"},
        {"op": "range", "field": "active_count", "gte": "1"},
        {"op": "time_range", "field": "level", "gte": 1},
        {"op": "prefix", "field": "name", "prefix": "a"},
        {"op": "prefix", "field": "uri", "prefix": "resources"},
        {"op": "contains", "field": "uri", "substring": "a"},
        {"op": "contains", "field": "name", "substring": ""},
        {"op": "not", "conds": []},
        {"op": "not", "conds": [{}, {}]},
        {"op": "and", "conds": {}},
        {"op": "or", "conds": [1]},
        {"conds": []},
        [],
        "level=2",
    ],
)
def test_a_filter_without_that_shape_is_refused(node: Node) -> None:
    assert not SHAPE.is_valid(node)
    with pytest.raises(InvalidArgumentError):
        parse_filter(node, "ann", NOON)
