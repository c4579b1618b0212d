"""Neighbours that take too much: connections, requests, time. Everybody else is answered all the same."""

import io
import json
import os
import socket
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import httpx
import pytest

from tests.processes import ServerProcess

ROOT = {"X-API-Key": "root-key-of-these-tests"}
FIND = "/api/v1/search/find"
CONNECTIONS = 600  # more than the server keeps
FLOOD = 200


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    data = tmp_path_factory.mktemp("house")
    conf = {
        "server": {"root_api_key": ROOT["X-API-Key"], "max_requests": 4, "max_waiting": 500},
        "log": {"requests": False},
    }
    (data / "ov.conf").write_text(json.dumps(conf))
    with ServerProcess(data / "data", "--config", str(data / "ov.conf")).start() as server:
        server.wait_healthy()
        yield server
        assert server.stop() == 0
        assert "Traceback" not in server.output()


def account(server: ServerProcess, name: str, files: int) -> dict[str, str]:
    """Make an account with some files and return the headers of its user."""
    made = {"account_id": name, "admin_user_id": "ann"}
    key = server.call("POST", "/api/v1/admin/accounts", json=made, headers=ROOT)["user_key"]
    headers = {"X-API-Key": key}
    for number in range(files):
        body = {"uri": f"viking://resources/n{number}.md", "content": f"Note {number} on tea."}
        server.call("POST", "/api/v1/content/write", json=body, headers=headers)
    server.call("POST", "/api/v1/system/wait", json={"timeout": 60}, headers=headers)
    return headers


def send_find(server: ServerProcess, headers: dict[str, str]) -> socket.socket:
    """Send a find and return the connection, without waiting for the answer."""
    body = b'{"query": "a note on tea"}'
    head = (
        f"POST {FIND} HTTP/1.1\r\nHost: x\r\nX-API-Key: {headers['X-API-Key']}\r\nConnection: close\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    client = socket.create_connection(("127.0.0.1", server.port), timeout=120)
    client.sendall(head.encode() + body)
    return client


def seconds_of(client: socket.socket) -> float:
    """Return how long the server says that it had the request, waiting included."""
    answer = b""
    while more := client.recv(65_536):
        answer += more
    head = answer.partition(b"\r\n\r\n")[0].lower()
    assert head.startswith(b"http/1.1 200"), answer
    return float(head.partition(b"x-process-time: ")[2].partition(b"\r\n")[0])


def test_a_flood_of_one_account_waits_in_its_own_queue(server: ServerProcess) -> None:
    many, few = account(server, "many", 5), account(server, "few", 5)
    with ExitStack() as stack:
        flood = [stack.enter_context(send_find(server, many)) for _ in range(FLOOD)]
        quiet = [stack.enter_context(send_find(server, few)) for _ in range(3)]
        spent = max(map(seconds_of, quiet))
        assert httpx.get(f"{server.url}/health", timeout=60).status_code == 200
        assert spent < max(map(seconds_of, flood)) / 3


def test_idle_connections_without_end_shut_nobody_out(server: ServerProcess) -> None:
    with ExitStack() as stack:
        for _ in range(CONNECTIONS):
            place = ("127.0.0.1", server.port)
            stack.enter_context(socket.create_connection(place, timeout=60))
        assert httpx.get(f"{server.url}/health", timeout=60).status_code == 200
        assert server.process is not None
        files = len(os.listdir(f"/proc/{server.process.pid}/fd"))  # noqa: PTH208 - names are enough
        assert files < CONNECTIONS


def test_a_head_without_end_is_refused_early(server: ServerProcess) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as client:
        client.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n")
        answer = b""
        with suppress(ConnectionError):
            for _ in range(1_000):  # a megabyte
                client.sendall(b"X-More: " + b"x" * 1_000 + b"\r\n")
        with suppress(ConnectionError):
            answer = client.recv(1_000)
    assert answer == b"" or answer.startswith(b"HTTP/1.1 400")
    assert server.http.get("/health").status_code == 200


def test_a_zip_that_unpacks_to_a_thousand_times_its_size_is_refused(server: ServerProcess) -> None:
    headers = account(server, "bombs", 1)
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("docs/good.md", "good")
        archive.writestr("docs/bomb.md", bytes(64 * 1024 * 1024))
    assert len(memory.getvalue()) < 100_000
    files = {"file": ("docs.zip", memory.getvalue())}
    sent = server.call("POST", "/api/v1/resources/temp_upload", files=files, headers=headers)
    refused = server.http.post("/api/v1/resources", json=sent | {"wait": True}, headers=headers)
    assert refused.status_code == 400, refused.text
    assert "200 times" in refused.json()["error"]["message"]
    listed = server.call(
        "GET", "/api/v1/fs/ls", params={"uri": "viking://resources"}, headers=headers
    )
    assert [entry["name"] for entry in listed] == ["n0.md"]
