"""One line for every request to the admin routes."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from contextfind.domain.identity import Identity
from contextfind.server.audit import AuditTrail
from contextfind.server.auth import digest_of
from contextfind.server.rules import ServerRules
from tests.api.caller import FIND, app_of, calling
from tests.api.fake_house import FakeHouse

ADMIN = "/api/v1/admin"
ROOT_WHO = {"account": "", "user": "", "role": "root", "key": "server.root_api_key"}
BEN_WHO = {"account": "acme", "user": "ben", "role": "user", "key": "key-ben"}


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    house = FakeHouse()
    await house.identities.let_in("cf_ben", Identity("acme", "ben", "user"), "key-ben")
    rules = ServerRules(root_api_key="root", rate_limit_per_minute=100)
    async with calling(app_of(house, rules)) as client:
        yield client


def lines(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    told = [one for one in caplog.records if one.name == "contextfind.audit"]
    assert all("\n" not in one.getMessage() for one in told)
    return [json.loads(one.getMessage()) for one in told]


Request = tuple[str, str, dict[str, Any] | None]

BEN = {"account": "acme", "user": "ben"}
BENS = "/accounts/acme/users/ben"
ACTIONS: list[tuple[Request, str, dict[str, str]]] = [
    (
        ("POST", "/accounts", {"account_id": "new", "admin_user_id": "nia"}),
        "add_account",
        {"account": "new", "user": "nia", "key": "id1"},
    ),
    (("GET", "/accounts", None), "list_accounts", {}),
    (
        ("POST", "/accounts/acme/users", {"user_id": "eve"}),
        "add_user",
        {"account": "acme", "user": "eve", "role": "user", "key": "id1"},
    ),
    (("GET", "/accounts/acme/users", None), "list_users", {"account": "acme"}),
    (("PUT", f"{BENS}/role", {"role": "admin"}), "change_role", {**BEN, "role": "admin"}),
    (("DELETE", BENS, None), "remove_user", BEN),
    (("POST", f"{BENS}/key", None), "renew_key", {**BEN, "key": "id1"}),
    (
        ("POST", "/keys", {"account_id": "acme", "user_id": "ben"}),
        "add_key",
        {**BEN, "key": "id1"},
    ),
    (("GET", "/keys?account_id=acme", None), "list_keys", {"account": "acme"}),
    (("POST", "/keys/key-ben/rotate", None), "rotate_key", {**BEN, "key": "key-ben"}),
    (("DELETE", "/keys/key-ben", None), "revoke_key", {**BEN, "key": "key-ben"}),
]


@pytest.mark.parametrize(("asked", "action", "on"), ACTIONS)
async def test_an_action_is_told_with_who_did_it_to_whom(http, caplog, asked, action, on):
    method, path, body = asked
    headers = {"X-API-Key": "root", "X-Request-ID": "mine-1"}
    answer = await http.request(method, ADMIN + path, json=body, headers=headers)
    assert answer.status_code == 200
    (line,) = lines(caplog)
    assert line == {
        "action": action,
        "by": ROOT_WHO,
        "on": on,
        "outcome": "ok",
        "request": "mine-1",
        "from": "127.0.0.1",
    }


@pytest.mark.parametrize(
    ("asked", "action", "outcome"),
    [
        (("GET", "/accounts", None), "list_accounts", "PERMISSION_DENIED"),
        (("GET", "/accounts/other/users", None), "list_users", "PERMISSION_DENIED"),
        (("POST", "/keys/id9/rotate", None), "rotate_key", "NOT_FOUND"),
        (("POST", "/accounts", {"account_id": ".."}), "add_account", "HTTP 400"),
        (("GET", "/nope", None), "GET /api/v1/admin/nope", "HTTP 501"),
    ],
)
async def test_a_refused_attempt_is_told_as_a_warning(http, caplog, asked, action, outcome):
    method, path, body = asked
    await http.request(method, ADMIN + path, json=body, headers={"X-API-Key": "cf_ben"})
    (line,) = lines(caplog)
    assert (line["action"], line["by"], line["outcome"]) == (action, BEN_WHO, outcome)
    told = [one.levelno for one in caplog.records if one.name == "contextfind.audit"]
    assert told == [logging.WARNING]


async def test_an_attempt_without_a_good_key_is_told_with_where_it_came_from(http, caplog):
    for headers in ({}, {"X-API-Key": "cf_wrong"}):
        await http.get(f"{ADMIN}/accounts", headers=headers)
    for line in lines(caplog):
        assert (line["by"], line["outcome"], line["from"]) == (
            None,
            "UNAUTHENTICATED",
            "127.0.0.1",
        )
    assert len(lines(caplog)) == 2


async def test_an_attempt_beyond_the_limit_is_told_with_its_key(http, caplog):
    for _ in range(101):
        await http.get(f"{ADMIN}/keys", headers={"X-API-Key": "cf_ben"})
    last = lines(caplog)[-1]
    assert (last["by"], last["outcome"]) == (BEN_WHO, "RESOURCE_EXHAUSTED")


async def test_other_routes_are_not_audited(http, caplog):
    await http.post(FIND, json={"query": "x"}, headers={"X-API-Key": "cf_ben"})
    await http.get("/api/v1/tasks", headers={"X-API-Key": "root"})
    assert lines(caplog) == []


async def test_no_line_holds_a_key_wherever_it_was_sent(http, caplog):
    secret = "cf_3cREtsEcreTsecRetsecREt"
    root = {"X-API-Key": "root"}
    made = await http.post(
        f"{ADMIN}/keys", json={"account_id": "acme", "user_id": "ben"}, headers=root
    )
    key = made.json()["result"]["user_key"]
    for method, path in (
        ("DELETE", f"/keys/{secret}"),
        ("POST", f"/keys/{secret}/rotate"),
        ("GET", f"/accounts/{secret}/users"),
        ("DELETE", f"/accounts/acme/users/{secret}"),
        ("GET", f"/keys?account_id={secret}"),
        ("GET", f"/nope/{secret}"),
    ):
        await http.request(method, ADMIN + path, headers=root)
    await http.get(f"{ADMIN}/keys", headers={"X-API-Key": key})
    await http.get(f"{ADMIN}/keys", headers={"X-API-Key": secret})
    assert len(lines(caplog)) == 9
    for hidden in (secret, key, "root-secret", digest_of(key), digest_of("root")):
        assert hidden not in caplog.text


async def test_an_account_cannot_forge_a_line(http, caplog):
    path = f"{ADMIN}/accounts/a%0A%7B%22action%22%3A%22x%22%7D/users"
    await http.get(path, headers={"X-API-Key": "root"})
    (line,) = lines(caplog)
    assert line["on"] == {"account": 'a\n{"action":"x"}'}


SCOPE = {"type": "http", "method": "GET", "path": f"{ADMIN}/keys", "client": None}


async def test_the_line_is_written_before_the_answer_leaves(caplog):
    told: list[int] = []

    async def app(_scope, _receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def send(_message):
        told.append(len(lines(caplog)))

    await AuditTrail(app)(dict(SCOPE), _nothing, send)
    assert told == [1]
    assert len(lines(caplog)) == 1


@pytest.mark.parametrize("fault", [asyncio.CancelledError(), RuntimeError()])
async def test_a_request_that_broke_off_is_told_too(caplog, fault):
    async def app(_scope, _receive, _send):
        raise fault

    with pytest.raises(type(fault)):
        await AuditTrail(app)(dict(SCOPE), _nothing, _nothing)
    assert [line["outcome"] for line in lines(caplog)] == ["no answer"]


async def _nothing(*_: object) -> None:
    """Receive and send nothing."""


def test_the_level_of_other_lines_silences_no_audit():
    assert logging.getLogger("contextfind.audit").level == logging.INFO
