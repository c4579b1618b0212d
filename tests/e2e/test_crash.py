"""kill -9 at any moment: what was acknowledged is there, what was not is there wholly or not at all."""

import concurrent.futures
import io
import time
import zipfile
from pathlib import Path

import httpx
import pytest

from tests.processes import ServerProcess, killed_after

FILES = 120
INGESTED = 300  # enough for a kill to come in the middle


def body(number: int) -> str:
    paragraph = f"Paragraph about topic{number % 7} of note{number}x. " * 12
    return f"# Note {number}\n\n{paragraph}\n\n## End\n\nmarker{number}q closes it.\n"


def uri(number: int) -> str:
    return f"viking://resources/notes/d{number % 10}/n{number}.md"


def write(server: ServerProcess, number: int, acknowledged: set[int]) -> None:
    request = {"uri": uri(number), "content": body(number), "mode": "create"}
    try:
        answer = server.http.post("/api/v1/content/write", json=request)
    except httpx.TransportError:
        return
    if answer.status_code == 200:
        acknowledged.add(number)


def check_whole_or_absent(server: ServerProcess, numbers: range, acknowledged: set[int]) -> None:
    for number in numbers:
        answer = server.http.get("/api/v1/content/read", params={"uri": uri(number)})
        if number in acknowledged:
            assert answer.status_code == 200, f"acknowledged {uri(number)} is lost"
        if answer.status_code == 200:
            assert answer.json()["result"] == body(number)
            hits = server.find(f"marker{number}q closes it", limit=5, level=2)
            assert uri(number) in [hit["uri"] for hit in hits]


@pytest.mark.parametrize("acknowledgements", [60, pytest.param(5, marks=pytest.mark.slow)])
def test_every_acknowledged_write_survives_and_none_is_half_visible(
    tmp_path: Path, acknowledgements: int
) -> None:
    acknowledged: set[int] = set()
    with ServerProcess(tmp_path / "data") as server:
        server.start().wait_healthy()
        with (
            killed_after(server, acknowledged, acknowledgements),
            concurrent.futures.ThreadPoolExecutor(8) as pool,
        ):
            for number in range(FILES):
                pool.submit(write, server, number, acknowledged)
    assert acknowledgements <= len(acknowledged) < FILES
    with ServerProcess(tmp_path / "data") as server:
        server.start().wait_healthy()
        server.call("POST", "/api/v1/system/wait", json={"timeout": 30})
        check_whole_or_absent(server, range(FILES), acknowledged)


def test_an_interrupted_ingest_is_finished_after_the_restart(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for number in range(INGESTED):
            archive.writestr(uri(number).removeprefix("viking://resources/notes/"), body(number))
    with ServerProcess(tmp_path / "data") as server:
        server.start().wait_healthy()
        upload = server.call(
            "POST",
            "/api/v1/resources/temp_upload",
            files={"file": ("notes.zip", packed.getvalue(), "application/zip")},
        )
        request = {"temp_file_id": upload["temp_file_id"], "to": "viking://resources/notes"}
        added = server.call("POST", "/api/v1/resources", json=request)
        while not server.find("marker7q closes it", limit=1, level=2):
            time.sleep(0.005)  # noqa: TID251 - a test waits for another process
        server.kill()
    with ServerProcess(tmp_path / "data") as server:
        server.start().wait_healthy()
        deadline = time.monotonic() + 60
        task = server.call("GET", f"/api/v1/tasks/{added['task_id']}")
        while task["status"] in {"pending", "running"} and time.monotonic() < deadline:
            time.sleep(0.05)  # noqa: TID251 - a test waits for another process
            task = server.call("GET", f"/api/v1/tasks/{added['task_id']}")
        assert task["status"] == "completed"
        check_whole_or_absent(server, range(0, INGESTED, 3), set(range(INGESTED)))


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

    with ServerProcess(tmp_path / "data") as server:
        server.start().wait_healthy()
        for number in range(40):
            write(server, number, set())
        server.call("POST", "/api/v1/system/wait", json={"timeout": 30})
        first = answers(server)
        assert answers(server) == first
        assert server.stop() == 0
    with ServerProcess(tmp_path / "data") as server:
        server.start().wait_healthy()
        assert answers(server) == first
        assert server.stop() == 0
    index = tmp_path / "data" / "index"
    assert index.is_dir()
    for file in sorted(index.rglob("*"), reverse=True):
        file.rmdir() if file.is_dir() else file.unlink()
    index.rmdir()
    with ServerProcess(tmp_path / "data") as server:
        server.start().wait_healthy()
        assert answers(server) == first
