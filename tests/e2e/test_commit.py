"""kill -9 while a commit is under way: its archive gets its summary after the restart."""

import json
import time
from pathlib import Path
from typing import Any

from tests.crash.program import ForkedServer
from tests.processes import ServerProcess
from tests.stubs.chat import HANG, Asked, StubChat, Turn, say, stub_chat

SAID = "I always drink oolong from the blue pot."
MEMORY = {
    "kind": "preference",
    "title": "Favourite tea",
    "text": "The user always drinks oolong from the blue pot.",
    "date": "",
    "updates": "",
}


def answering(asked: Asked) -> Turn:
    if '"memories"' in json.dumps(asked.body.get("response_format")):
        return say({"memories": [MEMORY]})
    return say({"abstract": "By the model.", "overview": "- by the model"})


def started(data: Path, stub: StubChat) -> ServerProcess:
    chat = {"CONTEXTFIND_VLM__MODEL": "m", "CONTEXTFIND_VLM__API_BASE": stub.base_url}
    return ForkedServer(data).start(chat)


def task_of(server: ServerProcess, task_id: str) -> dict[str, Any]:
    """Return the task as soon as it has ended."""
    while True:
        task: dict[str, Any] = server.call("GET", f"/api/v1/tasks/{task_id}")
        if task["status"] not in {"pending", "running"}:
            return task
        time.sleep(0.05)  # noqa: TID251 - a test waits for another process


def test_r088_a_commit_that_was_killed_is_finished_behind_the_next_start(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with stub_chat(HANG) as stub:
        with started(data, stub) as server:
            server.wait_healthy()
            message = {"role": "user", "content": SAID}
            server.call("POST", "/api/v1/sessions/s/messages", json=message)
            task_id = server.call("POST", "/api/v1/sessions/s/commit")["task_id"]
            assert stub.asked.wait(60)
            server.kill()
        stub.asked.clear()
        with started(data, stub) as server:  # the model still hangs
            server.wait_healthy()
            assert stub.asked.wait(60)
            shown = server.call("GET", "/api/v1/sessions/s/archives/archive_001")
            assert shown["abstract"] == SAID
            assert server.call("GET", f"/api/v1/tasks/{task_id}")["status"] == "running"
            server.kill()
        stub.always = answering
        with started(data, stub) as server:
            server.wait_healthy()
            task = task_of(server, task_id)
            assert task["status"] == "completed", task
            assert task["result"]["memories_extracted"]["created"] == 1
            shown = server.call("GET", "/api/v1/sessions/s/archives/archive_001")
            assert shown["abstract"] == "By the model."
            hits = server.find("oolong from the blue pot", context_type="memory", level=2)
            assert hits[0]["uri"] == "viking://user/default/memories/preferences/favourite-tea.md"
