"""Who may do what: every role on every route of admin/*, in its own account and in another."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from contextfind.domain.identity import Identity
from contextfind.server.app import create_app
from contextfind.server.rules import ServerRules
from tests.api.caller import app_of, calling, error_of, result_of
from tests.api.fake_house import FakeHouse

ADMIN = "/api/v1/admin"
RULES = ServerRules(api_key="ready", root_api_key="root")

KEY_OF = {
    "root": "root",
    "admin": "cf_ann",
    "user": "cf_ben",
    "other admin": "cf_oda",
    "ready": "ready",  # the configured key: account default, user default, role user
}

# route -> (method, path, body) for an account, a user of it and the id of a key of that user
ROUTES: dict[str, tuple[str, str, dict[str, Any] | None]] = {
    "make an account": ("POST", "/accounts", {"account_id": "new", "admin_user_id": "nia"}),
    "list accounts": ("GET", "/accounts", None),
    "make a user": ("POST", "/accounts/{account}/users", {"user_id": "eve", "role": "admin"}),
    "list users": ("GET", "/accounts/{account}/users", None),
    "see a user": ("GET", "/accounts/{account}/users/{user}", None),
    "remove a user": ("DELETE", "/accounts/{account}/users/{user}", None),
    "change a role": ("PUT", "/accounts/{account}/users/{user}/role", {"role": "admin"}),
    "renew a key": ("POST", "/accounts/{account}/users/{user}/key", None),
    "make a key": ("POST", "/keys", {"account_id": "{account}", "user_id": "{user}"}),
    "list keys of": ("GET", "/keys?account_id={account}", None),
    "rotate a key": ("POST", "/keys/{key}/rotate", None),
    "revoke a key": ("DELETE", "/keys/{key}", None),
}
# whose things -> (account, user, key id)
OBJECTS = {
    "ben's": ("acme", "ben", "key-ben"),
    "ann's": ("acme", "ann", "key-ann"),
    "oda's": ("other", "oda", "key-oda"),
    "default's": ("default", "default", "key-default"),
}
ALONE = {"make an account", "list accounts"}  # about no account: root's
BY_KEY = {"rotate a key", "revoke a key"}  # of a key out of reach nobody learns that it is there


def expected(role: str, route: str, whose: str) -> int:
    """Return the status that the table of docs/security.md means."""
    if role == "root":
        return 200
    account = OBJECTS[whose][0]
    rules = {"admin": "acme", "other admin": "other"}.get(role)
    if route not in ALONE and rules == account:
        return 200
    if role == "user" and whose == "ben's" and route in BY_KEY:
        return 200
    if route == "list keys of" and (role, account) in {("user", "acme"), ("ready", "default")}:
        return 200  # one's own, see below
    return 404 if route in BY_KEY else 403


async def populated() -> FakeHouse:
    house = FakeHouse()
    for secret, who, key_id in (
        ("cf_ann", Identity("acme", "ann", "admin"), "key-ann"),
        ("cf_ben", Identity("acme", "ben", "user"), "key-ben"),
        ("cf_oda", Identity("other", "oda", "admin"), "key-oda"),
        ("cf_default", Identity("default", "default", "admin"), "key-default"),
    ):
        await house.identities.let_in(secret, who, key_id)
    return house


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    async with calling(app_of(await populated(), RULES)) as client:
        yield client


def filled(text: Any, whose: str) -> Any:
    account, user, key = OBJECTS[whose]
    if isinstance(text, dict):
        return {name: filled(value, whose) for name, value in text.items()}
    return text.format(account=account, user=user, key=key) if isinstance(text, str) else text


@pytest.mark.parametrize("whose", OBJECTS)
@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("role", KEY_OF)
async def test_a_role_may_do_what_the_table_says_and_nothing_else(http, role, route, whose):
    method, path, body = ROUTES[route]
    response = await http.request(
        method,
        ADMIN + filled(path, whose),
        json=filled(body, whose),
        headers={"X-API-Key": KEY_OF[role]},
    )
    status = expected(role, route, whose)
    if status == 200:
        result_of(response)
    else:
        error_of(response, status, "NOT_FOUND" if status == 404 else "PERMISSION_DENIED")


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("headers", [{}, {"X-API-Key": "cf_nobody"}])
async def test_without_a_good_key_nobody_may_do_anything(http, route, headers):
    method, path, body = ROUTES[route]
    response = await http.request(
        method, ADMIN + filled(path, "ben's"), json=filled(body, "ben's"), headers=headers
    )
    error_of(response, 401, "UNAUTHENTICATED")


@pytest.mark.parametrize("route", ROUTES)
async def test_without_any_configured_key_the_local_caller_may_do_everything(route):
    async with calling(app_of(await populated())) as client:
        method, path, body = ROUTES[route]
        result_of(
            await client.request(method, ADMIN + filled(path, "oda's"), json=filled(body, "oda's"))
        )


def test_the_table_has_every_route_of_administration():
    schema = create_app(FakeHouse().open).openapi()["paths"]
    built = {
        (method.upper(), path.removeprefix(ADMIN).replace("key_id", "key"))
        for path, methods in schema.items()
        if path.startswith(ADMIN)
        for method in methods
    }
    assert built == {(method, path.partition("?")[0]) for method, path, _ in ROUTES.values()}


async def listed(http, key, query=""):
    response = await http.get(f"{ADMIN}/keys{query}", headers={"X-API-Key": key})
    return [one["key_id"] for one in result_of(response)]


async def test_everybody_sees_the_keys_in_reach_and_no_others(http):
    assert await listed(http, "root") == ["key-ann", "key-ben", "key-default", "key-oda"]
    assert await listed(http, "cf_ann") == ["key-ann", "key-ben"]
    assert await listed(http, "cf_ben") == ["key-ben"]
    assert await listed(http, "cf_ben", "?account_id=acme") == ["key-ben"]
    assert await listed(http, "cf_oda") == ["key-oda"]


async def test_a_configured_key_never_takes_over_an_admin_key_of_the_same_user(http):
    assert await listed(http, "ready") == []
    rotated = await http.post(f"{ADMIN}/keys/key-default/rotate", headers={"X-API-Key": "ready"})
    error_of(rotated, 404, "NOT_FOUND")


async def test_a_foreign_key_is_refused_in_the_same_words_as_one_that_is_not_there(http):
    told = []
    for key_id in ("key-oda", "key-xyz"):
        response = await http.delete(f"{ADMIN}/keys/{key_id}", headers={"X-API-Key": "cf_ben"})
        told.append(error_of(response, 404, "NOT_FOUND")["message"].replace(key_id, "ID"))
    assert told[0] == told[1]


async def test_a_foreign_account_is_refused_in_the_same_words_as_one_that_is_not_there(http):
    told = []
    for account in ("other", "nothere"):
        response = await http.get(
            f"{ADMIN}/accounts/{account}/users", headers={"X-API-Key": "cf_ann"}
        )
        told.append(error_of(response, 403, "PERMISSION_DENIED")["message"])
    assert told[0] == told[1]
