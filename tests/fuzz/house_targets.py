"""Whole requests, in process: through ASGI into a real house with hashed vectors."""

import asyncio
import json
import logging
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from contextfind.config.model import EmbeddingSettings, Settings
from contextfind.domain.identity import Identity
from contextfind.server.app import create_app
from contextfind.server.examples import WRITE
from contextfind.wiring import House, Surroundings
from tests.backends import storage_in
from tests.fuzz import seeds
from tests.fuzz.containers import kneaded_zip
from tests.fuzz.target import Run, Target

_JSON = b"application/json"
_UPLOAD = "/api/v1/resources/temp_upload"
_BUILT = (501, 504)  # answers above 500 that the contract asks for: not built, too late


class _Broken(logging.Handler):
    """Keeps what was logged with a traceback: the server never lets it out, nor do its workers."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.errors: list[BaseException] = []
        self.noticed: Callable[[], None] = lambda: None

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[1] is not None:
            self.errors.append(record.exc_info[1])
            self.noticed()

    def tell(self) -> None:
        """Raise what was kept, as no refusal of the input, whatever it is."""
        if self.errors:
            error = self.errors.pop()
            told = _Logged(f"{type(error).__name__}: {error}")
            raise told.with_traceback(error.__traceback__) from None


class _Logged(Exception):  # noqa: N818 - it is one of others
    """Something was logged with a traceback."""


@dataclass
class _Server:
    """An application and the house behind it."""

    broken: _Broken = field(default_factory=_Broken)
    house: House | None = None
    app: Callable[..., Coroutine[Any, Any, None]] | None = None

    @asynccontextmanager
    async def open(self, data: Path) -> AsyncIterator[None]:
        settings = Settings(storage=storage_in(data), embedding=EmbeddingSettings(provider="hash"))

        @asynccontextmanager
        async def opened() -> AsyncIterator[House]:
            async with House.open(settings, Surroundings.real()) as house:
                self.house = house
                yield house

        app = create_app(opened)
        self.app = app
        async with app.router.lifespan_context(app):
            for body in WRITE.values():
                await self.post("/api/v1/content/write", json.dumps(body).encode())
            yield

    async def post(self, path: str, body: bytes, kind: bytes = _JSON) -> Any:
        """Return the answer of an envelope, None for a refusal; what went wrong inside is raised."""
        return await self.call("POST", path, body, kind)

    async def call(
        self, method: str, path: str, body: bytes = b"", kind: bytes = _JSON, query: bytes = b""
    ) -> Any:
        status, answer = await self._asked(method, path, body, kind, query)
        self.broken.tell()  # of what came behind the answer
        assert status < 500 or status in _BUILT, (status, answer)
        told = json.loads(answer, parse_constant=_no_json)
        assert told["status"] == ("ok" if status == 200 else "error")
        return told["result"]

    async def _asked(
        self, method: str, path: str, body: bytes, kind: bytes, query: bytes
    ) -> tuple[int, bytes]:
        half = len(body) // 2
        waiting = [
            {"type": "http.request", "body": body[:half], "more_body": True},
            {"type": "http.request", "body": body[half:], "more_body": False},
        ]
        told: list[Any] = []

        async def receive() -> Any:
            if not waiting:
                await asyncio.Event().wait()  # the caller stays
            return waiting.pop(0)

        async def send(message: Any) -> None:
            told.append(message)

        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method,
            "scheme": "http", "path": path, "raw_path": path.encode(), "query_string": query,
            "root_path": "", "headers": [(b"host", b"127.0.0.1"), (b"content-type", kind)],
            "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80),
        }  # fmt: skip
        assert self.app is not None
        await self._unless_broken(self.app(scope, receive, send))
        return told[0]["status"], b"".join(one.get("body", b"") for one in told[1:])

    async def _unless_broken(self, answering: Coroutine[Any, Any, None]) -> None:
        """Wait for an answer; where a worker ended there may never be one, and what ended it is raised."""
        task = asyncio.ensure_future(answering)
        loop = asyncio.get_running_loop()
        self.broken.noticed = lambda: loop.call_soon_threadsafe(task.cancel)
        if self.broken.errors:  # between two requests
            self.broken.noticed()
        try:
            await task
        except asyncio.CancelledError:
            self.broken.tell()
            raise
        finally:
            self.broken.noticed = lambda: None


def _no_json(name: str) -> NoReturn:
    raise AssertionError(f"{name} in an answer is no JSON")


Case = Callable[[_Server, bytes], Coroutine[Any, Any, None]]


def _served(case: Case) -> Callable[[], AbstractContextManager[Run]]:
    """Return what opens a server and gives a run of it."""

    @contextmanager
    def opened() -> Iterator[Run]:
        server = _Server()
        logging.getLogger("contextfind").addHandler(server.broken)
        try:
            with tempfile.TemporaryDirectory() as place, asyncio.Runner() as runner:
                life = server.open(Path(place))
                runner.run(life.__aenter__())
                try:
                    yield lambda data: runner.run(case(server, data))
                finally:
                    runner.run(life.__aexit__(None, None, None))
        finally:
            logging.getLogger("contextfind").removeHandler(server.broken)

    return opened


async def find(server: _Server, data: bytes) -> None:
    """Any body of a find is answered or refused."""
    found = await server.post("/api/v1/search/find", data)
    if found is not None:
        assert found["total"] == sum(
            len(found[shelf]) for shelf in ("memories", "resources", "skills")
        )


async def form(server: _Server, data: bytes) -> None:
    """The first line is the content type, the rest the body of an upload."""
    kind, _, body = data.partition(b"\n")
    kept = await server.post(_UPLOAD, body, kind)
    if kept is not None:
        assert server.house is not None
        await server.house.uploads.drop(kept["temp_file_id"])


async def parcel(server: _Server, data: bytes) -> None:
    """An upload is judged and added as skills, and added as documents, and all is taken away again."""
    assert server.house is not None
    who = Identity("default", "default")
    uploads = [await server.house.uploads.put(who, "sent", data) for _ in range(2)]
    told = {"temp_file_id": uploads[0]}
    await _sent(server, "/api/v1/skills/validate", told)
    await _sent(server, "/api/v1/skills", {**told, "wait": True})
    told = {"temp_file_id": uploads[1], "to": "viking://resources/sent", "wait": True}
    await _sent(server, "/api/v1/resources", told)
    for upload in uploads:
        await server.house.uploads.drop(upload)
    for place in (b"viking://user/default/skills", b"viking://resources/sent"):
        await server.call("DELETE", "/api/v1/fs", query=b"recursive=true&uri=" + place)


async def _sent(server: _Server, path: str, body: object) -> Any:
    return await server.post(path, json.dumps(body).encode())


HOUSES = (
    Target("find", seeds.questions, _served(find), seeds.FIND_WORDS, seconds=4),
    Target("multipart", seeds.uploads, _served(form), seeds.UPLOAD_WORDS, seconds=4),
    Target("parcels", seeds.parcels, _served(parcel), seeds.FRONT_WORDS, kneaded_zip, seconds=8),
)
