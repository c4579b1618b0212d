"""Who sees what, and where keys are never found: the real server, its data and its log."""

import base64
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.backends import all_bytes
from tests.crash.program import ForkedServer
from tests.processes import ServerProcess

ROOT_KEY = "root-key-5f0c1d7e9a"
READY_KEY = "ready-key-b81d42c6f3"
FIND = "/api/v1/search/find"
KEYS = "/api/v1/admin/keys"
CLAIMS = ("Account", "User", "Agent", "Actor-Peer")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    home = tmp_path_factory.mktemp("identity")
    environment = {
        "CONTEXTFIND_API_KEY": READY_KEY,
        "CONTEXTFIND_SERVER__ROOT_API_KEY": ROOT_KEY,
        "CONTEXTFIND_LOG__LEVEL": "debug",
        "HOME": str(home),
    }
    with ForkedServer(home / "data") as process:
        process.start(environment).wait_healthy()
        yield process


def call(server: ServerProcess, key: str, method: str, path: str, **more: Any) -> httpx.Response:
    headers = {"X-API-Key": key, **more.pop("headers", {})}
    return server.http.request(method, path, headers=headers, **more)


def result(response: httpx.Response) -> Any:
    assert response.status_code == 200, response.text
    return response.json()["result"]


def account_of_two(server: ServerProcess, name: str) -> tuple[str, str]:
    """Make an account with alice and bob, and return their keys."""
    accounts = "/api/v1/admin/accounts"
    made = {"account_id": name, "admin_user_id": "alice"}
    alice = result(call(server, ROOT_KEY, "POST", accounts, json=made))["user_key"]
    bob = call(server, alice, "POST", f"{accounts}/{name}/users", json={"user_id": "bob"})
    return str(alice), str(result(bob)["user_key"])


def write(server: ServerProcess, key: str, uri: str, text: str) -> httpx.Response:
    body = {"uri": uri, "content": text, "wait": True}
    return call(server, key, "POST", "/api/v1/content/write", json=body)


def everything_found(server: ServerProcess, key: str, headers: dict[str, str]) -> str:
    """Return all that several kinds of find show."""
    asked: list[dict[str, object]] = [
        {"query": "locker"},
        {"query": "my locker is 42", "context_type": "memory", "read_content": True},
        {"query": "", "context_type": "memory", "limit": 100},
        {"query": "locker", "target_uri": "viking://~", "limit": 100},
        {"query": "locker", "target_uri": "viking://user", "limit": 100},
    ]
    found = [call(server, key, "POST", FIND, json=one, headers=headers) for one in asked]
    for answer in found:
        result(answer)
    return "".join(answer.text for answer in found)


def test_r123_a_key_with_the_headers_of_another_user_never_reaches_that_users_data(
    server: ServerProcess,
) -> None:
    alice, bob = account_of_two(server, "acme")
    _, stranger = account_of_two(server, "other")
    note = "viking://user/bob/memories/locker.md"
    result(write(server, bob, note, "my locker is 42"))
    assert "locker is 42" in everything_found(server, bob, {})
    for key in (alice, stranger, READY_KEY):
        for account, user in (("acme", "bob"), ("acme", "alice"), ("", "root")):
            claims = {f"X-OpenViking-{name}": user for name in CLAIMS}
            claims["X-OpenViking-Account"] = account
            seen = everything_found(server, key, claims)
            assert "locker" not in seen
            assert "/bob" not in seen
            if key != stranger:  # a bob of his own
                for method, path, body in (
                    ("GET", f"/api/v1/content/read?uri={note}", None),
                    ("GET", f"/api/v1/fs/stat?uri={note}", None),
                    ("GET", "/api/v1/fs/ls?uri=viking://user/bob", None),
                    ("DELETE", f"/api/v1/fs?uri={note}", None),
                    ("POST", "/api/v1/content/write", {"uri": note, "content": "mine now"}),
                    ("POST", FIND, {"query": "x", "target_uri": "viking://user/bob"}),
                ):
                    answer = call(server, key, method, path, json=body, headers=claims)
                    assert answer.status_code == 403, answer.text
                    assert answer.json()["error"]["code"] == "PERMISSION_DENIED"
    gone = call(server, stranger, "GET", f"/api/v1/content/read?uri={note}")
    assert gone.status_code == 404
    text = call(server, bob, "GET", f"/api/v1/content/read?uri={note}")
    assert result(text) == "my locker is 42"


