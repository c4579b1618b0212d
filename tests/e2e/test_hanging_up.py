"""A client of a real process hangs up, or the process stops, while a model thinks."""

import concurrent.futures
import json
import socket
import socketserver
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.program import ForkedServer
from tests.processes import ServerProcess

SEARCH = "/api/v1/search/search"
ASKED = {"query": "how do we undo it?", "session_id": "s"}
BODY = json.dumps(ASKED).encode()
REQUEST = (
    b"POST /api/v1/search/search HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(BODY), BODY)
)


class SilentModel(socketserver.ThreadingTCPServer):
    """Takes requests and never answers; notes who comes and who leaves."""

    daemon_threads = True

    def __init__(self) -> None:
        self.came, self.left = threading.Semaphore(0), threading.Semaphore(0)
        super().__init__(("127.0.0.1", 0), _Listener)


class _Listener(socketserver.BaseRequestHandler):
    server: SilentModel

    def handle(self) -> None:
        self.request.recv(65_536)
        self.server.came.release()
        while self.request.recv(65_536):
            pass
        self.server.left.release()


@pytest.fixture
def model() -> Iterator[SilentModel]:
    with SilentModel() as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def server(model: SilentModel, tmp_path: Path) -> Iterator[ServerProcess]:
    conf = {
        "vlm": {
            "model": "m",
            "api_base": f"http://127.0.0.1:{model.server_address[1]}/v1",
            "timeout": 300,
        },
        "server": {"answer_seconds": 600, "shutdown_seconds": 1},
        "retrieval": {"plan_seconds": 300},
        "ingestion": {"model_summaries": False},
    }
    (tmp_path / "ov.conf").write_text(json.dumps(conf))
    with ForkedServer(tmp_path / "data", "--config", str(tmp_path / "ov.conf")).start() as server:
        server.wait_healthy()
        yield server
        assert server.stop() == 0
        for fault in ("Task was destroyed", "never retrieved", "Traceback"):
            assert fault not in server.output()


def test_a_client_that_hangs_up_ends_what_the_model_was_asked(
    model: SilentModel, server: ServerProcess
) -> None:
    for _ in range(3):
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            client.sendall(REQUEST)
            assert model.came.acquire(timeout=60)
            assert not model.left.acquire(blocking=False)
        assert model.left.acquire(timeout=60)  # by itself it would take five minutes
    assert server.http.get("/health").json()["healthy"] is True


def test_a_search_that_a_stop_does_not_wait_for_is_answered_in_the_envelope(
    model: SilentModel, server: ServerProcess
) -> None:
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(server.http.post, SEARCH, json=ASKED)
        assert model.came.acquire(timeout=60)
        assert server.stop() == 0
        answer = waiting.result()
    assert answer.status_code == 503
    assert answer.json()["error"]["code"] == "UNAVAILABLE"
    assert answer.json()["error"]["details"] == {"retryable": True}
    assert model.left.acquire(timeout=60)
