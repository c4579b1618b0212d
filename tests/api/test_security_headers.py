"""What browsers are told of every answer, whoever made it."""

import pytest

from contextfind.server.rules import ServerRules
from tests.api.caller import FIND, Api, app_of, calling
from tests.api.fake_house import FakeHouse

EVERYWHERE = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}
ASKED = [
    ("GET", "/health", 200),
    ("GET", "/ready", 200),
    ("GET", "/openapi.json", 200),
    ("GET", "/docs", 200),
    ("GET", "/", 200),
    ("GET", "/page/start.js", 200),
    ("GET", "/page/nothing.js", 404),
    ("GET", "/nowhere", 404),
    ("POST", "/health", 405),
    ("GET", "/api/v1/system/status", 200),
    ("GET", "/api/v1/content/read?uri=http://x", 400),
    ("GET", "/api/v1/fs/grep", 404),
]


@pytest.mark.parametrize(("method", "path", "status"), ASKED)
async def test_every_answer_has_the_headers_that_browsers_obey(
    api: Api, method: str, path: str, status: int
) -> None:
    answer = await api.http.request(method, path)
    assert answer.status_code == status
    assert EVERYWHERE.items() <= dict(answer.headers).items()
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    assert "server" not in answer.headers


async def test_an_internal_error_has_them_too_and_a_refused_key() -> None:
    house = FakeHouse()
    house.finder.fault = RuntimeError("boom")
    async with calling(app_of(house, ServerRules(api_key="ready"))) as http:
        broken = await http.post(FIND, json={"query": "x"}, headers={"X-API-Key": "ready"})
        refused = await http.post(FIND, json={"query": "x"})
    assert (broken.status_code, refused.status_code) == (500, 401)
    for answer in (broken, refused):
        assert EVERYWHERE.items() <= dict(answer.headers).items()


async def test_the_page_may_use_its_own_style_and_no_script(api: Api) -> None:
    policies = (await api.http.get("/docs")).headers.get_list("content-security-policy")
    assert len(policies) == 1
    assert "style-src 'unsafe-inline'" in policies[0]
    assert "script-src" not in policies[0]


@pytest.mark.parametrize("origin", ["https://evil.example", "http://127.0.0.1:8080", "null"])
async def test_no_page_elsewhere_may_read_an_answer_unless_it_is_named(origin: str) -> None:
    async with calling(app_of(FakeHouse(), ServerRules(api_key="ready"))) as http:
        headers = {"Origin": origin, "X-API-Key": "ready"}
        asked = {"Access-Control-Request-Method": "POST"}
        answers = [
            await http.get("/health", headers=headers),
            await http.post(FIND, json={"query": "x"}, headers=headers),
            await http.options(FIND, headers=headers | asked),
        ]
    for answer in answers:
        assert not [name for name in answer.headers if name.startswith("access-control")]
    assert answers[2].status_code == 405
