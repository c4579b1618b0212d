"""Planned searches in a real process: a model that hangs, clients that leave, many sessions at once."""

import concurrent.futures
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.crash.program import ForkedServer
from tests.processes import ServerProcess
from tests.stubs.chat import HANG, StubChat, say, stub_chat

SEARCH = "/api/v1/search/search"
UNDO = "how do we undo it?"
SESSIONS = 50
MESSAGES = 200  # of each, in two batches
TYPED = {"query": "former build of Atlas", "context_type": "resource", "intent": "", "priority": 1}
PLAN = {"reasoning": "Atlas shall go back.", "queries": [TYPED]}


@pytest.fixture(scope="module")
def stub() -> Iterator[StubChat]:
    with stub_chat(say(PLAN)) as server:
        yield server


@pytest.fixture(scope="module")
def server(stub: StubChat, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    place: Path = tmp_path_factory.mktemp("planned")
    conf = {
        "vlm": {"model": "m", "api_base": stub.base_url},
        "retrieval": {"plan_seconds": 2},
        "ingestion": {"model_summaries": False},
    }
    (place / "ov.conf").write_text(json.dumps(conf))
    with ForkedServer(place / "data", "--config", str(place / "ov.conf")).start() as process:
        process.wait_healthy()
        text = "Atlas: put the former build into service."
        body = {"uri": "viking://resources/atlas.md", "content": text, "wait": True}
        process.call("POST", "/api/v1/content/write", json=body)
        for session in range(SESSIONS):
            for at in range(0, MESSAGES, 100):
                said = [
                    {"role": "user", "content": f"s{session} says {n} about Atlas"}
                    for n in range(at, at + 100)
                ]
                path = f"/api/v1/sessions/s{session}/messages/batch"
                process.call("POST", path, json={"messages": said})
        yield process


def search(server: ServerProcess, session: int, seconds: float = 60) -> Any:
    body = {"query": UNDO, "session_id": f"s{session}"}
    answer = httpx.post(f"{server.url}{SEARCH}", json=body, timeout=seconds)
    assert answer.status_code == 200, answer.text
    return answer.json()["result"]


def test_searches_in_many_sessions_are_planned_each_from_its_own(
    stub: StubChat, server: ServerProcess
) -> None:
    stub.always = say(PLAN)
    stub.requests.clear()
    sessions = [0] * 10 + list(range(SESSIONS))
    with concurrent.futures.ThreadPoolExecutor(len(sessions)) as pool:
        results = list(pool.map(lambda session: search(server, session), sessions))
    for result in results:
        assert [typed["query"] for typed in result["query_plan"]["queries"]] == [
            TYPED["query"],
            UNDO,
        ]
        assert result == results[0]
    told = [asked.messages[1][1] for asked in stub.requests]
    assert len(told) == len(sessions)
    for session in range(SESSIONS):
        mine = [text for text in told if f"s{session} says 199 about" in text]
        assert len(mine) == (11 if session == 0 else 1)
        assert all(text.count(" says ") == 5 for text in mine)


def test_a_model_that_hangs_holds_up_neither_health_nor_find(
    stub: StubChat, server: ServerProcess
) -> None:
    stub.always = HANG
    stub.asked.clear()
    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        waiting = [pool.submit(search, server, 0) for _ in range(10)]
        stub.asked.wait()
        assert httpx.get(f"{server.url}/health", timeout=60).json()["healthy"] is True
        assert server.find("former build")[0]["uri"] == "viking://resources/atlas.md"
        assert not any(one.done() for one in waiting)
        results = [one.result() for one in waiting]
    for result in results:
        assert [typed["query"] for typed in result["query_plan"]["queries"]] == [UNDO]
        reasoning = result["query_plan"]["reasoning"]
        assert re.search(r"not? answer within (1\.8|1\.9|2) s|when a connection", reasoning), (
            reasoning
        )
        assert result["total"] > 0


def wait_until_planned(server: ServerProcess) -> None:
    """A model is left alone for a moment after calls in vain."""
    deadline = time.monotonic() + 30
    while search(server, 0)["query_plan"]["reasoning"] != PLAN["reasoning"]:
        assert time.monotonic() < deadline


def test_clients_that_leave_leave_nothing_behind(stub: StubChat, server: ServerProcess) -> None:
    stub.always = say(PLAN)
    wait_until_planned(server)
    stub.always = HANG

    def leaves(session: int) -> bool:
        try:
            search(server, session, 0.3)
        except httpx.ReadTimeout:
            return True
        return False  # the model was given up in the meantime

    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        assert any(pool.map(leaves, range(20)))
    stub.always = say(PLAN)
    wait_until_planned(server)
    assert server.stop() == 0
    assert "Task was destroyed" not in server.output()
    assert "Traceback" not in server.output()
