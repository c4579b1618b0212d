"""GET /metrics, and the line about every request."""

import json
import logging

import pytest
from prometheus_client.parser import text_string_to_metric_families

from contextfind import __version__
from contextfind.config.model import EmbeddingSettings
from contextfind.domain.identity import Identity
from contextfind.server.bookkeeping import RequestLine
from contextfind.server.rules import ServerRules
from tests.api.caller import FIND, app_of, calling, error_of, result_of
from tests.api.fake_house import FakeHouse
from tests.api.living import living
from tests.stubs.embedder import stub_embedder

KEYS = ServerRules(api_key="tenant", root_api_key="root", metrics_key="scraper")


async def scraped(http, **headers: str) -> dict[str, dict[tuple[str, ...], float]]:
    """Return sample name -> values of its labels -> value."""
    response = await http.get("/metrics", headers=headers)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"].startswith("text/plain")
    found: dict[str, dict[tuple[str, ...], float]] = {}
    for family in text_string_to_metric_families(response.text):
        for sample in family.samples:
            found.setdefault(sample.name, {})[tuple(sample.labels.values())] = sample.value
    return found


def line_of(caplog: pytest.LogCaptureFixture, route: str) -> tuple[str, RequestLine]:
    """Return level and content of the last line about a route."""
    found = [
        (record.levelname, record.msg)
        for record in caplog.records
        if isinstance(record.msg, RequestLine) and record.msg.route == route
    ]
    return found[-1]


async def test_requests_are_counted_by_route_and_status_with_their_time(api) -> None:
    result_of(await api.find(query="x"))
    await api.find(query="x", limit=0)
    await api.http.get("/api/v1/tasks/job1")
    await api.http.get("/api/v1/tasks/job2")
    await api.http.get("/no/such/route")
    await api.http.request("BREW", "/coffee")
    told = await scraped(api.http)
    assert {
        kind: value
        for kind, value in told["contextfind_request_seconds_count"].items()
        if kind[1] != "/metrics"
    } == {
        ("POST", FIND, "200"): 1,
        ("POST", FIND, "400"): 1,
        ("GET", "/api/v1/tasks/{task_id}", "404"): 2,  # as declared: never a label for each task
        ("GET", "-", "404"): 1,
        ("other", "-", "404"): 1,
    }
    buckets = {
        kind[0]: value
        for kind, value in told["contextfind_request_seconds_bucket"].items()
        if kind[1:] == ("POST", FIND, "200")
    }
    assert buckets["+Inf"] == 1
    assert sorted(buckets.values()) == list(buckets.values())
    assert told["contextfind_requests_in_flight"][()] == 1  # the one that asks
    assert told["contextfind_build_info"] == {(__version__,): 1}
    assert told["contextfind_requests_waiting"][()] == 0
    assert told["contextfind_answer_bytes_total"][()] > 0


async def test_a_real_house_tells_what_it_has_what_waits_and_what_it_did(tmp_path) -> None:
    async with living(tmp_path / "data") as http:
        for name in ("a", "b"):
            body = {"uri": f"viking://resources/{name}.md", "content": f"word {name}", "wait": True}
            result_of(await http.post("/api/v1/content/write", json=body))
        for _ in range(3):
            result_of(await http.post(FIND, json={"query": "word"}))
        params = {"uri": "viking://resources/a.md"}
        result_of(await http.delete("/api/v1/fs", params=params))
        result_of(await http.post("/api/v1/system/wait", json={}))
        told = await scraped(http)
    assert told["contextfind_files_written_total"][()] == 2
    assert told["contextfind_passages_written_total"][()] >= 2
    assert told["contextfind_records_removed_total"][()] == 1
    assert told["contextfind_texts_embedded_total"][()] >= 2
    assert told["contextfind_question_vectors_total"] == {("remembered",): 2, ("asked",): 1}
    assert told["contextfind_index_records"][()] >= 1
    assert told["contextfind_index_lag"][()] == 0
    assert told["contextfind_log_position"][()] == told["contextfind_index_position"][()] > 0
    assert told["contextfind_backlog"] == {("texts",): 0, ("directories",): 0}
    assert told["contextfind_tasks"] == {("pending",): 0, ("running",): 0}
    assert told["contextfind_data_bytes"][("database",)] > 0
    assert sum(told["contextfind_index_probes_total"].values()) > 0
    assert told["contextfind_event_loop_tasks"][()] > 0
    assert told["contextfind_threads"][()] > 1
    assert told["process_resident_memory_bytes"][()] > 1e6
    assert told["process_open_fds"][()] > 3


