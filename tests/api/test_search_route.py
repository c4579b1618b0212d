"""search/search: all of find, a session, and the plan."""

import pytest

from contextfind.domain.images import RemoteImage
from contextfind.domain.queries import QueryPlan
from contextfind.domain.results import FindResult
from contextfind.domain.uri import Uri
from contextfind.server.wire.find import FindBody
from contextfind.server.wire.search import SearchBody
from tests.api.caller import FIND, error_of, result_of

SEARCH = "/api/v1/search/search"


async def search(api, **body):
    return await api.http.post(SEARCH, json=body)


async def test_a_search_asks_what_a_find_asks(api):
    body = {
        "query": "rollback",
        "target_uri": "viking://resources/a",
        "limit": 3,
        "tags": ["a=b"],
        "since": "7d",
        "score_threshold": 0.2,
        "read_content": True,
        "include_provenance": True,
    }
    await api.http.post(FIND, json=body)
    await search(api, **body, session_id="s")
    (_, found), (_, searched) = api.house.finder.asked
    assert searched == found
    assert set(FindBody.model_fields) < set(SearchBody.model_fields)


async def test_the_plan_is_told_query_by_query(api):
    result = result_of(await search(api, query="x"))
    assert set(result) == {"memories", "resources", "skills", "total", "query_plan"}
    assert result["query_plan"] == {
        "reasoning": "because",
        "queries": [{"query": "x", "context_type": "skill", "intent": "learn", "priority": 2}],
    }


async def test_a_plan_without_queries_is_told_too(api):
    api.house.searcher.plan = QueryPlan((), "small talk")
    result = result_of(await search(api, query="hi"))
    assert result["query_plan"] == {"reasoning": "small talk", "queries": []}


@pytest.mark.parametrize(
    ("sent", "session"),
    [({"session_id": "s1"}, "s1"), ({"session_id": " "}, ""), ({"session_id": None}, ""), ({}, "")],
)
async def test_a_session_is_named_and_a_blank_one_is_none(api, sent, session):
    response = await search(api, query="x", **sent)
    assert "x-ignored-fields" not in response.headers
    assert api.house.searcher.sessions == [session]


async def test_a_find_knows_no_session(api):
    response = await api.find(query="x", session_id="s")
    assert response.headers["x-ignored-fields"] == "session_id"
    assert "query_plan" not in result_of(response)


async def test_notes_unknown_targets_and_telemetry_are_those_of_a_find(api):
    gone = (Uri("viking://resources/b"),)
    api.house.finder.answer = FindResult(
        (), (), (), unknown_targets=gone, notes=["not reranked: it is down"]
    )
    response = await search(api, query="x", telemetry=True)
    assert response.headers["x-unknown-targets"] == "viking://resources/b"
    assert response.headers["x-notes"] == "not%20reranked:%20it%20is%20down"
    summary = response.json()["telemetry"]["summary"]
    assert summary["operation"] == "search.search"
    assert summary["notes"] == ["not reranked: it is down"]


async def test_a_picture_may_be_searched_by(api):
    await search(api, image_url="https://example.org/a.png")
    assert api.house.finder.question.image == RemoteImage("https://example.org/a.png")


@pytest.mark.parametrize(
    "body", [{}, {"query": " "}, {"query": "x", "limit": 0}, {"query": "x", "session_id": 3}]
)
async def test_what_a_find_refuses_a_search_refuses(api, body):
    error_of(await search(api, **body), 400, "INVALID_ARGUMENT")
    assert api.house.finder.asked == []
