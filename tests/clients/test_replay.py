"""The replay of recorded exchanges: what it calls a difference, and a small recording against a real server."""

import json
import sys
from pathlib import Path

import httpx
import pytest

from tests.clients import replay
from tests.clients.differences import MEANT, differences


def told(shape: object, ours: object, status: int = 200, name: str = "x") -> list[str]:
    return differences(name, 200, shape, httpx.Response(status, json=ours))


def test_more_is_no_difference_and_less_is_one() -> None:
    shape = {"status": "ok", "result": {"name": "string", "size": "int", "score": "float"}}
    ours = {"status": "ok", "result": {"name": "a", "size": 1, "score": 1, "more": []}}
    assert told(shape, ours) == []
    less = {"status": "ok", "result": {"name": None, "size": True}}
    assert told(shape, less) == [
        "result.name is NoneType, not str",
        "result.size is bool, not int",
        "result.score is missing",
    ]


def test_the_status_and_the_code_count() -> None:
    failed = {"status": "error", "error": {"code": "NOT_FOUND", "message": "no", "details": {}}}
    assert told({"result": []}, failed, 404) == ["status 200 -> 404 NOT_FOUND"]
    other = {"error": {"code": "CONFLICT", "details": {"retryable": "bool"}}}
    assert told(other, failed) == [
        "code CONFLICT -> NOT_FOUND",
        "details.retryable is missing",
    ]


def test_a_find_that_finds_nothing_any_more_is_a_difference() -> None:
    shape = {"result": {"resources": [{"uri": "string"}], "total": "int"}}
    ours = {"result": {"resources": [], "total": 0}}
    assert told(shape, ours, name="find-x") == ["nothing was found"]


def test_every_meant_difference_has_a_reason() -> None:
    assert [one.names for one in MEANT if not one.reason] == []


HEALTH = {"name": "health", "method": "GET", "path": "/health", "body": None, "status": 200}
ACCOUNT = {
    "name": "admin-create-account",
    "method": "POST",
    "path": "/api/v1/admin/accounts",
    "body": {"account_id": "acme", "admin_user_id": "alice"},
    "status": 200,
    "response": {"result": {"user_key": "string"}},
}
WRITE = {
    "name": "content-write-create-exists",
    "method": "POST",
    "path": "/api/v1/content/write",
    "body": {"uri": "viking://resources/a.md", "content": "x", "mode": "create"},
    "status": 200,
    "response": {"result": {"uri": "string"}},
}


@pytest.mark.parametrize(
    ("shape", "code"), [({"healthy": "bool"}, 0), ({"colour": "string"}, 1)], ids=["known", "new"]
)
def test_a_recording_is_sent_and_a_new_difference_is_red(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    shape: dict[str, str],
    code: int,
) -> None:
    lines = [{**HEALTH, "response": shape}, ACCOUNT, WRITE, WRITE]
    (tmp_path / "wire.jsonl").write_text("\n".join(json.dumps(line) for line in lines))
    monkeypatch.setattr(sys, "argv", ["replay", str(tmp_path / "wire.jsonl")])
    assert replay.main() == code
    printed = capsys.readouterr().out
    assert "meant content-write-create-exists: status 200 -> 409 ALREADY_EXISTS" in printed
    assert ("NEW   health: result.colour is missing" in printed) is bool(code)
