"""A server whose index lies on Qdrant: while that is down, finds say so, writes are taken; then it goes on by itself."""

import asyncio
import tempfile
import time
from pathlib import Path

import httpx
import pytest

from tests.clusters import MEMORY
from tests.crash.program import ForkedServer
from tests.processes import free_port
from tests.stubs.qdrant_http import serving
from tests.stubs.qdrant_server import QdrantServer

PATIENCE = 60.0  # seconds; a few on a quiet machine


def write(http: httpx.Client, name: str, text: str, *, wait: bool) -> httpx.Response:
    body = {"uri": f"viking://resources/{name}", "content": text, "wait": wait, "mode": "create"}
    return http.post("/api/v1/content/write", json=body)


def found(http: httpx.Client, query: str) -> list[str]:
    answer = http.post("/api/v1/search/find", json={"query": query, "level": [2]})
    assert answer.status_code == 200, answer.text
    return [hit["uri"].rpartition("/")[2] for hit in answer.json()["result"]["resources"]]


def wait_ready(http: httpx.Client, status: int) -> None:
    until = time.monotonic() + PATIENCE
    while http.get("/ready").status_code != status:
        assert time.monotonic() < until, http.get("/ready").text
        time.sleep(0.1)  # noqa: TID251 - a test waits for another process


@pytest.mark.slow
def test_qdrant_goes_and_comes_back_under_a_running_server(tmp_path: Path) -> None:
    port = free_port()
    settings = {
        "CONTEXTFIND_INDEX__BACKEND": "qdrant",
        "CONTEXTFIND_QDRANT__URL": f"http://127.0.0.1:{port}",
        "CONTEXTFIND_QDRANT__TIMEOUT": "5",
    }
    with tempfile.TemporaryDirectory(dir=MEMORY) as home:
        stub = QdrantServer(Path(home))
        with ForkedServer(tmp_path / "data") as server:
            with serving(stub, port):
                server.start(settings)
                server.wait_healthy()
                wait_ready(server.http, 200)
                assert write(server.http, "one.md", "rollback steps", wait=True).status_code == 200
                assert found(server.http, "rollback steps") == ["one.md"]
            refused = server.http.post("/api/v1/search/find", json={"query": "rollback"})
            assert refused.status_code == 503
            assert refused.json()["error"]["code"] == "UNAVAILABLE"
            wait_ready(server.http, 503)
            assert write(server.http, "two.md", "cache keys", wait=False).status_code == 200
            with serving(stub, port):
                wait_ready(server.http, 200)
                assert write(server.http, "three.md", "deploy", wait=True).status_code == 200
                assert found(server.http, "cache keys")[0] == "two.md"
                assert found(server.http, "rollback steps")[0] == "one.md"
        asyncio.run(stub.aclose())
