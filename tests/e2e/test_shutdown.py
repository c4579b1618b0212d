"""SIGTERM: nobody is cut off, nothing is lost, and it is over within the bound."""

import contextlib
import io
import signal
import socket
import time
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.processes import ServerProcess

FIND = "/api/v1/search/find"
FILES = 300
CALLERS = 6
CLOSING_SECONDS = 30.0  # to write down what is there, on a machine that is busy with something else


@contextlib.contextmanager
def running(data: Path, shutdown_seconds: int = 10) -> Iterator[ServerProcess]:
    environment = {"CONTEXTFIND_SERVER__SHUTDOWN_SECONDS": str(shutdown_seconds)}
    with ServerProcess(data).start(environment) as server:
        server.wait_healthy()
        yield server


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + CLOSING_SECONDS
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)  # noqa: TID251 - a test waits for another process


def ended_well(server: ServerProcess, within: float) -> None:
    """Wait for the end of a server that was told to stop."""
    assert server.process is not None
    assert server.process.wait(within) == 0
    said = server.output()
    for fault in ("Traceback", "ERROR", "Task was destroyed", "never retrieved"):
        assert fault not in said, said


def packed(files: int) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for number in range(files):
            text = "\n\n".join(
                f"# Part {part}\nfile{number} tells of part{part} and of nothing else."
                for part in range(8)
            )
            archive.writestr(f"f{number}.md", text)
    return buffer.getvalue()


def asked_until_turned_away(url: str, answered: list[int]) -> str:
    """Ask one question after the other on one connection; return how that ended."""
    with httpx.Client(base_url=url, timeout=60) as http:
        while True:
            try:
                answer = http.post(FIND, json={"query": "word"})
            except httpx.ConnectError:
                return "refused"
            except httpx.TransportError as fault:
                return f"broken: {fault!r}"
            if answer.status_code != 200:
                waits = answer.headers.get("retry-after")
                return f"{answer.status_code} {answer.json()['error']['code']} after {waits}"
            answered.append(1)


def test_finds_are_answered_or_turned_away_and_never_cut_off(tmp_path: Path) -> None:
    with running(tmp_path / "data") as server, ThreadPoolExecutor(CALLERS) as pool:
        write = {"uri": "viking://resources/a.md", "content": "a word", "wait": True}
        server.call("POST", "/api/v1/content/write", json=write)
        answered: list[int] = []
        asking = [
            pool.submit(asked_until_turned_away, server.url, answered) for _ in range(CALLERS)
        ]
        until(lambda: len(answered) >= 20 * CALLERS)
        assert server.process is not None
        server.process.terminate()
        ended_well(server, CLOSING_SECONDS)
        assert {one.result(60) for one in asking} <= {"503 UNAVAILABLE after 2", "refused"}


def test_an_ingest_is_interrupted_and_completed_after_the_restart(tmp_path: Path) -> None:
    with running(tmp_path / "data") as server:
        kept = server.call(
            "POST", "/api/v1/resources/temp_upload", files={"file": ("t.zip", packed(FILES))}
        )
        asked = {"temp_file_id": kept["temp_file_id"], "to": "viking://resources/t", "wait": True}
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(server.http.post, "/api/v1/resources", json=asked)
            task = first_task_under_way(server.url)
            assert server.process is not None
            server.process.terminate()
            answer = waiting.result(60)
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "2"), answer.text
        assert "goes on after its restart" in answer.json()["error"]["message"]
        ended_well(server, CLOSING_SECONDS)
    with running(tmp_path / "data") as server:
        server.call("POST", "/api/v1/system/wait", json={"timeout": 300})
        ended = server.call("GET", f"/api/v1/tasks/{task['task_id']}")
        assert ended["status"] == "completed"
        listed = server.call(
            "GET", "/api/v1/fs/ls", params={"uri": "viking://resources/t", "limit": 1000}
        )
        assert len([one for one in listed if not one["isDir"]]) == FILES
        for number in (0, FILES // 2, FILES - 1):
            assert server.find(f"file{number}", limit=1)[0]["uri"].endswith(f"/f{number}.md")


def first_task_under_way(url: str) -> dict[str, Any]:
    """Return a task that has brought some of its files and not all."""
    found: list[dict[str, Any]] = []

    def looked(http: httpx.Client) -> bool:
        tasks = http.get("/api/v1/tasks").json()["result"]
        found.extend(task for task in tasks if 0 < task["done"] < task["total"])
        return bool(found)

    with httpx.Client(base_url=url, timeout=60) as http:
        until(lambda: looked(http))
    return found[0]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_does_not_wait_for_requests(tmp_path: Path, number: signal.Signals) -> None:
    with running(tmp_path / "data", shutdown_seconds=600) as server:
        head = f"POST {FIND} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        with socket.create_connection(("127.0.0.1", server.port), 60) as client:
            client.sendall(f"{head}Content-Length: 100\r\n\r\n{{".encode())  # and never the rest
            until(lambda: "_requests_in_flight 2.0" in server.http.get("/metrics").text)
            assert server.process is not None
            server.process.send_signal(number)
            until(lambda: "told to stop" in server.output())
            assert server.process.poll() is None
            server.process.send_signal(number)
            assert client.recv(65_536).startswith(b"HTTP/1.1 503")
        ended_well(server, CLOSING_SECONDS)
