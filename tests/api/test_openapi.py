"""The description of the API, held to a real house: hashed vectors, real engines."""

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator

from contextfind.config.model import EmbeddingSettings, Settings
from contextfind.server.app import create_app
from contextfind.server.rules import ServerRules
from contextfind.wiring import House
from tests.api.caller import app_of, calling, error_of
from tests.api.described import JSON, Description
from tests.api.fake_house import FakeHouse
from tests.backends import storage_in

API = "/api/v1"
FIND = f"{API}/search/find"
WRITE = f"{API}/content/write"
BY_TASK = {f"{API}/tasks/{{task_id}}", f"{API}/tasks/{{task_id}}/cancel"}
BY_KEY = {f"{API}/admin/keys/{{key_id}}", f"{API}/admin/keys/{{key_id}}/rotate"}
UPLOAD = f"{API}/resources/temp_upload"
SEARCH = f"{API}/search/search"

# makers first, removers last: each request finds what the ones before have made
ORDER = [
    ("post", WRITE),
    ("post", UPLOAD),
    ("post", f"{API}/resources"),
    ("post", f"{API}/skills"),
    ("post", f"{API}/system/wait"),
    ("post", f"{API}/sessions"),
    ("post", f"{API}/sessions/{{session_id}}/messages"),
    ("post", f"{API}/sessions/{{session_id}}/commit"),
    ("post", f"{API}/admin/accounts"),
    ("post", f"{API}/admin/accounts/{{account}}/users"),
    ("post", f"{API}/admin/keys"),
]


@pytest.fixture(scope="module")
def page() -> Description:
    return Description(app_of(FakeHouse(), ServerRules(api_key="k")).openapi())


@pytest.fixture(scope="module")
def open_page() -> Description:
    """Return the description of a server without keys."""
    return Description(app_of(FakeHouse()).openapi())


@pytest.fixture
async def http(tmp_path) -> AsyncIterator[httpx.AsyncClient]:
    settings = Settings(
        storage=storage_in(tmp_path / "data"),
        embedding=EmbeddingSettings(provider="hash"),
    )
    async with calling(create_app(lambda: House.open(settings))) as client:
        yield client


def nodes(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for one in value.values():
            yield from nodes(one)
    elif isinstance(value, list):
        for one in value:
            yield from nodes(one)


async def test_the_title_is_the_one_that_clients_look_for(api) -> None:
    page = (await api.http.get("/openapi.json")).json()
    assert page["info"]["title"] == "OpenViking API"
    assert page["openapi"].startswith("3.1")


def test_every_route_says_what_it_does_gives_and_refuses(page: Description) -> None:
    ids = [operation["operationId"] for _, _, operation in page.operations()]
    assert len(set(ids)) == len(ids)
    for method, path, operation in page.operations():
        assert operation["description"].endswith("."), path
        responses = operation["responses"]
        assert "422" not in responses
        assert "default" not in responses
        for status, told in responses.items():
            (schema,) = [one["schema"] for one in told["content"].values()]
            assert schema != {}, (method, path, status)
            assert told["description"], (method, path, status)
        if path.startswith(API):
            assert set(responses) >= {"400", "401", "403", "429", "500", "503"}, path
            assert operation["security"] == [{"key": []}, {"bearer": []}]


def test_every_field_of_every_request_is_explained(page: Description) -> None:
    silent = [
        (path, one["name"])
        for _, path, operation in page.operations()
        for one in operation.get("parameters", [])
        if one["in"] == "query" and not (one.get("description") or one["schema"].get("description"))
    ]
    bodies = {
        name: schema
        for name, schema in page.page["components"]["schemas"].items()
        if name.endswith("Body") or name == "Waiting"
    }
    assert {"FindBody", "WriteBody", "MkdirBody", "AddBody", "Waiting"} <= set(bodies)
    silent += [
        (name, told)
        for name, schema in bodies.items()
        for told, field in schema["properties"].items()
        if not field.get("description")
    ]
    assert silent == []


def test_bounds_are_described_in_the_words_of_json_schema(page: Description) -> None:
    fields = page.page["components"]["schemas"]["FindBody"]["properties"]
    limit = fields["limit"]["anyOf"][0]
    assert (limit["minimum"], limit["maximum"]) == (1, 100)
    assert fields["limit"]["default"] == 10
    threshold = fields["score_threshold"]["anyOf"][0]
    assert (threshold["minimum"], threshold["maximum"]) == (0, 1)
    foreign = (
        "ge",
        "le",
        "gt",
        "lt",
    )  # pydantic's own words; fields of a filter are called so, too
    numbers = [node[word] for node in nodes(page.page) for word in foreign if word in node]
    assert [number for number in numbers if not isinstance(number, dict)] == []


def test_only_an_optional_field_of_a_body_may_be_null(page: Description) -> None:
    schemas = page.page["components"]["schemas"]
    for field in schemas["FindBody"]["properties"].values():
        assert {"type": "null"} in field["anyOf"]
    assert schemas["WriteBody"]["properties"]["uri"]["type"] == "string"


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("viking://", True),
        ("viking://resources/a b.md", True),
        ("viking://~/memories", True),
        ("viking://user/ann", True),
        ("viking://bogus/a", False),
        ("resources/a.md", False),
        ("", False),
    ],
)
def test_what_an_address_looks_like_is_described(page: Description, text: str, fits: bool) -> None:  # noqa: FBT001
    field = page.page["components"]["schemas"]["WriteBody"]["properties"]["uri"]
    assert Draft202012Validator(field).is_valid(text) is fits


