"""The official MCP client and the real server: over HTTP, and over standard input and output."""

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from contextfind.toolbox.rack import TOOLS
from tests.crash.program import ForkedServer
from tests.processes import ServerProcess, free_port
from tests.schemas import environment_of

ROOT = {"X-API-Key": "a-root-key-for-this-test"}
ACCOUNTS = "/api/v1/admin/accounts"
NAMES = [tool.name for tool in TOOLS]


@dataclass(frozen=True)
class Town:
    """A server with an account of two users."""

    server: ServerProcess
    alice: str
    bob: str


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    environment = {"CONTEXTFIND_SERVER__ROOT_API_KEY": ROOT["X-API-Key"]}
    with ForkedServer(tmp_path_factory.mktemp("mcp") / "data") as server:
        server.start(environment).wait_healthy()
        made = {"account_id": "acme", "admin_user_id": "alice"}
        alice = server.call("POST", ACCOUNTS, json=made, headers=ROOT)["user_key"]
        users = f"{ACCOUNTS}/acme/users"
        bob = server.call("POST", users, json={"user_id": "bob"}, headers=ROOT)["user_key"]
        yield Town(server, alice, bob)


@asynccontextmanager
async def over_http(server: ServerProcess, key: str) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {key}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(f"{server.url}/mcp", http_client=http)) as client,
    ):
        yield client


@asynccontextmanager
async def over_stdio(*arguments: str, **environment: str) -> AsyncIterator[Client]:
    told = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "contextfind.cli", "mcp", *arguments],
        env={**told, **environment_of(arguments), **environment},
    )
    async with Client(stdio_client(command)) as client:
        yield client


async def told(
    client: Client, tool: str, arguments: Mapping[str, Any], *, wrong: bool = False
) -> str:
    """Return the text of a call, which must succeed, or must not."""
    answer = await client.call_tool(tool, dict(arguments))
    (part,) = answer.content
    assert part.type == "text"
    assert answer.is_error is wrong, part.text
    return part.text


async def test_every_tool_works_over_http_in_one_life_of_a_note(town: Town) -> None:
    uri, home = "viking://~/notes/lamp.md", {"uri": "viking://~/notes"}
    async with over_http(town.server, town.alice) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == NAMES
        calls: list[tuple[str, dict[str, Any], str]] = [
            ("health", {}, "user alice of account acme"),
            ("write", {"uri": uri, "content": "# Lamp\n\nThe lamp is green.\n"}, "can be found"),
            ("find", {"query": "lamp", "files_only": True}, "user/alice/notes/lamp.md"),
            ("search", {"query": "lamp", "target_uri": "viking://~"}, "user/alice/notes/lamp.md"),
            ("read", {"uris": uri}, "The lamp is green."),
            ("list", home, "lamp.md"),
            ("tree", home, "lamp.md"),
            ("grep", {"pattern": "is gr[e]+n"}, "3: The lamp is green."),
            ("glob", {"pattern": "**/lamp.*"}, "user/alice/notes/lamp.md"),
            ("edit", {"uri": uri, "old_text": "green", "new_text": "red"}, "1 replaced"),
            ("read", {"uris": [uri]}, "The lamp is red."),
            ("remember", {"text": "Alice likes red lamps.", "kind": "preference"}, "Remembered"),
            ("forget", {**home, "recursive": True}, "Removed"),
            ("glob", {"pattern": "**/lamp.*"}, "No address"),
        ]
        for tool, arguments, part in calls:
            assert part in await told(client, tool, arguments), (tool, arguments)
        refused = await told(client, "add_resource", {"path": "/etc/hostname"}, wrong=True)
        assert "contextfind add" in refused
    assert {tool for tool, _, _ in calls} | {"add_resource"} == set(NAMES)


