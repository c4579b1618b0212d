"""From a commit to its summary: the real house, the real HTTP, a stub for a model."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from contextfind.config.chat import ChatSettings
from contextfind.config.model import EmbeddingSettings, Settings
from contextfind.domain.tokens import estimated_tokens
from contextfind.server.app import create_app
from contextfind.sessions.summary import SummaryRules
from contextfind.wiring import House
from tests.api.caller import calling, error_of, result_of
from tests.backends import storage_in
from tests.stubs.chat import HANG, Asked, StubChat, Turn, say, stub_chat

PATH = "/api/v1/sessions/s/commit"


def summarised(asked: Asked) -> Turn:
    if "memories" in json.dumps(asked.body.get("response_format")):
        return say({"memories": []})
    return say({"abstract": "By the model.", "overview": "- by the model"})


@asynccontextmanager
async def server(data: Path, stub: StubChat | None = None) -> AsyncIterator[httpx.AsyncClient]:
    """Open the real house; a model that hangs is waited for longer than any test runs."""
    vlm = ChatSettings() if stub is None else ChatSettings(model="m", api_base=stub.base_url)
    settings = Settings(
        storage=storage_in(data),
        embedding=EmbeddingSettings(provider="hash"),
        vlm=vlm,
    )
    async with calling(create_app(lambda: House.open(settings))) as http:
        yield http


async def tell(http: httpx.AsyncClient, *texts: str) -> None:
    for start in range(0, len(texts), 100):
        said = [{"role": "user", "content": text} for text in texts[start : start + 100]]
        result_of(await http.post("/api/v1/sessions/s/messages/batch", json={"messages": said}))


async def ended(http: httpx.AsyncClient, task_id: str) -> Mapping[str, Any]:
    while True:
        task: Mapping[str, Any] = result_of(await http.get(f"/api/v1/tasks/{task_id}"))
        if task["status"] not in {"pending", "running"}:
            return task
        await asyncio.sleep(0.02)


async def archive(http: httpx.AsyncClient) -> Mapping[str, Any]:
    found: Mapping[str, Any] = result_of(await http.get("/api/v1/sessions/s/archives/archive_001"))
    return found


async def test_without_a_model_a_session_is_archived_and_quoted(tmp_path: Path) -> None:
    async with server(tmp_path) as http:
        error_of(await http.post(PATH, json={}), 404, "NOT_FOUND")
        await tell(http, "How do I brew green tea at home?", "And how long does it take?")
        started = result_of(await http.post(PATH, json={"keep_recent_count": 1}))
        task = await ended(http, started["task_id"])
        assert (task["task_type"], task["status"]) == ("session_commit", "completed")
        assert task["resource_id"] == "viking://user/default/sessions/s"
        assert task["result"]["archive_uri"] == started["archive_uri"]
        shown = await archive(http)
        assert (shown["status"], shown["error"]) == ("done", None)
        assert shown["abstract"] == "How do I brew green tea at home?"
        context = result_of(await http.get("/api/v1/sessions/s/context"))
        assert "brew green tea" in context["latest_archive_overview"]
        assert [one["parts"][0]["text"] for one in context["messages"]] == [
            "And how long does it take?"
        ]
        again = result_of(await http.post(PATH, json={"keep_recent_count": 1}))
        assert (again["status"], again["task_id"]) == ("skipped", None)
        listed = result_of(await http.get("/api/v1/tasks", params={"task_type": "session_commit"}))
        assert [one["task_id"] for one in listed] == [started["task_id"]]


async def test_R139_the_prompt_of_a_long_session_is_bounded(tmp_path: Path) -> None:  # noqa: N802 - a case
    with stub_chat(summarised) as stub:
        async with server(tmp_path, stub) as http:
            await tell(http, *(f"Message {at}: " + "word " * 98 for at in range(2_000)))
            task = await ended(http, result_of(await http.post(PATH))["task_id"])
            assert task["status"] == "completed"
            assert (await archive(http))["abstract"] == "By the model."
    asked = [one for one in stub.requests if "left_out" in one.prompt]
    assert len(asked) == 1
    assert estimated_tokens(asked[0].prompt) <= SummaryRules().input_tokens
    told = json.loads(asked[0].messages[1][1])["messages"]
    assert [one["said"].split(":")[0] for one in told[-5:]] == [
        f"Message {at}" for at in range(1_995, 2_000)
    ]


async def test_R088_a_model_that_hangs_at_a_restart_delays_nothing(tmp_path: Path) -> None:  # noqa: N802 - a case
    with stub_chat(HANG) as stub:
        async with server(tmp_path, stub) as http:
            await tell(http, "How do I brew green tea at home?")
            started = result_of(await http.post(PATH))
            assert await asyncio.to_thread(stub.asked.wait, 20)
        stub.asked.clear()
        async with asyncio.timeout(30), server(tmp_path, stub) as http:
            assert (await http.get("/health")).status_code == 200
            assert await asyncio.to_thread(stub.asked.wait, 20)
            assert (await http.get("/health")).status_code == 200
            task = result_of(await http.get(f"/api/v1/tasks/{started['task_id']}"))
            assert task["status"] == "running"
            assert (await archive(http))["abstract"] == "How do I brew green tea at home?"
        stub.always = summarised
        async with server(tmp_path, stub) as http:
            assert (await ended(http, started["task_id"]))["status"] == "completed"
            assert (await archive(http))["abstract"] == "By the model."
