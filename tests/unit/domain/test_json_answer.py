import contextlib
import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextfind.domain.errors import UnavailableError
from contextfind.domain.json_answer import json_in

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.text(), VALUES, min_size=1), st.booleans())
def test_json_is_found_bare_fenced_and_among_prose(value: object, ascii_only: bool) -> None:  # noqa: FBT001
    text = json.dumps(value, ensure_ascii=ascii_only, indent=1)
    assert json_in(text) == value
    assert json_in(f"Sure, {{name}}, see [1]:\n{text}\nAnything else?") == value
    if "```" not in text:
        assert json_in(f"Here:\n```json\n{text}\n```\nDone.") == value


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.text(), VALUES, min_size=1), st.data())
def test_an_answer_that_was_cut_off_is_refused_and_no_piece_of_it_is_taken(
    value: object, data: st.DataObject
) -> None:
    text = json.dumps(value)
    cut = text[: data.draw(st.integers(0, len(text) - 1))]
    with pytest.raises(UnavailableError):
        json_in(cut)


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet='{}[]",:` \n\\truefalsn1json', max_size=200))
def test_whatever_is_said_is_either_json_or_our_error(text: str) -> None:
    with contextlib.suppress(UnavailableError):
        json_in(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": [1, 2,], }', {"a": [1, 2]}),
        ('{"a": "x, }"}', {"a": "x, }"}),
        ('{"a": "two\nlines"}', {"a": "two\nlines"}),
        ("null", None),
        ('```\n["a"]\n```', ["a"]),
        ('First {"a": 1}, or better {"a": 1, "b": 2}.', {"a": 1, "b": 2}),
    ],
)
def test_small_slips_are_forgiven(text: str, value: object) -> None:
    assert json_in(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I cannot help with that.",
        '{"a": NaN}',
        '{"a": [1 2], "b": {"c": 3}}',
        "[" * 100_000,
        '{"a":' * 50_000,
        '",' * 100_000,
    ],
)
def test_what_is_no_json_is_refused_at_once(text: str) -> None:
    with pytest.raises(UnavailableError, match="no JSON"):
        json_in(text)


@pytest.mark.parametrize(
    "text",
    [
        '{"a": "' + '\\"' * 30_000,
        "```json" + "\n" * 50_000 + "and so on",  # a model that lost its way
        "```json" + " \n" * 50_000 + "```" + "{" * 10,
    ],
)
def test_what_has_no_end_is_looked_through_once(text: str) -> None:
    began = time.thread_time()
    with pytest.raises(UnavailableError):
        json_in(text)
    assert time.thread_time() - began < 2
