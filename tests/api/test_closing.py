"""A server that has been told to stop: what comes is refused, what waits ends, what runs is finished."""

import asyncio
from pathlib import Path

import httpx
import pytest

from contextfind.wiring import House
from tests.api.caller import FIND, app_of, calling, error_of, result_of
from tests.api.fake_house import FakeHouse
from tests.api.living import HASH, Settings, create_app
from tests.backends import storage_in


async def test_what_comes_then_is_refused_and_its_connection_ends() -> None:
    app = app_of(FakeHouse())
    async with calling(app) as http:
        result_of(await http.post(FIND, json={"query": "x"}))
        app.state.premises.closing.begin()
        for answer in (await http.post(FIND, json={"query": "x"}), await http.get("/ready")):
            assert error_of(answer, 503, "UNAVAILABLE")["details"]["retryable"] is True
            assert answer.headers["retry-after"] == "2"
            assert answer.headers["connection"] == "close"


async def test_what_runs_is_finished_and_its_connection_ends() -> None:
    house = FakeHouse()
    house.finder.seconds = 0.05
    app = app_of(house)
    async with calling(app) as http:
        running = asyncio.create_task(http.post(FIND, json={"query": "x"}))
        while not house.finder.asked:  # noqa: ASYNC110 - a fake says nothing
            await asyncio.sleep(0)
        app.state.premises.closing.begin()
        app.state.premises.closing.begin()
        answer = await running
    assert result_of(answer)["total"] == 0
    assert answer.headers["connection"] == "close"


async def waiting(http: httpx.AsyncClient, path: str, body: dict[str, object]) -> httpx.Response:
    return await http.post(f"/api/v1/{path}", json={**body, "timeout": 600})


@pytest.mark.parametrize(
    ("path", "body", "told"),
    [
        ("system/wait", {}, "can be found after its restart"),
        (
            "content/write",
            {"uri": "viking://resources/b.md", "content": "b", "wait": True},
            "can be found after its restart",
        ),
        ("resources", {"path": "PATH", "wait": True}, "goes on after its restart"),
    ],
)
async def test_a_wait_ends_at_once_and_says_what_goes_on(
    tmp_path: Path, path: str, body: dict[str, object], told: str
) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "a.md").write_text("some text")
    settings = Settings(
        storage=storage_in(tmp_path / "data"),
        embedding=HASH,
        server={"allowed_paths": [str(tmp_path)]},
    )
    app = create_app(lambda: House.open(settings))
    async with calling(app) as http:
        house = await app.state.premises.door.house()
        for shift in house._workers.shifts.values():
            shift.task.cancel()  # nothing will ever be found
        if path == "system/wait":
            write = {"uri": "viking://resources/c.md", "content": "c"}
            result_of(await http.post("/api/v1/content/write", json=write))
        if "path" in body:
            body = {**body, "path": str(tmp_path / "tree")}
        request = asyncio.create_task(waiting(http, path, body))
        while not app.state.premises.closing._waits:
            await asyncio.sleep(0.01)
            assert not request.done(), request.result().text
        app.state.premises.closing.begin()
        async with asyncio.timeout(30):
            answer = await request
    error = error_of(answer, 503, "UNAVAILABLE")
    assert told in error["message"]
    assert error["details"] == {"retryable": True, "retry_after_seconds": 2}
