"""Callers that hang up: what was begun for them ends, and nothing of it is left."""

import asyncio
import json
from typing import Any

import pytest
from starlette.types import Message

from contextfind.server.rules import ServerRules
from tests.api.caller import app_of, calling
from tests.api.fake_house import FakeHouse, FakeTree

WRITTEN = {"uri": "viking://resources/a.md", "content": "x", "wait": True}


@pytest.mark.parametrize(
    ("route", "body"),
    [
        ("search/find", {"query": "x"}),
        ("search/search", {"query": "x"}),
        ("skills/find", {"query": "x"}),
        ("system/wait", {}),
        ("content/write", WRITTEN),
        ("resources", {"temp_file_id": "upload_1", "wait": True}),
    ],
)
async def test_what_a_caller_waited_for_is_cancelled_when_it_hangs_up(route, body):
    house = FakeHouse()
    house.finder.seconds = house.settling.seconds = house.jobs.seconds = 600
    app = app_of(house, ServerRules(answer_seconds=600.0))
    async with calling(app):
        there = asyncio.all_tasks()
        watched, gone, sent = asyncio.Event(), asyncio.Event(), asyncio.Queue[Message]()
        sent.put_nowait({"type": "http.request", "body": json.dumps(body).encode()})
        answers: list[Message] = []

        async def receive() -> Message:
            if not sent.empty():
                return sent.get_nowait()
            watched.set()
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            answers.append(message)

        request = asyncio.create_task(app(_scope(route), receive, send))
        async with asyncio.timeout(10):
            await watched.wait()
        assert house.finder.asked or house.settling.asked or house.jobs.patience
        assert not request.done()
        gone.set()
        async with asyncio.timeout(10):
            await request
        assert asyncio.all_tasks() == there
        assert answers[0]["status"] == 504  # that nobody reads
        told = app.state.premises.measures.latencies()
        assert list(told) == [("POST", f"/api/v1/{route}", 499)]  # no fault of the server


class HangingTree(FakeTree):
    """Never gives a text, and notes who stopped waiting for it."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.ended = asyncio.Event(), asyncio.Event()

    async def read(self, identity, uri):  # noqa: ARG002 - whosever text it is
        self.begun.set()
        try:
            await asyncio.sleep(600)
        finally:
            self.ended.set()


@pytest.mark.parametrize("seconds", [0.05, 600.0])
async def test_a_read_ends_with_its_time_and_with_its_caller(seconds):
    house, answers = FakeHouse(), []
    tree = house.browser = HangingTree()
    app = app_of(house, ServerRules(answer_seconds=seconds))
    async with calling(app):

        async def receive() -> Message:
            if seconds > 1:
                await tree.begun.wait()
                return {"type": "http.disconnect"}
            await asyncio.Event().wait()
            raise AssertionError

        async def send(message: Message) -> None:
            answers.append(message)

        scope = _scope("content/read") | {
            "method": "GET",
            "query_string": b"uri=viking://resources/a",
        }
        async with asyncio.timeout(10):
            await app(scope, receive, send)
    assert tree.ended.is_set()
    assert answers[0]["status"] == 504


async def test_what_a_stop_of_the_server_cuts_off_is_answered():
    house = FakeHouse()
    house.finder.seconds = 600
    app = app_of(house)
    async with calling(app):
        begun = asyncio.Event()
        answers: list[Message] = []

        async def receive() -> Message:
            if house.finder.asked:
                begun.set()
                await asyncio.Event().wait()
            return {"type": "http.request", "body": b'{"query": "x"}'}

        async def send(message: Message) -> None:
            answers.append(message)

        request = asyncio.create_task(app(_scope("search/find"), receive, send))
        await begun.wait()
        request.cancel()
        with pytest.raises(asyncio.CancelledError):
            await request
    assert answers[0]["status"] == 503
    error = json.loads(answers[1]["body"])["error"]
    assert error["code"] == "UNAVAILABLE"
    assert error["details"] == {"retryable": True}


async def test_an_answer_in_time_leaves_no_task_behind(api):
    there = asyncio.all_tasks()
    await api.find(query="x")
    assert asyncio.all_tasks() == there


def _scope(route: str) -> dict[str, Any]:
    return {
        "type": "http",
        "method": "POST",
        "path": f"/api/v1/{route}",
        "query_string": b"",
        "headers": [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")],
        "client": ("127.0.0.1", 1),
    }
