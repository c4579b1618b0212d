"""A real HTTP server on the loopback: what the stubs of model providers have in common."""

import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Reply = tuple[int, Mapping[str, str], bytes]  # status, headers, body


def refuse(status: int, reason: str, headers: Mapping[str, str] | None = None) -> Reply:
    """Return an error in the form that providers share."""
    return status, headers or {}, json.dumps({"error": {"message": reason}}).encode()


class Loopback(ABC):
    """Serves from the start until `close`; busiest: how many requests were under way at once."""

    def __init__(self) -> None:
        self.busiest = 0
        self.closing = threading.Event()
        self._busy = 0
        self._counting = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.root_url = f"http://127.0.0.1:{self._server.server_port}"
        self.base_url = f"{self.root_url}/v1"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.02,), daemon=True
        )
        self._thread.start()

    @abstractmethod
    def take(
        self, path: str, headers: Mapping[str, str], content: bytes
    ) -> tuple[float, Callable[[], Reply]]:
        """Note a request, one at a time; return the seconds to wait and then what answers it."""

    def close(self) -> None:
        """Stop; requests that hang end."""
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def reply(self, path: str, headers: Mapping[str, str], content: bytes) -> Reply:
        """Return status, headers and body."""
        with self._counting:
            self._busy += 1
            self.busiest = max(self.busiest, self._busy)
            delay, answer = self.take(path, headers, content)
        try:
            self.closing.wait(delay)
            return answer()
        finally:
            with self._counting:
                self._busy -= 1


def _handler(stub: Loopback) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["Content-Length"]))
            status, headers, body = stub.reply(self.path, dict(self.headers), content)
            try:
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            except ConnectionError:
                self.close_connection = True  # the client did not wait

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    return Handler
