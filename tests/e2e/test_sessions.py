"""Conversations in a real process: killed in the middle, and many at once."""

import concurrent.futures
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.crash.program import ForkedServer
from tests.processes import ServerProcess, killed_after

SESSIONS = 50
MESSAGES = 60
BATCH = 20
KILLED = [f"s{n}" for n in range(4)]
SAID = [(f"s{n % 4}", f"m{n}") for n in range(400)]
LARGEST = {"token_budget": 1_000_000}


def message(name: str) -> dict[str, Any]:
    return {"id": name, "role": "user", "content": f"word{name} of a conversation"}


def heard(server: ServerProcess, session: str) -> list[str]:
    told = server.call("GET", f"/api/v1/sessions/{session}/context", params=LARGEST)
    for one in told["messages"]:
        assert one["parts"] == [{"type": "text", "text": message(one["id"])["content"]}]
    return [one["id"] for one in told["messages"]]


def say(server: ServerProcess, session: str, name: str, acknowledged: set[str]) -> None:
    try:
        answer = server.http.post(f"/api/v1/sessions/{session}/messages", json=message(name))
    except httpx.TransportError:
        return
    if answer.status_code == 200:
        acknowledged.add(name)


@pytest.mark.parametrize("acknowledgements", [10, pytest.param(150, marks=pytest.mark.slow)])
def test_every_acknowledged_message_survives_a_kill_and_is_there_once(
    tmp_path: Path, acknowledgements: int
) -> None:
    acknowledged: set[str] = set()
    with ForkedServer(tmp_path / "data") as server:
        server.start().wait_healthy()
        with (
            killed_after(server, acknowledged, acknowledgements),
            concurrent.futures.ThreadPoolExecutor(8) as pool,
        ):
            for session, name in SAID:
                pool.submit(say, server, session, name, acknowledged)
    assert acknowledgements <= len(acknowledged) < len(SAID)
    with ForkedServer(tmp_path / "data") as server:
        server.start().wait_healthy()
        found = [name for session in KILLED for name in heard(server, session)]
        assert acknowledged - set(found) == set()
        assert len(found) == len(set(found))
        for session in KILLED:  # a client that heard nothing says it all again
            mine = [message(name) for where, name in SAID if where == session]
            for start in range(0, len(mine), 100):
                body = {"messages": mine[start : start + 100]}
                server.call("POST", f"/api/v1/sessions/{session}/messages/batch", json=body)
            assert sorted(heard(server, session)) == sorted(one["id"] for one in mine)
            count = server.call("GET", f"/api/v1/sessions/{session}")["message_count"]
            assert count == len(mine)


def converse(server: ServerProcess, session: str) -> int:
    """Say all of a conversation, piece by piece; return what the last answer counted."""
    count = 0
    for start in range(0, MESSAGES, BATCH):
        said = [message(f"{session}-{n}") for n in range(start, start + BATCH)]
        path = f"/api/v1/sessions/{session}/messages/batch"
        told = server.call("POST", path, json={"messages": said})
        assert told["added"] == BATCH
        count = told["message_count"]
    return count


def test_fifty_conversations_at_once_are_kept_in_order_while_health_answers(
    tmp_path: Path,
) -> None:
    over = threading.Event()
    pulses: list[int] = []
    names = [f"talk{n}" for n in range(SESSIONS)]

    def feel_pulse(url: str) -> None:
        with httpx.Client(base_url=url, timeout=60) as http:
            while not over.is_set():
                pulses.append(http.get("/health").status_code)

    with ForkedServer(tmp_path / "data") as server:
        server.start().wait_healthy()
        with concurrent.futures.ThreadPoolExecutor(SESSIONS + 1) as pool:
            doctor = pool.submit(feel_pulse, server.url)
            try:
                counts = list(pool.map(lambda name: converse(server, name), names))
            finally:
                over.set()
            doctor.result()
        assert counts == [MESSAGES] * SESSIONS
        assert len(pulses) > 1
        assert set(pulses) == {200}
        for name in names:
            assert heard(server, name) == [f"{name}-{n}" for n in range(MESSAGES)]
        listed = server.call("GET", "/api/v1/sessions")
        assert sorted(one["session_id"] for one in listed) == sorted(names)
        assert server.stop() == 0
