import json
from datetime import date

import pytest
from jsonschema import validate

from contextfind.domain.errors import UnavailableError
from contextfind.sessions.memory_answers import SCHEMA, items_in
from contextfind.sessions.memory_files import MemoryKind

GOOD = {"kind": "fact", "title": "Home", "text": "Ann lives in Lyon.", "date": "", "updates": ""}


def answer(*items: object) -> str:
    return json.dumps({"memories": items})


def test_the_schema_describes_what_is_taken() -> None:
    validate({"memories": [GOOD]}, SCHEMA)
    items, complaints = items_in(answer(GOOD))
    (item,) = items
    assert (item.kind, item.memory.title, item.memory.text) == (
        MemoryKind.FACT,
        "Home",
        "Ann lives in Lyon.",
    )
    assert (item.memory.day, item.updates, complaints) == (None, "", [])


def test_R136_a_bad_item_is_named_and_the_others_are_taken() -> None:  # noqa: N802
    items, complaints = items_in(answer(GOOD, {"kind": "fact", "title": "Dog"}, GOOD))
    assert len(items) == 2
    assert complaints == ["memory 2 of the answer: `text` is missing; expected words"]


@pytest.mark.parametrize(
    ("item", "complaint"),
    [
        ("Ann lives in Lyon.", "'Ann lives in Lyon.' is no object"),
        (None, "missing is no object"),
        (GOOD | {"kind": "secret"}, "`kind` is 'secret'; expected one of preference, fact,"),
        (GOOD | {"kind": 3}, "`kind` is int; expected one of"),
        (GOOD | {"title": " \u200b…"}, "`title` is ' \\u200b…'; expected words"),
        (GOOD | {"text": ["a", "list"]}, "`text` is list; expected words"),
        (GOOD | {"text": "!" * 500}, "`text` is '" + "!" * 39 + "…; expected words"),
    ],
)
def test_what_is_wrong_is_said_with_the_field_and_the_value(item: object, complaint: str) -> None:
    items, complaints = items_in(answer(item))
    assert items == []
    (said,) = complaints
    assert said.startswith(f"memory 1 of the answer: {complaint}")


@pytest.mark.parametrize(
    ("kind", "meant"),
    [("Preferences", "preference"), ("profile", "fact"), ("entity", "fact"), ("EVENT", "event")],
)
def test_other_names_of_a_kind_are_understood(kind: str, meant: str) -> None:
    (item,), _ = items_in(answer(GOOD | {"kind": kind}))
    assert item.kind == meant


@pytest.mark.parametrize(
    ("said", "day"),
    [
        ("2026-03-01", date(2026, 3, 1)),
        ("2026-03-01T10:00:00Z", date(2026, 3, 1)),
        ("yesterday", None),
        ("2026-02-30", None),
        (20260301, None),
    ],
)
def test_a_day_that_is_none_costs_no_memory(said: object, day: date | None) -> None:
    (item,), complaints = items_in(answer(GOOD | {"date": said}))
    assert (item.memory.day, complaints) == (day, [])


def test_texts_are_cleaned_and_bounded() -> None:
    dirty = GOOD | {
        "title": " A\n\ttitle " + "x" * 200,
        "text": "one\u202e\n \n\n two" + "y" * 3_000,
    }
    (item,), _ = items_in(answer(dirty))
    assert item.memory.title.startswith("A title xx")
    assert len(item.memory.title) == 100
    assert item.memory.text.startswith("one\n\ntwoyy")
    assert len(item.memory.text) == 2_000


def test_too_many_are_counted_and_not_looked_at() -> None:
    items, complaints = items_in(answer(*[GOOD] * 31))
    assert len(items) == 30
    assert complaints == ["of 31 memories in one answer only 30 were looked at"]


def test_fences_and_a_bare_list_are_forgiven() -> None:
    assert len(items_in(f"```json\n{answer(GOOD)}\n```")[0]) == 1
    assert len(items_in(json.dumps([GOOD]))[0]) == 1
    assert items_in(answer()) == ([], [])


@pytest.mark.parametrize(
    "said", ["I would rather talk.", '{"memories": [{"kind": "fa', "null", "{}"]
)
def test_what_is_no_list_of_memories_is_no_answer(said: str) -> None:
    with pytest.raises(UnavailableError) as caught:
        items_in(said)
    assert caught.value.details["retryable"] is False
