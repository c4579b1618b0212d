"""A real HTTP server on loopback that answers what a test tells it, and remembers what it was asked."""

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True, slots=True)
class Asked:
    """One request; `query` holds the last value of each parameter."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(slots=True)
class StubServer:
    """Answers by (method, path); several answers are given one after the other, the last one again."""

    answers: dict[tuple[str, str], list[tuple[int, bytes]]] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)  # of every answer
    _server: ThreadingHTTPServer | None = None
    _thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def last(self) -> Asked:
        return self.asked[-1]

    def answer(self, method: str, path: str, *bodies: object, status: int = 200) -> None:
        """Answer with raw JSON values, or with text as it is."""
        self.answers[method, path] = [
            (status, body.encode() if isinstance(body, str) else json.dumps(body).encode())
            for body in bodies
        ]

    def results(self, method: str, path: str, *results: object) -> None:
        """Answer with good envelopes."""
        self.answer(method, path, *({"status": "ok", "result": result} for result in results))

    def fails(
        self, method: str, path: str, status: int, code: str, message: str, **details: str
    ) -> None:
        """Answer with the API's error."""
        error = {"code": code, "message": message, "details": details or {"field": "x"}}
        self.answer(
            method, path, {"status": "error", "result": None, "error": error}, status=status
        )

    def take(self, asked: Asked) -> tuple[int, bytes]:
        self.asked.append(asked)
        answers = self.answers.get((asked.method, asked.path), [(404, b"nothing here")])
        return answers.pop(0) if len(answers) > 1 else answers[0]

    def __enter__(self) -> Self:
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one(self) -> None:
                length = int(self.headers.get("content-length") or 0)
                body = self.rfile.read(length) if length else _chunked(self)
                parts = urlsplit(self.path)
                query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
                headers = {name.lower(): value for name, value in self.headers.items()}
                status, answer = stub.take(Asked(self.command, parts.path, query, headers, body))
                self.send_response(status)
                self.send_header("content-length", str(len(answer)))
                for name, value in stub.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(answer)

            do_GET = do_POST = do_PUT = do_DELETE = handle_one  # noqa: N815 - names of the standard library

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._server is not None
        assert self._thread is not None
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def _chunked(handler: BaseHTTPRequestHandler) -> bytes:
    if handler.headers.get("transfer-encoding") != "chunked":
        return b""
    body = b""
    while size := int(handler.rfile.readline(), 16):
        body += handler.rfile.read(size)
        handler.rfile.readline()
    handler.rfile.readline()
    return body