def test_every_schema_is_one_and_every_reference_leads_somewhere(page: Description) -> None:
    for schema in page.page["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)
    for node in nodes(page.page):
        if isinstance(node.get("$ref"), str):
            _, kind, name = node["$ref"].rsplit("/", 2)
            assert name in page.page["components"][kind]
    text = json.dumps(page.page)
    assert "HTTPValidationError" not in text
    unused = [
        name
        for name in page.page["components"]["schemas"]
        if f'"#/components/schemas/{name}"' not in text
    ]
    assert unused == []


def test_both_headers_of_a_key_are_named_and_none_is_needed_in_dev_mode(page) -> None:
    schemes = page.page["components"]["securitySchemes"]
    assert schemes["key"] == {"type": "apiKey", "in": "header", "name": "X-API-Key"}
    assert schemes["bearer"] == {"type": "http", "scheme": "bearer"}
    dev = Description(app_of(FakeHouse()).openapi()).operation("post", FIND)
    assert dev["security"][0] == {}
    assert "401" not in dev["responses"]
    assert "security" not in page.operation("get", "/health")


def test_find_has_an_example_of_each_way_to_ask(page: Description) -> None:
    sent = page.examples("post", FIND)
    assert any("filter" in one for one in sent)
    assert any("tags" in one and "since" in one for one in sent)
    assert any("query" not in one for one in sent)
    for method, path, operation in page.operations():
        takes_json = JSON in operation.get("requestBody", {}).get("content", {})
        if takes_json:
            assert page.examples(method, path), path


class Tour:
    """Walks through all routes with the examples of the page, and holds every answer to it."""

    def __init__(self, http: httpx.AsyncClient, page: Description) -> None:
        self.http = http
        self.page = page
        self.ids = {"account": "acme", "user": "ben", "name": "csv-report"}
        self.ids |= {"session_id": "session-1", "archive_id": "archive_001", "component": "queue"}

    async def visit(self, method: str, path: str) -> None:
        if path == UPLOAD:
            return  # made by those who need one
        for example in self.page.examples(method, path) or [None]:
            if path in BY_KEY:
                await self._fresh_key()
            body = example
            if isinstance(example, dict) and "temp_file_id" in example:
                body = {**example, "temp_file_id": await self._upload()}
            answer = await self.http.request(
                method.upper(),
                path.format(**self.ids),
                params=self.page.parameters(method, path),
                json=body,
            )
            told = self.page.hold(method, path, answer)
            assert answer.is_success, (path, body, answer.text)
            if path == f"{API}/resources":
                self.ids["task_id"] = told["result"]["task_id"]
            if path in (FIND, SEARCH) and isinstance(body, dict):
                shown = told["result"]["entries" if "mode" in body else "total"]
                assert shown, body

    async def _upload(self) -> str:
        files = {"file": ("guide.md", b"# Guide\n\nAsk the on-call.\n", "text/markdown")}
        answer = await self.http.post(UPLOAD, files=files)
        return str(self.page.hold("post", UPLOAD, answer)["result"]["temp_file_id"])

    async def _fresh_key(self) -> None:
        body = {"account_id": "acme", "user_id": "ann"}
        answer = await self.http.post(f"{API}/admin/keys", json=body)
        self.ids["key_id"] = answer.json()["result"]["key_id"]


async def test_every_example_works_and_every_answer_is_as_described(http, open_page) -> None:
    served = (await http.get("/openapi.json")).json()
    assert served == open_page.page  # what all other tests are held to
    page = Description(served)
    tour = Tour(http, page)
    routes = [(method, path) for method, path, _ in page.operations()]
    rest = [one for one in routes if one not in ORDER]
    for route in ORDER + sorted(rest, key=lambda one: one[0] == "delete"):
        await tour.visit(*route)
    visited = {(method, path) for method, path, status in page.seen if status == 200}
    assert set(routes) == visited


@pytest.mark.parametrize("simple", [True, False])
@pytest.mark.parametrize("output", ["agent", "original"])
@pytest.mark.parametrize("how", ["ls", "tree"])
async def test_listings_of_every_kind_are_as_described(
    http, open_page, how, output, simple
) -> None:
    await Tour(http, open_page).visit("post", WRITE)
    params = {"uri": "viking://resources", "output": output, "simple": simple, "recursive": True}
    answer = await http.get(f"{API}/fs/{how}", params=params)
    assert open_page.hold("get", f"{API}/fs/{how}", answer)["result"]


REFUSED = [
    ("post", FIND, {}, 400, "INVALID_ARGUMENT"),
    ("post", FIND, {"query": "x", "limit": 0}, 400, "INVALID_ARGUMENT"),
    ("post", FIND, {"query": "x", "target_uri": "docs"}, 400, "INVALID_URI"),
    ("post", FIND, {"query": "x", "target_uri": "viking://user/eve"}, 403, "PERMISSION_DENIED"),
    ("post", FIND, [], 400, "INVALID_ARGUMENT"),
    ("post", WRITE, {"uri": "viking://resources/a.md"}, 400, "INVALID_ARGUMENT"),
    ("post", f"{API}/resources", {"temp_file_id": "none"}, 404, "NOT_FOUND"),
    ("post", f"{API}/resources", {"path": "https://example.org/x"}, 501, "UNIMPLEMENTED"),
    ("post", f"{API}/resources", {"path": "/etc"}, 403, "PERMISSION_DENIED"),
    ("post", f"{API}/admin/accounts/{{account}}/users", {"user_id": "x"}, 404, "NOT_FOUND"),
    ("get", f"{API}/tasks/{{task_id}}", None, 404, "NOT_FOUND"),
    ("get", f"{API}/fs/stat", None, 400, "INVALID_ARGUMENT"),
    ("post", f"{API}/sessions/{{session_id}}/commit", {}, 404, "NOT_FOUND"),
    ("get", f"{API}/sessions/{{session_id}}", None, 404, "NOT_FOUND"),
    ("post", f"{API}/sessions/{{session_id}}/messages", {}, 400, "INVALID_ARGUMENT"),
    ("post", SEARCH, {}, 400, "INVALID_ARGUMENT"),
    ("post", SEARCH, {"query": "x", "mode": "deep"}, 400, "INVALID_ARGUMENT"),
    ("post", SEARCH, {"query": "x", "target_uri": "docs"}, 400, "INVALID_URI"),
]


async def test_refusals_are_as_described(http, open_page) -> None:
    for method, path, body, status, code in REFUSED:
        where = path.format(account="none", task_id="none", session_id="none")
        answer = await http.request(method.upper(), where, json=body)
        open_page.hold(method, path, answer)
        error_of(answer, status, code)


async def test_what_exists_already_is_refused_as_described(http, open_page) -> None:
    for path, body in (
        (f"{API}/fs/mkdir", {"uri": "viking://resources/x"}),
        (f"{API}/admin/accounts", {"account_id": "acme", "admin_user_id": "ann"}),
        (WRITE, {"uri": "viking://resources/a.md", "content": "a", "mode": "create"}),
        (f"{API}/sessions", {"session_id": "s"}),
    ):
        open_page.hold("post", path, await http.post(path, json=body))
        again = await http.post(path, json=body)
        assert again.status_code == 409
        open_page.hold("post", path, again)


async def test_without_a_key_the_refusal_is_as_described(page) -> None:
    async with calling(app_of(FakeHouse(), ServerRules(api_key="k"))) as http:
        for method, path, _ in page.operations():
            if path.startswith(API):
                answer = await http.request(method.upper(), path)
                assert page.hold(method, path, answer)["error"]["code"] == "UNAUTHENTICATED"
                error_of(answer, 401, "UNAUTHENTICATED")


async def test_the_page_for_people_shows_every_route_field_and_example(api, open_page) -> None:
    answer = await api.http.get("/docs")
    assert answer.headers["content-type"].startswith("text/html")
    for method, path, operation in open_page.operations():
        assert f"<code>{method.upper()} {path}</code>" in answer.text
        for one in operation.get("parameters", []):
            assert f"<code>{one['name']}</code>" in answer.text
        content = operation.get("requestBody", {}).get("content", {}).get(JSON, {})
        for shown in content.get("examples", {}).values():
            assert shown["summary"] in answer.text
    assert "integer 1..100 = 10" in answer.text
    assert "<script" not in answer.text
