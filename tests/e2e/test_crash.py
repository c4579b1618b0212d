"""A large ingest that is killed is finished; answers are the same after every start. See `test_kill` for the rest."""

import time
from pathlib import Path

import pytest

from tests.backends import lose_index
from tests.crash.program import ForkedServer
from tests.crash.traffic import packed
from tests.processes import ServerProcess

INGESTED = 300  # enough for a kill to come in the middle


def body(number: int) -> str:
    paragraph = f"Paragraph about topic{number % 7} of note{number}x. " * 12
    return f"# Note {number}\n\n{paragraph}\n\n## End\n\nmarker{number}q closes it.\n"


def uri(number: int) -> str:
    return f"viking://resources/notes/d{number % 10}/n{number}.md"


def check_whole(server: ServerProcess, numbers: range) -> None:
    for number in numbers:
        read = server.call("GET", "/api/v1/content/read", params={"uri": uri(number)})
        assert read == body(number)
        hits = server.find(f"marker{number}q closes it", limit=5, level=2)
        assert uri(number) in [hit["uri"] for hit in hits]


def test_an_interrupted_ingest_is_finished_after_the_restart(tmp_path: Path) -> None:
    names = [uri(number).removeprefix("viking://resources/notes/") for number in range(INGESTED)]
    notes = packed({name: body(number) for number, name in enumerate(names)})
    with ForkedServer(tmp_path / "data") as server:
        server.start().wait_healthy()
        upload = server.call(
            "POST",
            "/api/v1/resources/temp_upload",
            files={"file": notes},
        )
        request = {"temp_file_id": upload["temp_file_id"], "to": "viking://resources/notes"}
        added = server.call("POST", "/api/v1/resources", json=request)
        while not server.find("marker7q closes it", limit=1, level=2):
            time.sleep(0.005)  # noqa: TID251 - a test waits for another process
        server.kill()
    with ForkedServer(tmp_path / "data") as server:
        server.start().wait_healthy()
        deadline = time.monotonic() + 60
        task = server.call("GET", f"/api/v1/tasks/{added['task_id']}")
        while task["status"] in {"pending", "running"} and time.monotonic() < deadline:
            time.sleep(0.05)  # noqa: TID251 - a test waits for another process
            task = server.call("GET", f"/api/v1/tasks/{added['task_id']}")
        assert task["status"] == "completed"
        check_whole(server, range(0, INGESTED, 3))


@pytest.mark.slow  # test_same_answers asks more, of fewer files
def test_answers_are_the_same_bytes_after_a_restart_and_without_the_index_directory(
    tmp_path: Path,
) -> None:
    def answers(server: ServerProcess) -> list[bytes]:
        queries = [f"topic{n} paragraph" for n in range(7)] + ["marker3q", "note closes it"]
        found = [
            server.http.post("/api/v1/search/find", json={"query": q, "limit": 20}) for q in queries
        ]
        return [answer.content for answer in found]

    with ForkedServer(tmp_path / "data") as server:
        server.start().wait_healthy()
        for number in range(40):
            request = {"uri": uri(number), "content": body(number), "mode": "create"}
            server.call("POST", "/api/v1/content/write", json=request)
        server.call("POST", "/api/v1/system/wait", json={"timeout": 30})
        first = answers(server)
        assert answers(server) == first
        assert server.stop() == 0
    with ForkedServer(tmp_path / "data") as server:
        server.start().wait_healthy()
        assert answers(server) == first
        assert server.stop() == 0
    lose_index(tmp_path / "data")
    with ForkedServer(tmp_path / "data") as server:
        server.start().wait_healthy()
        assert answers(server) == first
