"""How much at once, how much of it, and how long: a server that is asked too much says so and lives."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from contextfind.domain.errors import (
    DeadlineExceededError,
    ResourceExhaustedError,
    UnavailableError,
)
from contextfind.domain.filter_text import MAX_DEPTH, MAX_NODES
from contextfind.domain.identity import Identity
from contextfind.server.app import create_app
from contextfind.server.limits import BodyLimit, Pace
from contextfind.server.rules import ServerRules
from contextfind.server.wire.find import MAX_TAGS, MAX_TARGETS
from tests.api.caller import FIND, Api, app_of, calling, error_of, result_of
from tests.api.fake_house import FakeHouse

ANN, ZOE, ROOT = {"X-API-Key": "cf_ann"}, {"X-API-Key": "cf_zoe"}, {"X-API-Key": "root"}
READ, WRITE = "/api/v1/content/read", "/api/v1/content/write"
UPLOAD, ADD, WAIT = "/api/v1/resources/temp_upload", "/api/v1/resources", "/api/v1/system/wait"
JSON = {"Content-Type": "application/json"}
NEVER = 3_600.0


@dataclass
class Place:
    """A server with two accounts, whose finds take until they are let go."""

    http: httpx.AsyncClient
    house: FakeHouse
    app: FastAPI
    under_way: list[asyncio.Task[httpx.Response]] = field(default_factory=list)

    async def find(self, key: Mapping[str, str], query: str) -> httpx.Response:
        return await self.http.post(FIND, json={"query": query}, headers=dict(key))

    async def send(self, key: Mapping[str, str], *queries: str) -> None:
        """Send finds, each when the one before has come as far as it can."""
        for query in queries:
            self.under_way.append(asyncio.create_task(self.find(key, query)))
            await self.quiet()

    async def quiet(self) -> None:
        for _ in range(50):
            await asyncio.sleep(0)

    @property
    def asked(self) -> list[str]:
        return [question.query for _, question in self.house.finder.asked]


@asynccontextmanager
async def busy(**rules: Any) -> AsyncIterator[Place]:
    house = FakeHouse()
    await house.identities.let_in("cf_ann", Identity("acme", "ann", "admin"), "key-ann")
    await house.identities.let_in("cf_zoe", Identity("zoo", "zoe", "admin"), "key-zoe")
    house.finder.seconds = NEVER
    app = app_of(house, ServerRules(root_api_key="root", answer_seconds=NEVER, **rules))
    async with calling(app) as http:
        place = Place(http, house, app)
        yield place
        for task in place.under_way:
            task.cancel()
        await asyncio.gather(*place.under_way, return_exceptions=True)


async def test_beyond_the_bound_requests_wait_and_the_accounts_take_turns() -> None:
    async with busy(max_requests=4) as place:
        await place.send(ANN, "a1", "a2", "a3", "a4", "a5")
        await place.send(ZOE, "z1", "z2")
        assert place.asked == ["a1", "a2", "a3", "z1"]
        for task in (place.under_way[0], place.under_way[5], place.under_way[1]):
            task.cancel()
            await place.quiet()
        assert place.asked[4:] == ["a4", "z2", "a5"]


async def test_what_needs_no_key_and_what_waits_for_others_takes_nobodys_place() -> None:
    async with busy(max_requests=1) as place:
        place.house.settling.seconds = NEVER
        waits = [
            place.http.post(WAIT, json={}, headers=ANN),
            place.http.post(
                WRITE,
                json={"uri": "viking://resources/a.md", "content": "x", "wait": True},
                headers=ANN,
            ),
        ]
        for wait in waits:
            place.under_way.append(asyncio.create_task(wait))
            await place.quiet()
        assert len(place.house.settling.asked) == 2
        await place.send(ZOE, "z1")
        assert place.asked == ["z1"]
        for path in ("/health", "/ready", "/docs"):
            assert (await place.http.get(path)).status_code == 200


async def test_a_full_queue_says_when_to_come_again_and_other_accounts_still_come_in() -> None:
    async with busy(max_requests=2, max_waiting=1) as place:
        await place.send(ANN, "a1", "a2")
        refused = await place.find(ANN, "a3")
        error = error_of(refused, 429, "RESOURCE_EXHAUSTED")
        assert "wait" in error["message"]
        assert refused.headers["retry-after"] == "1"
        await place.send(ZOE, "z1")
        assert place.asked == ["a1", "z1"]


async def test_who_waited_too_long_is_told_that_the_server_is_busy() -> None:
    async with busy(max_requests=1, queue_seconds=0.01) as place:
        await place.send(ANN, "a1")
        refused = await place.find(ZOE, "z1")
        assert error_of(refused, 503, "UNAVAILABLE")["details"]["retryable"] is True
        assert refused.headers["retry-after"] == "1"
        read = await place.http.get(READ, params={"uri": "viking://resources/a.md"}, headers=ZOE)
        error_of(read, 503, "UNAVAILABLE")
    assert place.asked == ["a1"]


async def test_a_failure_gives_its_place_back() -> None:
    async with busy(max_requests=1) as place:
        place.house.finder.seconds = 0.0
        place.house.finder.fault = RuntimeError("boom")
        for _ in range(3):
            error_of(await place.find(ANN, "x"), 500, "INTERNAL")
        error_of(await place.http.post(FIND, content=b"{", headers=ANN), 400, "INVALID_ARGUMENT")
        error_of(await place.http.get("/api/v1/nowhere", headers=ANN), 404, "NOT_FOUND")
        place.house.finder.fault = None
        result_of(await place.find(ZOE, "x"))


class Sender:
    """The other end of one request: what it sends, and what it is answered."""

    def __init__(self, *chunks: bytes, path: str = FIND, account: str = "") -> None:
        self.chunks = list(chunks)
        self.status: int | None = None
        self.scope: Scope = {
            "type": "http",
            "method": "POST",
            "path": path,
            "query_string": b"",
            "headers": [(b"content-type", b"application/json"), (b"transfer-encoding", b"chunked")],
            "client": ("127.0.0.1", 1),
            "state": {"identity": Identity(account, "ann", "user")} if account else {},
        }

    async def receive(self) -> Message:
        if not self.chunks:
            await asyncio.Event().wait()
        return {"type": "http.request", "body": self.chunks.pop(0), "more_body": True}

    async def send(self, message: Message) -> None:
        self.status = message.get("status", self.status)


async def reading(scope: Scope, receive: Receive, send: Send) -> None:
    """Stand for an application that reads a whole body."""
    del scope, send
    while (await receive()).get("more_body"):
        pass


async def test_a_body_that_trickles_is_given_up() -> None:
    slow = BodyLimit(reading, ServerRules(), Pace(seconds=0.05, slowest=10_000))
    sender = Sender(b"x" * 500)
    with pytest.raises(DeadlineExceededError, match="500 bytes"):
        await slow(sender.scope, sender.receive, sender.send)


async def test_a_slow_sender_takes_no_place_in_the_house() -> None:
    async with busy(max_requests=1) as place:
        sender = Sender(b'{"query": ')
        sender.scope["headers"].append((b"x-api-key", b"cf_ann"))
        sending = asyncio.create_task(place.app(sender.scope, sender.receive, sender.send))
        await place.quiet()
        await place.send(ZOE, "z1")
        assert place.asked == ["z1"]
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)


async def test_bodies_of_many_requests_together_have_a_bound_and_uploads_have_their_own() -> None:
    limit = BodyLimit(reading, ServerRules(max_body_bytes=1_000, max_upload_bytes=1_000))
    held = [Sender(b"x" * 1_000, account=name) for name in ["acme"] * 4 + ["zoo"] * 4]
    tasks = [asyncio.create_task(limit(one.scope, one.receive, one.send)) for one in held]
    await asyncio.sleep(0)
    late = Sender(b"x", account="late")
    with pytest.raises(UnavailableError, match="as many request bodies as it has room for"):
        await limit(late.scope, late.receive, late.send)
    upload = Sender(b"x" * 1_000, path=UPLOAD)
    tasks.append(asyncio.create_task(limit(upload.scope, upload.receive, upload.send)))
    await asyncio.sleep(0)
    assert not any(task.done() for task in tasks)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    again = Sender(b"x")
    waiting = asyncio.create_task(limit(again.scope, again.receive, again.send))
    await asyncio.sleep(0)
    assert not waiting.done()
    waiting.cancel()


async def test_bodies_of_one_account_leave_a_quarter_of_the_room_to_the_others() -> None:
    limit = BodyLimit(reading, ServerRules(max_body_bytes=1_000))
    held = [Sender(b"x" * 1_000, account="acme") for _ in range(6)]
    tasks = [asyncio.create_task(limit(one.scope, one.receive, one.send)) for one in held]
    await asyncio.sleep(0)
    for _ in range(2):  # who is refused gives back what it brought
        late = Sender(b"x" * 1_000, account="acme")
        with pytest.raises(ResourceExhaustedError, match="requests of your account") as refused:
            await limit(late.scope, late.receive, late.send)
        assert refused.value.details == {"retry_after_seconds": 1, "retryable": True}
    others = [Sender(b"x" * 1_000, account="zoo") for _ in range(2)]
    tasks += [asyncio.create_task(limit(one.scope, one.receive, one.send)) for one in others]
    await asyncio.sleep(0)
    assert not any(task.done() for task in tasks)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_what_a_tool_asks_counts_no_body_again_that_was_counted_at_mcp() -> None:
    @asynccontextmanager
    async def passing_on(app: ASGIApp) -> AsyncIterator[ASGIApp]:
        async def tools(scope: Scope, receive: Receive, send: Send) -> None:
            request = Request(scope, receive)
            way = httpx.ASGITransport(app)
            async with httpx.AsyncClient(transport=way, base_url="http://127.0.0.1") as inside:
                answer = await inside.post(FIND, content=await request.body(), headers=JSON)
            await Response(answer.content)(scope, receive, send)

        yield tools

    house = FakeHouse()
    house.finder.seconds = NEVER
    rules = ServerRules(max_body_bytes=1_000, answer_seconds=NEVER)
    async with calling(create_app(house.open, rules, open_tools=passing_on)) as http:
        bodies = [{"query": f"{at}".ljust(900)} for at in range(6)]
        under_way = [asyncio.create_task(http.post("/mcp", json=body)) for body in bodies]
        async with asyncio.timeout(30):
            while len(house.finder.asked) < len(bodies):
                assert not any(one.done() for one in under_way)
                await asyncio.sleep(0.01)
        assert len(house.finder.asked) == len(bodies)
        for one in under_way:
            one.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"target_uri": ["viking://resources/a"] * (MAX_TARGETS + 1)}, "target_uri has 1001"),
        ({"tags": ["a=b"] * (MAX_TAGS + 1)}, "tags has 201"),
        ({"filter": {"op": "or", "conds": [{"op": "must"}] * (MAX_NODES + 1)}}, "conditions"),
        ({"limit": 101}, "at most 100"),
        ({"image_url": "https://x.example/" + "x" * 3_000}, "2048 characters"),
    ],
)
async def test_lists_and_trees_in_a_question_are_bounded(
    api: Api, body: dict[str, Any], told: str
) -> None:
    error = error_of(await api.find(query="x", **body), 400, "INVALID_ARGUMENT")
    assert told in error["message"]


async def test_a_deep_filter_and_a_deep_body_are_refused_and_break_nothing(api: Api) -> None:
    deep: dict[str, Any] = {"op": "must", "field": "level", "conds": [2]}
    for _ in range(MAX_DEPTH + 1):
        deep = {"op": "and", "conds": [deep]}
    error_of(await api.find(query="x", filter=deep), 400, "INVALID_ARGUMENT")
    for opening in ('{"filter": ' + '{"op":"and","conds":[' * 50_000, "[" * 100_000):
        headers = {"Content-Type": "application/json"}
        answer = await api.http.post(FIND, content=opening.encode(), headers=headers)
        error_of(answer, 400, "INVALID_ARGUMENT")


async def test_a_very_long_query_is_answered_by_its_beginning(api: Api) -> None:
    body = json.dumps({"query": "word " * 200_000}).encode()
    answer = await api.http.post(FIND, content=body, headers={"Content-Type": "application/json"})
    result_of(answer)
