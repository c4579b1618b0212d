from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from contextfind.client.answers import Entry, Health, Task
from contextfind.client.conversations import SessionContext
from contextfind.client.failure import UnavailableError
from contextfind.client.findings import Found, Hit, ScoreParts
from contextfind.client.shaping import shaped

HIT: dict[str, Any] = {
    "uri": "viking://resources/a.md",
    "context_type": "resource",
    "level": 2,
    "score": 0.5,
}


def test_fields_of_newer_servers_are_left_aside_and_kept_as_they_came() -> None:
    sent = {**HIT, "color": "blue", "overview": None}
    hit = shaped(Hit, sent)
    assert (hit.uri, hit.score) == ("viking://resources/a.md", 0.5)
    assert not hasattr(hit, "color")
    assert hit.raw == sent


def test_null_counts_as_absent() -> None:
    found = shaped(Found, {"memories": None, "resources": [HIT], "query_plan": None})
    assert found.memories == ()
    assert found.resources[0].content is None
    assert found.query_plan is None


def test_both_spellings_of_a_name_are_read() -> None:
    entry = shaped(Entry, {"uri": "viking://resources/a", "isDir": True, "mod_time": "t"})
    assert (entry.is_dir, entry.mod_time) == (True, "t")
    assert shaped(SessionContext, {"estimatedTokens": 5}).estimated_tokens == 5


def test_a_whole_number_is_a_number() -> None:
    score = shaped(Hit, {**HIT, "score": 1}).score
    assert (score, type(score)) == (1.0, float)


def test_what_may_be_missing_is_none() -> None:
    parts = shaped(ScoreParts, {"own": 0.5, "meaning": None, "words": 1})
    assert (parts.meaning, parts.words, parts.hotness) == (None, 1.0, None)


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        (Hit, {**HIT, "uri": None}, "has no result.uri"),
        (Hit, {**HIT, "score": "high"}, "result.score as str, and float was expected"),
        (Hit, {**HIT, "score": True}, "result.score as bool, and float was expected"),
        (Hit, {**HIT, "level": 1.5}, "result.level as float, and int was expected"),
        (Hit, {**HIT, "tags": "a=b"}, "result.tags as str, and list was expected"),
        (Hit, [], "result as list, and dict was expected"),
        (Found, {"resources": [HIT, {}]}, r"has no result.resources\[1\].uri"),
        (Health, {"status": "ok", "healthy": 1, "version": "1"}, "healthy as int"),
        (str, None, "result as NoneType, and str was expected"),
    ],
)
def test_what_cannot_be_understood_is_named(kind: type, value: object, said: str) -> None:
    with pytest.raises(UnavailableError, match=said):
        shaped(kind, value)


def test_answers_are_frozen() -> None:
    task = shaped(Task, {"task_id": "t", "status": "running"})
    assert not task.ended
    assert shaped(Task, {"task_id": "t", "status": "failed"}).ended
    with pytest.raises(FrozenInstanceError):
        task.status = "completed"  # type: ignore[misc]
