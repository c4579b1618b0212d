import pytest

from contextfind.domain.identity import Identity
from contextfind.server.rules import ServerRules, fresh_key
from tests.api.caller import FIND, app_of, calling, error_of, result_of
from tests.api.fake_house import NOW, FakeHouse

KEYED = ServerRules(api_key="user-secret", root_api_key="root-secret")
ALICE = Identity("acme", "alice", "user")


async def house_with(key="cf_alice", identity=ALICE):
    house = FakeHouse()
    await house.identities.let_in(key, identity)
    return house


async def find_as(house, headers, rules=KEYED):
    async with calling(app_of(house, rules)) as http:
        return await http.post(FIND, json={"query": "x"}, headers=headers)


def asker(house):
    context, _ = house.finder.asked[-1]
    return context.identity


async def test_without_any_configured_key_everybody_is_the_local_user():
    house = FakeHouse()
    for headers in ({}, {"X-API-Key": "whatever"}, {"Authorization": "Bearer old"}):
        result_of(await find_as(house, headers, ServerRules()))
        assert asker(house) == Identity("default", "default", "user")


@pytest.mark.parametrize(
    "headers",
    [
        {"X-API-Key": "user-secret"},
        {"Authorization": "Bearer user-secret"},
        {"authorization": "bearer  user-secret "},
        {"X-API-Key": "user-secret", "Authorization": "Bearer wrong"},
        {"X-API-Key": " ", "Authorization": "Bearer user-secret"},
    ],
)
async def test_the_ready_key_is_the_default_user_and_x_api_key_wins(headers):
    house = FakeHouse()
    result_of(await find_as(house, headers))
    assert asker(house) == Identity("default", "default", "user")


async def test_a_stored_key_is_its_user_and_its_use_is_noted():
    house = await house_with()
    result_of(await find_as(house, {"X-API-Key": "cf_alice"}))
    assert asker(house) == ALICE
    assert house.identities.uses == [("k1", NOW)]


@pytest.mark.parametrize("key", ["cf_alice", "user-secret"])
async def test_no_header_and_no_field_changes_who_a_key_is(key):
    house = await house_with()
    names = ("Account", "User", "Agent", "Actor-Peer")
    claims = {f"X-OpenViking-{name}": "root" for name in names}
    async with calling(app_of(house, KEYED)) as http:
        body = {"query": "x", "account_id": "root", "user": "root"}
        result_of(await http.post(FIND, json=body, headers={"X-API-Key": key}))
        result_of(await http.post(FIND, json=body, headers={"X-API-Key": key, **claims}))
    (first, _), (second, _) = house.finder.asked
    assert first.identity == second.identity


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"X-API-Key": ""},
        {"Authorization": "Bearer"},
        {"Authorization": "Basic dXNlcjpwdw=="},
        {"Authorization": "user-secret"},
        {"X-OpenViking-Account": "default", "X-OpenViking-User": "default"},
    ],
)
async def test_without_a_key_the_answer_says_which_header_to_send(headers):
    house = FakeHouse()
    error = error_of(await find_as(house, headers), 401, "UNAUTHENTICATED")
    assert "X-API-Key: KEY" in error["message"]
    assert "Authorization: Bearer KEY" in error["message"]
    assert house.finder.asked == []


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ("Bearer", "no key was sent (Authorization: Bearer came without a key); "),
        ("bearer  ", "no key was sent (Authorization: Bearer came without a key); "),
        ("Basic x", "no key was sent (Authorization: Basic is not understood); "),
        ("", "no key was sent; "),
    ],
)
async def test_an_authorization_without_a_key_is_told_what_is_wrong_with_it(sent, said):
    response = await find_as(FakeHouse(), {"Authorization": sent})
    assert error_of(response, 401, "UNAUTHENTICATED")["message"].startswith(said)