async def test_nobody_sees_what_is_another_users(town: Town) -> None:
    """R117, R130: neither by meaning, nor by letter, nor by address; nothing of it can be changed."""
    memory = {"text": "Bob's locker is number 4242.", "title": "locker"}
    bobs = "viking://user/bob/memories/facts/locker.md"
    async with over_http(town.server, town.bob) as bob, over_http(town.server, town.alice) as alice:
        assert "Remembered" in await told(bob, "remember", memory)
        for tool, arguments in {
            "find": {"query": "locker 4242"},
            "search": {"query": "locker 4242"},
            "grep": {"pattern": "4242"},
            "glob": {"pattern": "**/locker.md"},
            "tree": {"depth": 20},
        }.items():
            assert "locker" in await told(bob, tool, arguments), tool
            seen = await told(alice, tool, arguments)
            assert "4242" not in seen, tool
            assert "locker.md" not in seen, tool
        for tool, more in {
            "find": {"query": "locker", "target_uri": bobs},
            "read": {"uris": bobs},
            "list": {"uri": "viking://user/bob"},
            "write": {"uri": bobs, "content": "mine"},
            "edit": {"uri": bobs, "old_text": "4242", "new_text": "1"},
            "forget": {"uri": bobs},
        }.items():
            assert "PERMISSION_DENIED" in await told(alice, tool, more, wrong=True), tool
        assert "4242" in await told(bob, "read", {"uris": bobs})


async def test_a_wrong_key_is_refused_and_the_root_key_has_no_data(town: Town) -> None:
    answer = town.server.http.post("/mcp", headers={"Authorization": "Bearer nonsense"}, json={})
    assert answer.status_code == 401
    with pytest.raises(ExceptionGroup):
        async with over_http(town.server, "nonsense"):
            raise AssertionError("it was let in")
    async with over_http(town.server, ROOT["X-API-Key"]) as client:
        assert "PERMISSION_DENIED" in await told(client, "find", {"query": "x"}, wrong=True)


async def test_one_request_id_leads_from_a_call_to_what_it_asked(town: Town) -> None:
    async with over_http(town.server, town.alice) as client:
        await told(client, "glob", {"pattern": "no-such-name-*"})
    same = r"POST /api/v1/search/glob 200 .* ([0-9a-f]{32})\n(?:.*\n)*?.*POST /mcp 200 .* \1\n"
    async with asyncio.timeout(30):
        while not re.search(same, town.server.output()):  # noqa: ASYNC110 - the log of another process
            await asyncio.sleep(0.1)


async def test_eight_agents_at_once_get_their_own_answers(town: Town) -> None:
    async def one(number: int) -> None:
        key = town.alice if number % 2 else town.bob
        uri = f"viking://~/at-once/{number}.md"
        async with over_http(town.server, key) as client:
            for turn in range(4):
                await told(client, "write", {"uri": uri, "content": f"mine is {number}, {turn}"})
                assert f"mine is {number}, {turn}" in await told(client, "read", {"uris": uri})
                assert f"{number}.md" in await told(client, "find", {"query": f"mine is {number}"})

    await asyncio.gather(*(one(number) for number in range(8)))


async def test_over_stdio_the_same_tools_read_files_of_this_machine(
    town: Town, tmp_path: Path
) -> None:
    folder = tmp_path / "manual"
    folder.mkdir()
    (folder / "pump.md").write_text("# Pump\n\nTurn the valve twice.\n")
    asked = {"CONTEXTFIND_URL": town.server.url, "CONTEXTFIND_API_KEY": town.alice}
    async with over_stdio(**asked) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == NAMES
        added = await told(client, "add_resource", {"path": str(folder), "wait": True})
        assert "Added at viking://resources/manual" in added
        assert "pump.md" in await told(client, "find", {"query": "turn the valve"})
        missing = {"path": str(folder / "none.md")}
        assert "INVALID_ARGUMENT" in await told(client, "add_resource", missing, wrong=True)


async def test_over_stdio_a_server_that_is_not_there_is_told_by_each_call() -> None:
    async with over_stdio("--url", f"http://127.0.0.1:{free_port()}") as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == NAMES
        said = await told(client, "find", {"query": "x"}, wrong=True)
    assert "UNAVAILABLE" in said
    assert "contextfind serve" in said


async def test_over_stdio_no_server_is_needed(tmp_path: Path) -> None:
    at = ("--data", str(tmp_path / "data"), "--embedder", "hash")
    async with over_stdio(*at) as client:
        note = {"text": "The bridge opens at nine.", "title": "bridge"}
        assert "Remembered" in await told(client, "remember", note)
        assert "facts/bridge.md" in await told(client, "find", {"query": "bridge nine"})
