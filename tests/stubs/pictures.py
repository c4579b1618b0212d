"""A web server on the loopback with pictures, redirects and bad manners; it counts its visitors."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PNG = b"\x89PNG\r\n\x1a\n" + bytes(64)


@dataclass(frozen=True)
class Page:
    """What a path answers. drip: the body comes a byte at a time, this many seconds apart."""

    body: bytes = PNG
    status: int = 200
    kind: str = "image/png"
    headers: Mapping[str, str] = field(default_factory=dict)
    length: bool = True
    drip: float = 0.0


def redirect(to: str) -> Page:
    """Return a page that leads elsewhere."""
    return Page(b"", 302, headers={"Location": to})


class PictureServer:
    """pages: by path. visits: (path, Host header) in order. connections: sockets ever accepted."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        self.pages: dict[str, Page] = {"/cat.png": Page()}
        self.visits: list[tuple[str, str]] = []
        self.connections = 0
        self.closing = threading.Event()
        self._server = _Counting(self, host)
        self.port = self._server.server_port
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.02,), daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Stop."""
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Counting(ThreadingHTTPServer):
    def __init__(self, owner: PictureServer, host: str) -> None:
        self.owner = owner
        super().__init__((host, 0), _handler(owner))

    def get_request(self):  # type: ignore[no-untyped-def]
        self.owner.connections += 1
        return super().get_request()


def _handler(owner: PictureServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            owner.visits.append((self.path, self.headers["Host"]))
            page = owner.pages.get(self.path, Page(b"no", 404, "text/plain"))
            try:
                _send(self, page, owner.closing)
            except ConnectionError:
                self.close_connection = True  # the client had enough

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    return Handler


def _send(handler: BaseHTTPRequestHandler, page: Page, closing: threading.Event) -> None:
    handler.send_response(page.status)
    handler.send_header("Content-Type", page.kind)
    for name, value in page.headers.items():
        handler.send_header(name, value)
    if page.length:
        handler.send_header("Content-Length", str(len(page.body)))
    handler.end_headers()
    if not page.drip:
        handler.wfile.write(page.body)
        return
    for at in range(len(page.body)):
        handler.wfile.write(page.body[at : at + 1])
        handler.wfile.flush()
        closing.wait(page.drip)


@contextmanager
def picture_server(host: str = "127.0.0.1") -> Iterator[PictureServer]:
    """Yield a server that is closed afterwards."""
    server = PictureServer(host)
    try:
        yield server
    finally:
        server.close()
