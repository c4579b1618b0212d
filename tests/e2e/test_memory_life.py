"""Memories of a conversation in a real process that is killed while a model thinks about them."""

import json
import time
from pathlib import Path

from tests.crash.program import ForkedServer
from tests.processes import ServerProcess
from tests.stubs.chat import HANG, Asked, StubChat, Turn, say, stub_chat

SAYING = "I always drink oolong from the blue pot"
TEA = {
    "kind": "preference",
    "title": "Favourite tea",
    "text": "The user always drinks oolong from the blue pot.",
    "date": "",
    "updates": "",
}
PLACE = "viking://user/default/memories"


def wants_memories(asked: Asked) -> bool:
    return '"memories"' in json.dumps(asked.body.get("response_format"))


def answer(asked: Asked) -> Turn:
    if wants_memories(asked):
        return say({"memories": [TEA]})
    return say({"abstract": "About tea.", "overview": "It was about tea."})


def thinking(asked: Asked) -> Turn:
    return HANG if wants_memories(asked) else answer(asked)


def environment(stub: StubChat) -> dict[str, str]:
    return {"CONTEXTFIND_VLM__MODEL": "m", "CONTEXTFIND_VLM__API_BASE": stub.base_url}


def wait_for_question(stub: StubChat) -> None:
    end = time.monotonic() + 60
    while not any(wants_memories(asked) for asked in stub.requests):
        assert time.monotonic() < end, "no memories were asked for"
        time.sleep(0.02)  # noqa: TID251 - a test waits for another process


def ended(server: ServerProcess, task: str) -> str:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        state = server.call("GET", f"/api/v1/tasks/{task}")["status"]
        if state not in {"pending", "running"}:
            return str(state)
        time.sleep(0.02)  # noqa: TID251 - a test waits for another process
    raise AssertionError(f"task {task} does not end")


def test_a_kill_while_the_model_thinks_loses_no_memory_and_doubles_none(tmp_path: Path) -> None:
    with stub_chat(thinking) as stub, ForkedServer(tmp_path / "data") as server:
        server.start(environment(stub)).wait_healthy()
        said = {"role": "user", "content": SAYING}
        server.call("POST", "/api/v1/sessions/s1/messages", json=said)
        task = server.call("POST", "/api/v1/sessions/s1/commit", json={})["task_id"]
        wait_for_question(stub)
        server.kill()
    with stub_chat(answer) as stub, ForkedServer(tmp_path / "data") as server:
        server.start(environment(stub)).wait_healthy()
        assert ended(server, task) == "completed"
        hits = server.find(SAYING)
        assert hits[0]["uri"] == f"{PLACE}/preferences/favourite-tea.md"
        server.call("POST", "/api/v1/sessions/s2/messages", json=said)
        again = server.call("POST", "/api/v1/sessions/s2/commit", json={})["task_id"]
        assert ended(server, again) == "completed"
        listed = server.call("GET", "/api/v1/fs/ls", params={"uri": PLACE, "recursive": "true"})
        files = [line["uri"] for line in listed if not line["isDir"]]
        assert files == [f"{PLACE}/preferences/favourite-tea.md"]
