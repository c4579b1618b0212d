import re

import pytest

from contextfind.server.rules import ServerRules
from tests.api.caller import FIND, app_of, calling, error_of, result_of
from tests.api.fake_house import FakeHouse

JSON = {"content-type": "application/json"}


@pytest.mark.parametrize("path", ["/nope", "/api/v1", "/api/v1/nope", "/api/v1/search/find/"])
async def test_an_unknown_path_is_not_found(api, path):
    error = error_of(await api.http.get(path), 404, "NOT_FOUND")
    assert error["details"] == {"path": path}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("DELETE", "/api/v1/admin/accounts/acme"),
        ("POST", "/api/v1/relations/link"),
        ("GET", "/api/v1/stats/sessions"),
    ],
)
async def test_a_known_route_that_is_not_built_says_what_to_use(api, method, path):
    error = error_of(await api.http.request(method, path), 501, "UNIMPLEMENTED")
    assert error["message"].startswith(f"{path} is not built here: ")


async def test_another_method_is_405_and_names_the_right_one(api):
    response = await api.http.get(FIND)
    error = error_of(response, 405, "INVALID_ARGUMENT")
    assert error["message"] == "method is 'GET'; /api/v1/search/find expects POST"
    assert response.headers["allow"] == "POST"


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/api/v1/admin/accounts", "GET, POST"),
        ("OPTIONS", "/api/v1/admin/accounts/acme/users", "GET, POST"),
        ("POST", "/api/v1/admin/accounts/acme/users/ben", "GET, DELETE"),
        ("PATCH", "/api/v1/admin/keys", "GET, POST"),
        ("DELETE", "/health", "GET, HEAD"),
        ("GET", "/api/v1/fs", "DELETE"),
    ],
)
async def test_every_method_that_a_path_takes_is_named(api, method, path, allowed):
    response = await api.http.request(method, path)
    error = error_of(response, 405, "INVALID_ARGUMENT")
    assert response.headers["allow"] == allowed
    assert error["message"].endswith(f"expects {allowed}")


async def test_a_wrong_parameter_is_placed_in_the_query_and_a_wrong_field_in_the_body(api):
    for method, path in (("GET", "/api/v1/fs/ls"), ("DELETE", "/api/v1/fs")):
        response = await api.http.request(method, path, params={"uri": "docs"})
        error = error_of(response, 400, "INVALID_URI")
        assert error["details"]["validation_errors"][0]["loc"] == ["query", "uri"]
    response = await api.http.post("/api/v1/fs/mkdir", json={"uri": "docs"})
    error = error_of(response, 400, "INVALID_URI")
    assert error["details"]["validation_errors"][0]["loc"] == ["body", "uri"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b'{"query":', "the body is no JSON: "),
        (b"\xff\xfe", "the body "),
        (b"[1]", "the body is [1]; expected a JSON object"),
        (b'"text"', "the body is 'text'; expected a JSON object"),
        (b"null", "the body is None; expected a JSON object"),
        (b"", "the body is missing"),
        (b"[" * 100_000, "the body "),
        (b"1" * 5_000, "the body "),
    ],
)
async def test_a_body_that_is_no_object_is_refused(api, content, told):
    response = await api.http.post(FIND, content=content, headers=JSON)
    error = error_of(response, 400, "INVALID_ARGUMENT")
    assert error["message"].lower().startswith(told.lower())


async def test_json_without_its_content_type_is_refused_with_the_header_to_send(api):
    for headers in ({}, {"content-type": "text/plain"}):
        response = await api.http.post(FIND, content=b'{"query":"x"}', headers=headers)
        error = error_of(response, 400, "INVALID_ARGUMENT")
        assert "Content-Type: application/json" in error["message"]


async def test_a_missing_query_parameter_is_named(api):
    error = error_of(await api.http.get("/api/v1/content/read"), 400, "INVALID_ARGUMENT")
    assert error["message"] == "uri is missing; it is required"
    assert error["details"]["validation_errors"][0]["loc"] == ["query", "uri"]


async def test_a_body_beyond_the_limit_is_refused_whether_announced_or_not():
    house = FakeHouse()

    async def chunks():
        for _ in range(40):
            yield b" " * 100

    async with calling(app_of(house, ServerRules(max_body_bytes=1000))) as http:
        announced = await http.post(FIND, content=b" " * 1001, headers=JSON)
        streamed = await http.post(FIND, content=chunks(), headers=JSON)
        fitting = await http.post(FIND, content=b'{"query":"x"}' + b" " * 900, headers=JSON)
    for response in (announced, streamed):
        error = error_of(response, 429, "RESOURCE_EXHAUSTED")
        assert error["details"] == {"max_bytes": 1000}
    assert result_of(fitting)["total"] == 0


async def test_an_internal_error_names_the_request_and_logs_the_stack(api, caplog):
    api.house.finder.fault = ValueError("the secret reason")
    response = await api.http.post(FIND, json={"query": "x"}, headers={"X-Request-ID": "abc"})
    error = error_of(response, 500, "INTERNAL")
    assert error["message"] == "internal error; the server's log explains request abc"
    assert error["details"] == {}
    (logged,) = [one for one in caplog.records if one.exc_info]
    assert "abc" in logged.getMessage()
    assert str(logged.exc_info[1]) == "the secret reason"


@pytest.mark.parametrize("sent", ["a", "A-b_c.d:e", "x" * 64])
async def test_a_sane_request_id_is_echoed(api, sent):
    response = await api.http.get("/health", headers={"X-Request-ID": sent})
    assert response.headers["x-request-id"] == sent


@pytest.mark.parametrize("sent", ["", "x" * 65, "a b", "<script>", "a,b"])
async def test_another_request_id_is_replaced(api, sent):
    response = await api.http.get("/health", headers={"X-Request-ID": sent})
    assert re.fullmatch(r"request\d+", response.headers["x-request-id"])


async def test_every_answer_says_how_long_it_took(api):
    for path in ("/health", "/nope", "/api/v1/fs/ls"):
        response = await api.http.get(path)
        assert 0 <= float(response.headers["x-process-time"]) < 10


async def test_the_api_describes_itself_under_the_title_that_clients_look_for(api):
    schema = (await api.http.get("/openapi.json")).json()
    assert schema["info"]["title"] == "OpenViking API"
    assert "contextfind" in schema["info"]["description"]
    assert "/api/v1/search/find" in schema["paths"]


async def test_the_schema_promises_no_answer_that_is_never_given(api):
    schema = (await api.http.get("/openapi.json")).text
    assert "HTTPValidationError" not in schema
    assert '"422"' not in schema


async def test_the_docs_page_needs_nothing_from_elsewhere(api):
    page = await api.http.get("/docs")
    assert page.headers["content-type"].startswith("text/html")
    assert re.findall(r"""(?:src|href|url|import)\s*[=(]?\s*["']([^"']*)""", page.text) == [
        "openapi.json"
    ]
