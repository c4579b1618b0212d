"""POST /mcp in front of a real house: the official client, and what is said when something is not there."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import httpx
import httpx2
import pytest
from fastapi import FastAPI
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult

from contextfind.cli.tools import tool_opener
from contextfind.config.model import Settings
from contextfind.server.app import create_app
from contextfind.server.rules import ServerRules
from contextfind.toolbox.reading import READ_CHARS, part_of
from contextfind.wiring import House, Surroundings
from tests.api.caller import app_of, calling, error_of
from tests.api.fake_house import FakeHouse
from tests.api.living import HASH
from tests.backends import storage_in

NOTE = "viking://resources/notes/a.md"
Mode = Literal["auto", "legacy"]
JSON = {"Accept": "application/json, text/event-stream"}


def app_at(data: Path, **bounds: Any) -> FastAPI:
    rules = ServerRules(**bounds)
    settings = Settings(storage=storage_in(data), embedding=HASH)
    return create_app(
        lambda: House.open(settings),
        rules,
        open_tools=tool_opener(rules, Surroundings.real().clock),
    )


def app_of_nothing(**bounds: Any) -> FastAPI:
    """Return an app that is asked for no data."""
    rules = ServerRules(**bounds)
    opener = tool_opener(rules, Surroundings.real().clock)
    return create_app(FakeHouse().open, rules, open_tools=opener)


@asynccontextmanager
async def agent(app: FastAPI, mode: Mode = "auto") -> AsyncIterator[Client]:
    """Give the official client of a running app; legacy: with the handshake of 2025."""
    inside = httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://127.0.0.1")
    spoken = streamable_http_client("http://127.0.0.1/mcp", http_client=inside)
    async with inside, Client(spoken, mode=mode) as client:
        yield client


@asynccontextmanager
async def served(data: Path, mode: Mode = "auto") -> AsyncIterator[Client]:
    app = app_at(data)
    async with app.router.lifespan_context(app), agent(app, mode) as client:
        yield client


async def told(client: Client, tool: str, **arguments: Any) -> str:
    """Return the text of a call that must succeed."""
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, text_of(answer)
    return text_of(answer)


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    """Return the text of a call that must fail."""
    answer = await client.call_tool(tool, arguments)
    assert answer.is_error, text_of(answer)
    return text_of(answer)


def text_of(answer: CallToolResult) -> str:
    (part,) = answer.content
    assert part.type == "text"
    return part.text


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_what_is_written_is_found_read_edited_and_forgotten(
    tmp_path: Path, mode: Mode
) -> None:
    async with served(tmp_path, mode) as client:
        assert "can be found now" in await told(
            client, "write", uri=NOTE, content="# Rollback\n\nDeploy 7741 goes back.\n"
        )
        found = await client.call_tool("find", {"query": "Deploy 7741"})
        assert NOTE in text_of(found)
        assert found.structured_content is not None
        assert NOTE in [hit["uri"] for hit in found.structured_content["hits"]]
        assert "7741" in await told(client, "read", uris=NOTE)
        await told(client, "edit", uri=NOTE, old_text="7741", new_text="7742")
        assert f"{NOTE}\n  3: Deploy 7742" in await told(client, "grep", pattern=["77[45]2", "xyz"])
        assert NOTE in await told(client, "glob", pattern="**/*.md")
        assert "notes/" in await told(client, "list", uri="viking://resources")
        assert "notes/a.md (" in await told(client, "tree")
        assert "Removed" in await told(client, "forget", uri=NOTE)
        assert "Nothing was stored" in await told(client, "forget", uri=NOTE)
        assert "No address" in await told(client, "glob", pattern="**/*.md")


async def test_a_memory_is_kept_once_and_added_to(tmp_path: Path) -> None:
    async with served(tmp_path) as client:
        said = {"text": "The user likes short answers.", "kind": "preference"}
        first = await client.call_tool("remember", said)
        assert first.structured_content is not None
        uri = first.structured_content["uri"]
        assert "short answers" in await told(client, "find", query="short", context_type="memory")
        assert "already" in await told(client, "remember", **said)
        more = {**said, "text": "Not on Mondays.", "title": "The user likes short answers."}
        assert "Added" in await told(client, "remember", **more)
        kept = await told(client, "read", uris=uri)
        assert "likes short answers" in kept
        assert "Not on Mondays" in kept


async def test_messages_are_archived(tmp_path: Path) -> None:
    app = app_at(tmp_path)
    async with calling(app) as http, agent(app) as client:
        message = {"role": "user", "content": "My locker is number 4242."}
        answer = await client.call_tool("remember", {"messages": [message]})
        assert answer.structured_content is not None
        session = answer.structured_content["session_id"]
        archives = (await http.get(f"/api/v1/sessions/{session}/archives")).json()["result"]
    assert len(archives) == 1


async def test_what_a_model_gets_wrong_is_told_so_that_it_can_put_it_right(tmp_path: Path) -> None:
    async with served(tmp_path) as client:
        await told(client, "write", uri=NOTE, content="one two one")
        expected = {
            ("find", "limit: "): {"query": "x", "limit": 0},
            ("find", "query: "): {},
            ("find", "INVALID_ARGUMENT"): {"query": "x", "tags": ["no tag"]},
            ("find", "INVALID_URI"): {"query": "x", "target_uri": "/etc"},
            ("search", "limit: "): {"query": "x", "limit": 51},
            ("read", "NOT_FOUND"): {"uris": "viking://resources/none.md"},
            ("read", "list it"): {"uris": "viking://resources/notes"},
            ("read", "1 to 20"): {"uris": []},
            ("list", "is a file: read it"): {"uri": NOTE},
            ("tree", "NOT_FOUND"): {"uri": "viking://resources/none"},
            ("grep", "RE2"): {"pattern": "("},
            ("grep", "pattern is empty"): {"pattern": ""},
            ("glob", "NOT_FOUND"): {"pattern": "*", "uri": "viking://resources/none"},
            ("remember", "exactly one"): {},
            ("remember", "letters or digits"): {"text": "!!!"},
            ("write", "ALREADY_EXISTS"): {"uri": NOTE, "content": "x", "mode": "create"},
            ("edit", "does not occur"): {"uri": NOTE, "old_text": "three", "new_text": ""},
            ("edit", "2 times"): {"uri": NOTE, "old_text": "one", "new_text": "1"},
            ("add_resource", "write"): {"path": str(tmp_path)},
            ("add_resource", "not fetched"): {"path": "https://example.org/a.git"},
            ("forget", "recursive"): {"uri": "viking://resources/notes"},
            ("sing", "there is no tool"): {},
        }
        for (tool, part), arguments in expected.items():
            assert part in await refused(client, tool, **arguments), (tool, arguments)
        nothing = dict.fromkeys(("target_uri", "limit", "context_type", "tags", "since"))
        assert NOTE in await told(client, "find", query="one two", **nothing)
        assert "not known: colour" in await told(client, "health", colour="red")


async def test_an_edit_never_writes_over_what_changed_meanwhile(tmp_path: Path) -> None:
    async with served(tmp_path) as client:
        await told(client, "write", uri=NOTE, content="n=0 a b c d e f g h")
        edits = [
            {"uri": NOTE, "old_text": f" {one}", "new_text": f" {one.upper()}"}
            for one in "abcdefgh"
        ]
        answers = await asyncio.gather(*(client.call_tool("edit", edit) for edit in edits))
        text = await told(client, "read", uris=NOTE)
    for edit, answer in zip(edits, answers, strict=True):
        assert (edit["new_text"] in text) is not answer.is_error
        assert not answer.is_error or "CONFLICT" in text_of(answer)


async def test_no_score_is_cut_by_default(tmp_path: Path) -> None:
    """R012: there is no hidden threshold."""
    async with served(tmp_path) as client:
        await told(client, "write", uri=NOTE, content="Nothing to do with the question.")
        asked = {"query": "xylophone"}
        assert NOTE in await told(client, "find", **asked)
        assert "Nothing was found" in await told(client, "find", **asked, min_score=0.35)


async def test_a_long_text_comes_in_parts(tmp_path: Path) -> None:
    lines = [f"line {number}" for number in range(10_000)]
    async with served(tmp_path) as client:
        await told(client, "write", uri=NOTE, content="\n".join(lines))
        read: list[str] = []
        while len(read) < len(lines):
            text = await told(client, "read", uris=NOTE, offset=len(read))
            assert len(text) < READ_CHARS + 200
            read += [line for line in text.split("\n") if line.startswith("line ")]
        some = await told(client, "read", uris=[NOTE, "viking://resources/b.md"], limit=2)
    assert read == lines
    assert "[lines 0 to 1 of 10000; read on with offset=2]" in some
    assert "NOT_FOUND" in some


def test_a_line_that_is_too_long_is_cut_and_the_next_one_can_be_reached() -> None:
    part = part_of("x" * 50 + "\ny", 0, None, 20)
    assert part.shown().startswith("x" * 20 + "\n[lines 0 to 0 of 2, the last one cut")
    assert part_of("x" * 50 + "\ny", 1, None, 20).shown() == "y\n[lines 1 to 1 of 2]"
    assert part_of("y", 7, None, 20).shown() == "[no line 7: there are 1]"


async def test_calls_at_once_need_no_more_seats_than_there_are(tmp_path: Path) -> None:
    """A call that held a seat while its own requests waited for one would wait for ever."""
    app = app_at(tmp_path, max_requests=1)
    async with app.router.lifespan_context(app), agent(app) as client:
        asked = [
            client.call_tool("write", {"uri": f"{NOTE}{n}.md", "content": str(n)}) for n in range(8)
        ]
        assert [answer.is_error for answer in await asyncio.gather(*asked)] == [False] * 8
        assert len((await told(client, "glob", pattern="**/*.md")).splitlines()) == 8


def call(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


INITIALIZE = call(
    "initialize",
    protocolVersion="2025-06-18",
    capabilities={},
    clientInfo={"name": "test", "version": "1"},
)


async def test_any_server_answers_what_another_has_begun(tmp_path: Path) -> None:
    """R159: initialised on one instance, listed on another, called after a restart."""
    listed = call("tools/list")
    called = call("tools/call", name="health", arguments={})
    async with calling(app_at(tmp_path / "one")) as one, calling(app_at(tmp_path / "two")) as two:
        begun = await one.post("/mcp", json=INITIALIZE, headers=JSON)
        assert begun.json()["result"]["serverInfo"]["name"] == "contextfind"
        assert "mcp-session-id" not in begun.headers
        headers = {**JSON, "MCP-Protocol-Version": begun.json()["result"]["protocolVersion"]}
        initialised = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert (await two.post("/mcp", json=initialised, headers=headers)).status_code == 202
        names = [
            tool["name"]
            for tool in (await two.post("/mcp", json=listed, headers=headers)).json()["result"][
                "tools"
            ]
        ]
        assert {"find", "read", "remember", "health"} < set(names)
    async with calling(app_at(tmp_path / "one")) as again:
        answer = (await again.post("/mcp", json=called, headers=headers)).json()["result"]
        assert answer["isError"] is False


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
async def test_both_spellings_answer_and_nothing_streams(path: str) -> None:
    """R160: an MCP answer at /mcp and /mcp/, an envelope for what is not there."""
    async with calling(app_of_nothing()) as http:
        assert "result" in (await http.post(path, json=INITIALIZE, headers=JSON)).json()
        for method in ("GET", "DELETE"):
            answer = await http.request(method, path, headers={"Accept": "text/event-stream"})
            error_of(answer, 405, "INVALID_ARGUMENT")
            assert answer.headers["allow"] == "POST"
        error_of(await http.post(f"{path.rstrip('/')}/more", json=INITIALIZE), 404, "NOT_FOUND")


async def test_without_the_extra_the_answer_is_how_to_get_it() -> None:
    async with calling(app_of(FakeHouse())) as http:
        error = error_of(await http.post("/mcp", json=INITIALIZE), 501, "UNIMPLEMENTED")
    assert "pip install 'contextfind[mcp]'" in error["message"]


async def test_tools_that_cannot_be_loaded_stop_nothing_else(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(_: object) -> Any:
        raise ImportError("a package is half installed")

    async with calling(create_app(FakeHouse().open, open_tools=broken)) as http:
        for _ in range(2):
            error_of(await http.post("/mcp", json=INITIALIZE), 503, "UNAVAILABLE")
        assert (await http.get("/health")).status_code == 200
    assert "half installed" in caplog.text


async def guarded(http: httpx.AsyncClient, **headers: str) -> httpx.Response:
    return await http.post("/mcp", json=INITIALIZE, headers={**JSON, **headers})


async def test_the_gate_of_all_routes_stands_before_it() -> None:
    async with calling(app_of_nothing()) as http:
        error_of(await guarded(http, Origin="http://evil.example"), 403, "PERMISSION_DENIED")
        error_of(await guarded(http, Host="evil.example"), 403, "PERMISSION_DENIED")
    async with calling(app_of_nothing(api_key="a-long-key-of-this-server")) as http:
        error_of(await guarded(http), 401, "UNAUTHENTICATED")
        error_of(await guarded(http, Authorization="Bearer wrong"), 401, "UNAUTHENTICATED")
        for key in (
            {"Authorization": "Bearer a-long-key-of-this-server"},
            {"X-API-Key": "a-long-key-of-this-server"},
        ):
            assert (await guarded(http, **key)).status_code == 200
    async with calling(app_of_nothing(rate_limit_per_minute=2)) as http:
        answers = [(await guarded(http)).status_code for _ in range(3)]
        assert answers == [200, 200, 429]
