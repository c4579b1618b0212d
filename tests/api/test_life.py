import asyncio

import pytest

from contextfind import __version__
from contextfind.domain.errors import StoreBusyError
from contextfind.server import lodging
from contextfind.server.rules import ServerRules
from tests.api.caller import FIND, app_of, calling, error_of, result_of
from tests.api.fake_house import FakeHouse

SLOW = ServerRules(opening_seconds=0.01, patience_seconds=0.05)


async def test_health_is_what_clients_look_for(api):
    response = await api.http.get("/health")
    assert response.status_code == 200
    assert response.json() == {
        "status": "ok",
        "healthy": True,
        "version": f"0.5.2+contextfind.{__version__}",
        "auth_mode": "dev",
    }


@pytest.mark.parametrize("path", ["/health", "/ready"])
async def test_a_probe_may_ask_for_the_headers_alone(api, path):
    assert (await api.http.head(path)).status_code == 200


async def test_ready_says_one_line_per_component(api):
    response = await api.http.get("/ready")
    assert response.status_code == 200
    assert response.json() == {"status": "ready", "checks": {"store": "ok", "index": "ok"}}


async def test_one_component_that_does_not_work_makes_the_server_not_ready(api):
    api.house.checks["index"] = "still being built"
    response = await api.http.get("/ready")
    assert response.status_code == 503
    assert response.json()["status"] == "not_ready"
    assert response.json()["checks"]["index"] == "still being built"


async def test_models_that_are_down_are_named_and_take_no_server_out_of_a_balancer(api):
    api.house.models_of |= {"embedder": "down: connection refused", "chat": "answered 401: no"}
    response = await api.http.get("/ready")
    assert response.status_code == 200
    assert response.json() == {
        "status": "ready",
        "checks": {
            "store": "ok",
            "index": "ok",
            "embedder": "down: connection refused",
            "chat": "answered 401: no",
        },
    }


async def test_ready_is_bounded():
    house = FakeHouse()
    house.readiness_seconds = 5
    async with calling(app_of(house, ServerRules(ready_seconds=0.02))) as http:
        response = await http.get("/ready")
    assert response.status_code == 503
    assert response.json()["checks"] == {"store": "no answer within 0.02 s"}


async def test_the_house_is_open_while_the_server_runs_and_closed_after():
    house = FakeHouse()
    async with calling(app_of(house)):
        assert house.is_open
    assert not house.is_open


async def test_health_answers_while_the_house_is_still_opening_and_data_waits_for_it():
    house = FakeHouse()
    house.opening = asyncio.Event()
    async with calling(app_of(house, SLOW)) as http:
        assert (await http.get("/health")).json()["healthy"]
        ready = await http.get("/ready")
        assert (ready.status_code, ready.json()["checks"]) == (503, {"store": "opening"})
        error = error_of(await http.post(FIND, json={"query": "x"}), 503, "UNAVAILABLE")
        assert error["details"] == {"retryable": True}
        find = asyncio.create_task(http.post(FIND, json={"query": "x"}))
        house.opening.set()
        assert result_of(await find)["total"] == 0
        assert (await http.get("/ready")).status_code == 200


async def test_a_house_whose_database_is_busy_is_tried_again_and_says_so(monkeypatch):
    monkeypatch.setattr(lodging, "_AGAIN_SECONDS", 0.01)
    house = FakeHouse()
    house.opening_fault = StoreBusyError("no connection left: raise max_connections", {})
    async with calling(app_of(house, ServerRules(opening_seconds=0.01))) as http:
        ready = await http.get("/ready")
        line = "no connection left: raise max_connections"
        assert (ready.status_code, ready.json()["checks"]) == (503, {"store": line})
        error = error_of(await http.post(FIND, json={"query": "x"}), 503, "UNAVAILABLE")
        assert (error["message"], error["details"]) == (line, {"retryable": True})
        house.opening_fault = None
        async with asyncio.timeout(20):
            while (await http.get("/ready")).status_code != 200:  # noqa: ASYNC110 - as a balancer does
                await asyncio.sleep(0.01)
        assert result_of(await http.post(FIND, json={"query": "x"}))["total"] == 0
    assert not house.is_open


async def test_a_house_that_fails_to_open_stops_the_start_of_the_server():
    house = FakeHouse()
    house.opening_fault = RuntimeError("another process holds the data directory")
    with pytest.raises(RuntimeError, match="another process"):
        async with calling(app_of(house)):
            pytest.fail("the server started")


async def test_a_server_program_is_told_why_the_start_failed():
    house = FakeHouse()
    house.opening_fault = RuntimeError("another process holds the data directory")
    app, said = app_of(house), []

    async def receive():
        return {"type": "lifespan.startup"}

    async def send(message):
        said.append(message)

    with pytest.raises(RuntimeError, match="another process"):
        await app({"type": "lifespan", "asgi": {}, "state": {}}, receive, send)
    assert [message["type"] for message in said] == ["lifespan.startup.failed"]
    assert "another process" in said[0]["message"]


async def test_a_house_that_fails_late_is_not_ready_and_tells_no_secret(caplog):
    house = FakeHouse()
    house.opening = asyncio.Event()
    house.opening_fault = RuntimeError("bad page in /data/secret")
    async with calling(app_of(house, SLOW)) as http:
        house.opening.set()
        response = await http.post(FIND, json={"query": "x"})
        ready = await http.get("/ready")
    assert error_of(response, 503, "UNAVAILABLE")["details"] == {"retryable": False}
    assert ready.status_code == 503
    assert "secret" not in ready.text + response.text
    assert "bad page" in caplog.text


async def test_leaving_before_the_house_is_open_gives_up_the_opening():
    house = FakeHouse()
    house.opening = asyncio.Event()
    async with calling(app_of(house, SLOW)):
        pass
    assert not house.is_open


async def test_two_apps_of_one_process_share_nothing_but_their_routes():
    houses, rules = [FakeHouse(), FakeHouse()], ServerRules(api_key="a")
    apps = [app_of(houses[0], rules), app_of(houses[1], ServerRules(api_key="b"))]
    async with calling(apps[0], **{"X-API-Key": "a"}) as a, calling(apps[1]) as b:
        result_of(await a.post(FIND, json={"query": "x"}))
        error_of(
            await b.post(FIND, json={"query": "x"}, headers={"X-API-Key": "a"}),
            401,
            "UNAUTHENTICATED",
        )
        result_of(await b.post(FIND, json={"query": "y"}, headers={"X-API-Key": "b"}))
    assert [[q.query for _, q in house.finder.asked] for house in houses] == [["x"], ["y"]]
