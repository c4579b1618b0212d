"""A real HTTP server on the loopback: what the stubs of model providers have in common."""

import json
import socket
import struct
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_AT_ONCE = struct.pack("ii", 1, 0)  # lingering for no time: closing sends a reset

Reply = tuple[int, Mapping[str, str], bytes]  # status, headers, body


class Reset(Exception):  # noqa: N818 - what becomes of the connection
    """Raised in place of an answer: the connection is reset after so many bytes of its body.

    sent: 0 = before anything of the answer.
    """

    def __init__(self, reply: Reply, sent: int) -> None:
        super().__init__()
        self.reply = reply
        self.sent = sent


def refuse(status: int, reason: str, headers: Mapping[str, str] | None = None) -> Reply:
    """Return an error in the form that providers share."""
    return status, headers or {}, json.dumps({"error": {"message": reason}}).encode()


def whole(reply: Reply, cut: int | None) -> Reply:
    """Return the answer as it is, unless it is to be cut."""
    if cut is not None:
        raise Reset(reply, cut)
    return reply


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


def break_off(handler: BaseHTTPRequestHandler, reset: Reset) -> None:
    """Send what is to be sent, and reset the connection."""
    status, headers, body = reset.reply
    if reset.sent:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body[: reset.sent])
        handler.wfile.flush()
    handler.close_connection = True
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)


def _handler(stub: Loopback) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["Content-Length"]))
            try:
                status, headers, body = stub.reply(self.path, dict(self.headers), content)
            except Reset as reset:
                break_off(self, reset)
                return
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