@pytest.mark.parametrize(
    "headers",
    [
        {"X-API-Key": "wrong-secret"},
        {"Authorization": "Bearer wrong-secret"},
        {"X-API-Key": "wrong-secret", "Authorization": "Bearer user-secret"},
        {"X-API-Key": "wrong-secret, user-secret"},
        {"X-API-Key": b"wrong-secret\xff\xe9"},
    ],
)
async def test_an_unknown_key_is_refused_and_never_repeated(headers):
    response = await find_as(await house_with(), headers)
    error_of(response, 401, "UNAUTHENTICATED")
    assert "wrong-secret" not in response.text


async def test_the_root_key_has_no_data_and_says_how_to_get_a_user_key():
    house = FakeHouse()
    root = {"X-API-Key": "root-secret", "X-OpenViking-Account": "acme"}
    error = error_of(await find_as(house, root), 403, "PERMISSION_DENIED")
    assert "POST /api/v1/admin/accounts" in error["message"]
    async with calling(app_of(house, KEYED), **root) as http:
        for method, path in (
            ("GET", "/api/v1/fs/ls"),
            ("GET", "/api/v1/content/read?uri=viking://resources/a"),
            ("DELETE", "/api/v1/fs?uri=viking://resources/a"),
            ("GET", "/api/v1/tasks"),
            ("POST", "/api/v1/system/wait"),
        ):
            error_of(await http.request(method, path), 403, "PERMISSION_DENIED")
        assert result_of(await http.get("/api/v1/system/status"))["role"] == "root"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/v1/nope"),
        ("GET", "/api/v1/search/find"),
        ("POST", "/api/v1/sessions"),
        ("GET", "/api/v1/admin/accounts"),
        ("POST", "/api/v1/resources/temp_upload"),
    ],
)
async def test_nothing_below_the_api_answers_anything_else_without_a_key(method, path):
    async with calling(app_of(FakeHouse(), KEYED)) as http:
        error_of(await http.request(method, path), 401, "UNAUTHENTICATED")
        broken = await http.request(
            method, path, content=b"{", headers={"content-type": "application/json"}
        )
        error_of(broken, 401, "UNAUTHENTICATED")


@pytest.mark.parametrize("path", ["/health", "/ready", "/docs", "/openapi.json"])
async def test_what_needs_no_key_answers_without_one(path):
    async with calling(app_of(FakeHouse(), KEYED)) as http:
        assert (await http.get(path)).status_code == 200


@pytest.mark.parametrize(
    ("rules", "mode"),
    [
        (ServerRules(), "dev"),
        (ServerRules(api_key="a"), "api_key"),
        (ServerRules(root_api_key="b"), "api_key"),
    ],
)
async def test_health_names_the_mode(rules, mode):
    async with calling(app_of(FakeHouse(), rules)) as http:
        assert (await http.get("/health")).json()["auth_mode"] == mode


@pytest.mark.parametrize(
    ("allowed", "let_in"), [((), False), (("https://a.example",), True), (("https://b",), False)]
)
async def test_web_pages_are_let_in_only_from_configured_origins(allowed, let_in):
    rules = ServerRules(api_key="k", cors_origins=allowed)
    page = {"Origin": "https://a.example"}
    asks = {**page, "Access-Control-Request-Method": "POST"}
    async with calling(app_of(FakeHouse(), rules)) as http:
        preflight = await http.options(FIND, headers=asks)
        found = await http.post(FIND, json={"query": "x"}, headers={**page, "X-API-Key": "k"})
        refused = await http.post(FIND, json={"query": "x"}, headers=page)
    assert (preflight.status_code == 200) is let_in
    for response in (found, refused):
        assert ("access-control-allow-origin" in response.headers) is let_in
    result_of(found)
    error_of(refused, 401, "UNAUTHENTICATED")


def test_a_fresh_key_is_long_and_never_the_same():
    keys = {fresh_key() for _ in range(100)}
    assert len(keys) == 100
    assert all(key.startswith("cf_") and len(key) == 46 for key in keys)
