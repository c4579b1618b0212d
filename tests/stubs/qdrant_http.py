"""The stub of a Qdrant server on a real socket.

`python -m tests.stubs.qdrant_http --port 6333` serves until it is interrupted; what it holds goes with it.
"""

import argparse
import asyncio
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx

from tests.stubs.qdrant_server import QdrantServer


@contextmanager
def serving(stub: QdrantServer, port: int = 0) -> Iterator[str]:
    """Serve while the block runs; gives the address. What the stub holds stays for the next time."""
    server = ThreadingHTTPServer(("127.0.0.1", port), _handler(stub))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(stub: QdrantServer) -> type[BaseHTTPRequestHandler]:
    turn = threading.Lock()  # the engine takes one at a time

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            request = httpx.Request(self.command, f"http://stub{self.path}", content=body)
            with turn:
                answer = asyncio.run(stub.handle_async_request(request))
            self.send_response(answer.status_code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer.content)))
            self.end_headers()
            self.wfile.write(answer.content)

        do_GET = do_POST = do_PUT = do_DELETE = answer  # noqa: N815 - as the library calls them

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    return Handler


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=6333)
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as place,
        serving(QdrantServer(Path(place)), given.port) as address,
    ):
        print(f"Qdrant's engine answers at {address}", flush=True)  # noqa: T201
        with suppress(KeyboardInterrupt):
            threading.Event().wait()