def test_r122_the_root_key_gets_no_data_and_the_way_to_a_user_key(server: ServerProcess) -> None:
    claims = {"X-OpenViking-Account": "default", "X-OpenViking-User": "default"}
    for headers in ({}, claims):
        answer = call(server, ROOT_KEY, "POST", FIND, json={"query": "x"}, headers=headers)
        assert answer.status_code == 403
        assert "POST /api/v1/admin/accounts" in answer.json()["error"]["message"]


def spellings(secret: str) -> list[bytes]:
    """Return what would give a secret away, as bytes in a file or a log."""
    raw = secret.encode()
    return [raw, base64.b64encode(raw), raw.hex().encode(), raw[8:]]


def test_keys_are_nowhere_but_in_the_answers_that_made_them(server: ServerProcess) -> None:
    secrets = [ROOT_KEY, READY_KEY, *account_of_two(server, "vault")]
    alice = secrets[2]
    body = {"account_id": "vault", "user_id": "bob", "label": "phone"}
    made = result(call(server, alice, "POST", KEYS, json=body))
    secrets.append(made["user_key"])
    rotated = result(call(server, alice, "POST", f"{KEYS}/{made['key_id']}/rotate"))
    secrets.append(rotated["user_key"])
    renewed = call(server, alice, "POST", "/api/v1/admin/accounts/vault/users/bob/key")
    secrets.append(result(renewed)["user_key"])
    assert len(set(secrets)) == 7
    answers: list[httpx.Response] = []
    for key in secrets:
        answers += [
            call(server, key, "POST", FIND, json={"query": "x", "telemetry": True}),
            call(server, key, "POST", FIND, json={"limit": 0}),
            call(server, key, "POST", FIND, content=b"{"),
            call(server, key, "POST", FIND, json=[1]),
            call(server, key, "GET", "/api/v1/nope"),
            call(server, key, "DELETE", FIND),
            call(server, key, "GET", KEYS),
            call(server, key, "GET", "/api/v1/system/status"),
            call(server, key, "DELETE", f"{KEYS}/unknown"),
            call(server, key, "POST", "/api/v1/resources/temp_upload", files={"file": b"x"}),
            call(server, key, "POST", "/api/v1/content/write", json={"uri": "viking://x"}),
            server.http.get("/api/v1/tasks", headers={"Authorization": f"Bearer {key}x"}),
        ]
    assert {answer.status_code // 100 for answer in answers} == {2, 4}
    told = b"".join(answer.content + repr(answer.headers).encode() for answer in answers)
    log = server.output().encode()
    files = all_bytes(server.data)
    assert any(one.endswith(("contextfind.db", "keys")) for one in files)
    for secret in secrets:
        for spelling in spellings(secret):
            assert spelling not in told
            assert spelling not in log
            assert [one for one, data in files.items() if spelling in data] == []
        digest = hashlib.sha256(secret.encode()).hexdigest().encode()
        assert digest not in told
        assert digest not in log


def test_the_log_of_the_server_tells_every_admin_action_as_json(server: ServerProcess) -> None:
    call(server, ROOT_KEY, "GET", KEYS, headers={"X-Request-ID": "looked-for"})
    (line,) = [one for one in server.output().splitlines() if "looked-for" in one]
    start = line.index("{")
    assert "contextfind.audit" in line[:start]
    told = json.loads(line[start:])
    assert (told["action"], told["outcome"]) == ("list_keys", "ok")
    assert told["by"]["key"] == "server.root_api_key"


def test_a_restart_forgets_no_user_and_no_last_use(tmp_path: Path) -> None:
    environment = {"CONTEXTFIND_SERVER__ROOT_API_KEY": ROOT_KEY, "HOME": str(tmp_path)}
    with ForkedServer(tmp_path / "data") as first:
        first.start(environment).wait_healthy()
        alice, bob = account_of_two(first, "acme")
        before = result(call(first, bob, "GET", KEYS))
        result(call(first, alice, "DELETE", "/api/v1/admin/accounts/acme/users/alice"))
        assert first.stop() == 0
    with ForkedServer(tmp_path / "data") as second:
        second.start(environment).wait_healthy()
        (key,) = result(call(second, ROOT_KEY, "GET", f"{KEYS}?account_id=acme"))
        assert [key] == before
        assert key["last_used_at"] is not None
        assert call(second, alice, "GET", KEYS).status_code == 401
        assert result(call(second, bob, "GET", "/api/v1/system/status"))["user"] == "bob"
