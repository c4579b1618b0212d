"""Typical mistakes of a first call: each message alone is enough to correct it."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx
import pytest
import pytest_asyncio

from tests.api.caller import FIND, error_of
from tests.api.living import ROOT_KEY, Tenant, town

pytestmark = pytest.mark.asyncio(loop_scope="module")

JSON = {"content-type": "application/json"}
NOTHING = (
    "expected a text, or at least one of filter, context_type, tags, since, until "
    "(target_uri or level alone select nothing)"
)
A_TIME = "an ISO 8601 time, a date YYYY-MM-DD, or a number with s, m, h, d or w such as 7d"
ONE_FLAG = "true, false or an object with the boolean 'summary' alone"
SEND_KEY = "send it as 'X-API-Key: KEY' or 'Authorization: Bearer KEY'"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def ann(tmp_path_factory) -> AsyncIterator[Tenant]:
    async with town(tmp_path_factory.mktemp("mistakes")) as place:
        yield await place.tenant("acme")


async def sent(
    ann: Tenant, content: str, headers: Mapping[str, str] = JSON, **how: Any
) -> httpx.Response:
    """Send a body as a shell would, with a good key unless `headers` say otherwise."""
    method, path = how.get("method", "POST"), how.get("path", FIND)
    key = how.get("key", ann.key)
    return await ann.http.request(method, path, content=content, headers={**key, **headers})


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ({}, f"no key was sent; {SEND_KEY}"),
        ({"api-key": "K"}, f"no key was sent; {SEND_KEY}"),
        (
            {"Authorization": "K"},
            f"no key was sent (Authorization: K is not understood); {SEND_KEY}",
        ),
        (
            {"Authorization": "Basic eDp5"},
            f"no key was sent (Authorization: Basic is not understood); {SEND_KEY}",
        ),
    ],
)
async def test_a_key_in_the_wrong_header(ann, key, message):
    answer = await sent(ann, '{"query":"x"}', key=key)
    assert error_of(answer, 401, "UNAUTHENTICATED")["message"] == message


async def test_the_root_key_instead_of_a_user_key(ann):
    answer = await sent(ann, '{"query":"x"}', key=ROOT_KEY)
    assert error_of(answer, 403, "PERMISSION_DENIED")["message"] == (
        "the root key is bound to no tenant and cannot touch data; create a user key with "
        "POST /api/v1/admin/accounts (or contextfind keys create) and use that one"
    )


async def test_get_instead_of_post(ann):
    answer = await sent(ann, "", {}, method="GET", path=f"{FIND}?query=x")
    message = error_of(answer, 405, "INVALID_ARGUMENT")["message"]
    assert message == "method is 'GET'; /api/v1/search/find expects POST"


@pytest.mark.parametrize(
    "path", ["/find", "/search/find", f"{FIND}/", "/api/v1/search/fnd", "/api/search/find"]
)
async def test_a_path_that_is_not_quite_right(ann, path):
    answer = await sent(ann, '{"query":"x"}', path=path)
    assert error_of(answer, 404, "NOT_FOUND")["message"] == (
        f"no route {path}; did you mean /api/v1/search/find? GET /docs lists them all"
    )


@pytest.mark.parametrize("kind", [{}, {"content-type": "application/x-www-form-urlencoded"}])
async def test_no_content_type(ann, kind):
    answer = await sent(ann, '{"query":"x"}', kind)
    assert error_of(answer, 400, "INVALID_ARGUMENT")["message"] == (
        "the body was not sent as JSON; "
        "expected a JSON object with the header Content-Type: application/json"
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"query":', "the body is no JSON: Expecting value at character 9"),
        (
            "{'query':'x'}",
            "the body is no JSON: Expecting property name enclosed in double quotes at character 1",
        ),
        ("", "the body is missing; expected a JSON object"),
        ('["x"]', "the body is ['x']; expected a JSON object"),
        ('"x"', "the body is 'x'; expected a JSON object"),
        ('{"query":"a\nb"}', "the body is no JSON: Invalid control character at character 11"),
    ],
)
async def test_a_body_that_is_no_json_object(ann, content, message):
    answer = await sent(ann, content)
    assert error_of(answer, 400, "INVALID_ARGUMENT")["message"] == message


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"querry": "x"}, "'querry' (did you mean 'query'?)"),
        ({"Query": "x"}, "'Query' (did you mean 'query'?)"),
        (
            {"max_results": 3, "text": "x"},
            "'max_results', 'text'",
        ),
        ({"querry": "x", "limit": 5}, "'querry' (did you mean 'query'?)"),
        (
            {"tag": ["a=b"], "target": "x"},
            "'tag' (did you mean 'tags'?), 'target' (did you mean 'target_uri'?)",
        ),
    ],
)
async def test_a_misspelt_field_of_a_find_that_then_asks_nothing(ann, body, told):
    answer = await ann.find(**body)
    assert error_of(answer, 400, "INVALID_ARGUMENT")["message"] == (
        f"query is ''; {NOTHING}; not known, and ignored: {told}"
    )


async def test_a_misspelt_field_of_a_find_that_asks_something_is_named(ann):
    answer = await ann.find(query="x", max_results=3)
    assert answer.status_code == 200
    assert answer.headers["x-ignored-fields"] == "max_results"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"query": 5}, "query is 5; expected text"),
        ({"query": ["a"]}, "query is ['a']; expected text"),
        ({"query": ""}, f"query is ''; {NOTHING}"),
        ({"limit": "many"}, "limit is 'many'; expected a whole number"),
        ({"limit": 2.5}, "limit is 2.5; expected a whole number"),
        ({"limit": True}, "limit is True; expected a number, not true or false"),
        ({"limit": 0}, "limit is 0; expected at least 1"),
        ({"node_limit": 500}, "node_limit is 500; expected at most 100"),
        ({"score_threshold": 80}, "score_threshold is 80; expected at most 1"),
        ({"score_threshold": "high"}, "score_threshold is 'high'; expected a number"),
        (
            {"level": 3},
            "level is 3; expected 0, 1 or 2, a list of these, or text such as '0,2'",
        ),
        (
            {"context_type": "memories"},
            "context_type is 'memories'; expected memory, resource, skill, or several of these",
        ),
        ({"tags": "team=docs"}, "tags is 'team=docs'; expected a list"),
        ({"tags": {"team": "docs"}}, "tags is {'team': 'docs'}; expected a list"),
        (
            {"tags": ["team:docs"]},
            "tags[0] is 'team:docs'; expected key=value with exactly one '='",
        ),
        ({"tags": [1]}, "tags[0] is 1; expected text"),
        ({"since": "yesterday"}, f"since is 'yesterday'; expected {A_TIME}"),
        (
            {"since": "2026-12-01", "until": "2026-11-01"},
            "since is '2026-12-01' and until is '2026-11-01'; expected since not to be after until",
        ),
        ({"since": 7}, "since is 7; expected text"),
        (
            {"time_field": "modified"},
            "time_field is 'modified'; expected 'updated_at' or 'created_at'",
        ),
        ({"read_content": "maybe"}, "read_content is 'maybe'; expected true or false"),
        ({"telemetry": {"full": True}}, f"telemetry is {{'full': True}}; expected {ONE_FLAG}"),
        ({"filter": "level=2"}, "filter is 'level=2'; expected an object such as"),
        ({"filter": {"op": "eq"}}, "filter.op is 'eq'; expected one of must, must_not"),
        (
            {"filter": {"op": "must", "field": "size", "conds": [1]}},
            "filter.field is 'size'; expected one of context_type, level",
        ),
        (
            {"image_url": "data:image/png;base64,iVBORw0KGgo="},
            "image_url is set, but the configured embedder takes text only; expected no image_url.",
        ),
        ({"image_url": 5}, "image_url is 5; expected text"),
    ],
)
async def test_a_value_of_the_wrong_kind(ann, body, message):
    told = error_of(await ann.find(**{"query": "x", **body}), 400, "INVALID_ARGUMENT")["message"]
    exact = "filter" not in body and not str(body.get("image_url", "")).startswith("data:")
    assert told == message if exact else told.startswith(message)


@pytest.mark.parametrize(
    ("uri", "reason"),
    [
        ("resources/docs", "must start with viking://"),
        ("/docs", "must start with viking://"),
        ("viking://docs", "has an unknown scope; known are resources, user, agent and ~"),
        ("viking://resources/../docs", "has a dotted segment"),
    ],
)
async def test_a_bad_address(ann, uri, reason):
    error = error_of(await ann.find(query="x", target_uri=uri), 400, "INVALID_URI")
    assert error["message"] == f"target_uri: address {uri!r} {reason}"


async def test_several_mistakes_are_all_listed(ann):
    error = error_of(await ann.find(query=5, limit=0, level=9), 400, "INVALID_ARGUMENT")
    assert error["message"] == "query is 5; expected text (and 2 more)"
    assert [one["message"] for one in error["details"]["validation_errors"]] == [
        "query is 5; expected text",
        "level is 9; expected 0, 1 or 2, a list of these, or text such as '0,2'",
        "limit is 0; expected at least 1",
    ]


@pytest.mark.parametrize("field", ["since", "until", "context_type", "tags", "target_uri", "limit"])
async def test_a_very_long_value_is_cut_in_the_message(ann, field):
    long = "9" * 50_000
    answer = await ann.find(query="x", **{field: [long] if field == "tags" else long})
    assert answer.status_code == 400
    assert len(answer.text) < 1_500
