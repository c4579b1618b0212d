"""Without a key: which requests a web page elsewhere may be behind, and that they are refused."""

import pytest

from contextfind.server.rules import ServerRules
from tests.api.caller import FIND, app_of, calling, error_of, result_of
from tests.api.fake_house import FakeHouse

DEV = ServerRules()
PAGE = "https://a.example"


async def find_with(headers, rules=DEV):
    async with calling(app_of(FakeHouse(), rules)) as http:
        return await http.post(FIND, json={"query": "x"}, headers=headers)


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.0.0.1:1933",
        "127.8.9.10:80",
        "localhost",
        "LocalHost:1933",
        "[::1]",
        "[::1]:1933",
    ],
)
async def test_this_machine_may_be_called_by_each_of_its_own_names(host):
    result_of(await find_with({"Host": host}))
    result_of(await find_with({"Origin": f"http://{host}"}))
    result_of(await find_with({"Host": host, "Origin": f"https://{host}"}))


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:1933",
        "localhost.evil.example",
        "evil-localhost:80",
        "127.0.0.1.evil.example",
        "127.0.0.1:80.evil.example",
        "127.0.0.1@evil.example",
        "evil.example:127.0.0.1",
        "localhost:80:80",
        "127.1",
        "2130706433",
        "0.0.0.0:1933",
        "192.168.1.5:1933",
        "[2001:db8::1]:1933",
        "[::]",
        "::1",
        "[::1",
        "",
        b"localhost\xb2",
    ],
)
async def test_a_host_that_is_not_this_machine_is_refused_with_the_way_out(host):
    error = error_of(await find_with({"Host": host}), 403, "PERMISSION_DENIED")
    assert "Host" in error["message"]
    assert "127.0.0.1 or localhost" in error["message"]
    assert "CONTEXTFIND_API_KEY" in error["message"]


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "https://localhost.evil.example:1933",
        "http://127.0.0.1@evil.example",
        "http://localhost/",
        "chrome-extension://localhost",
        "localhost",
        "null",
        "",
    ],
)
async def test_a_page_elsewhere_is_refused_with_the_way_out(origin):
    error = error_of(await find_with({"Origin": origin}), 403, "PERMISSION_DENIED")
    assert "Origin" in error["message"]
    assert "server.cors_origins" in error["message"]
    assert "CONTEXTFIND_API_KEY" in error["message"]


@pytest.mark.parametrize("name", ["Host", "Origin"])
async def test_a_good_header_beside_a_bad_one_helps_nothing(name):
    good, bad = ("localhost", "evil.example")
    if name == "Origin":
        good, bad = f"http://{good}", f"http://{bad}"
    error_of(await find_with([(name, good), (name, bad)]), 403, "PERMISSION_DENIED")


async def test_a_request_without_host_is_no_browsers():
    async with calling(app_of(FakeHouse())) as http:
        request = http.build_request("POST", FIND, json={"query": "x"})
        del request.headers["host"]
        result_of(await http.send(request))


@pytest.mark.parametrize(
    ("allowed", "let_in"),
    [((PAGE,), True), (("*",), True), ((), False), (("https://b.example",), False)],
)
async def test_a_page_whose_origin_is_configured_may_come_but_not_by_another_host(allowed, let_in):
    rules = ServerRules(cors_origins=allowed)
    response = await find_with({"Origin": PAGE}, rules)
    assert (response.status_code == 200) is let_in
    both = {"Origin": PAGE, "Host": "a.example"}
    error_of(await find_with(both, rules), 403, "PERMISSION_DENIED")


@pytest.mark.parametrize("rules", [ServerRules(api_key="k"), ServerRules("k", root_api_key="r")])
async def test_with_a_key_neither_header_decides_anything(rules):
    elsewhere = {"Host": "search.example", "Origin": "http://evil.example"}
    result_of(await find_with({**elsewhere, "X-API-Key": "k"}, rules))
    error_of(await find_with(elsewhere, rules), 401, "UNAUTHENTICATED")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/v1/system/status"),
        ("GET", "/api/v1/nope"),
        ("GET", "/api/v1/admin/accounts"),
        ("POST", "/api/v1/resources/temp_upload"),
        ("DELETE", "/api/v1/fs?uri=viking://resources/a"),
    ],
)
async def test_nothing_below_the_api_answers_a_page_elsewhere(method, path):
    async with calling(app_of(FakeHouse()), host="evil.example") as http:
        error_of(await http.request(method, path), 403, "PERMISSION_DENIED")


@pytest.mark.parametrize("path", ["/health", "/ready", "/docs", "/openapi.json"])
async def test_what_lies_above_the_api_answers_by_any_name(path):
    async with calling(app_of(FakeHouse()), host="evil.example") as http:
        assert (await http.get(path)).status_code == 200


async def test_what_is_repeated_of_a_header_is_short():
    error = error_of(await find_with({"Host": "e" * 5000}), 403, "PERMISSION_DENIED")
    assert len(error["message"]) < 400