@pytest.mark.parametrize(
    ("key", "status"), [("root", 200), ("tenant", 200), ("scraper", 200), ("ann", 403), ("x", 401)]
)
async def test_figures_of_all_tenants_are_for_configured_keys(key: str, status: int) -> None:
    house = FakeHouse()
    await house.identities.let_in("ann", Identity("acme", "ann", "admin"))
    async with calling(app_of(house, KEYS)) as http:
        response = await http.get("/metrics", headers={"Authorization": f"Bearer {key}"})
        assert response.status_code == status, response.text
        error_of(await http.get("/metrics"), 401, "UNAUTHENTICATED")


async def test_the_key_for_metrics_opens_nothing_else() -> None:
    async with calling(app_of(FakeHouse(), KEYS), **{"X-API-Key": "scraper"}) as http:
        error_of(await http.post(FIND, json={"query": "x"}), 401, "UNAUTHENTICATED")


async def test_without_keys_no_page_elsewhere_reads_them(api) -> None:
    response = await api.http.get("/metrics", headers={"Host": "evil.example"})
    error_of(response, 403, "PERMISSION_DENIED")


async def test_wrong_keys_for_metrics_count_as_guesses() -> None:
    rules = ServerRules(root_api_key="root", metrics_key="scraper", wrong_keys_per_minute=2)
    async with calling(app_of(FakeHouse(), rules)) as http:
        for guess in ("a", "b"):
            await http.get("/metrics", headers={"X-API-Key": guess})
        late = await http.get("/metrics", headers={"X-API-Key": "scraper"})
        error_of(late, 429, "RESOURCE_EXHAUSTED")


async def test_a_house_that_hangs_costs_its_own_figures_only() -> None:
    house = FakeHouse()
    house.readiness_seconds = 5
    async with calling(app_of(house, ServerRules(ready_seconds=0.02))) as http:
        told = await scraped(http)
    assert "contextfind_index_rows" not in told
    assert told["contextfind_requests_in_flight"][()] == 1


async def test_a_line_says_who_asked_for_what_and_how_it_ended(caplog) -> None:
    house = FakeHouse()
    await house.identities.let_in("cf_secret", Identity("acme", "ann", "user"))
    caplog.set_level(logging.DEBUG, "contextfind.access")
    async with calling(app_of(house, KEYS)) as http:
        mine = {"X-API-Key": "cf_secret", "X-Request-ID": "mine-1"}
        found = await http.post(FIND, json={"query": "a private question"}, headers=mine)
        await http.post(FIND, json={"query": "a private question"}, headers={"X-API-Key": "cf_no"})
        await http.get("/api/v1/tasks/cf_secret", headers=mine)
        await http.get("/health")
    level, line = line_of(caplog, "/api/v1/tasks/{task_id}")
    assert (level, line.status) == ("INFO", 404)
    assert line_of(caplog, "/health")[0] == "DEBUG"
    refused, told = [
        record.msg
        for record in reversed(caplog.records)
        if isinstance(record.msg, RequestLine) and record.msg.route == FIND
    ]
    assert told.fields() == {
        "request_id": "mine-1",
        "account": "acme",
        "user": "ann",
        "method": "POST",
        "route": FIND,
        "status": 200,
        "duration_ms": told.fields()["duration_ms"],
        "bytes": len(found.content),
    }
    assert (refused.status, refused.account, refused.user) == (401, "", "")
    assert "private" not in caplog.text
    assert "cf_" not in caplog.text
    assert json.dumps(told.fields())


async def test_what_the_server_could_not_do_is_a_warning(caplog) -> None:
    house = FakeHouse()
    house.finder.fault = RuntimeError("broken")
    async with calling(app_of(house)) as http:
        await http.post(FIND, json={"query": "x"})
    assert line_of(caplog, FIND)[0] == "WARNING"


async def test_models_behind_http_are_told_with_their_calls_and_whether_they_are_down(
    tmp_path,
) -> None:
    with stub_embedder() as model:
        settings = EmbeddingSettings(
            provider="openai", model="m", api_base=model.base_url, dimension=8
        )
        async with living(tmp_path / "data", embedding=settings) as http:
            result_of(await http.post(FIND, json={"query": "x"}))
            told = await scraped(http)
    assert told["contextfind_model_calls_total"][("embedder",)] >= 1
    assert told["contextfind_model_failures_total"][("embedder",)] == 0
    assert told["contextfind_model_down"][("embedder",)] == 0
