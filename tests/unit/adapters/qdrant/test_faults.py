"""A cluster that is down, slow, broken, or of no use: UNAVAILABLE in time, and well again without being opened again."""

import asyncio
import socket
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest
from qdrant_client import AsyncQdrantClient

from contextfind.adapters.qdrant.index import QdrantIndex
from contextfind.adapters.qdrant.place import Place
from contextfind.domain.errors import FailedPreconditionError, UnavailableError
from contextfind.domain.filters import Everything
from contextfind.domain.scope import Scope
from contextfind.domain.uri import ROOT
from contextfind.ports.index import Probe
from contextfind.ports.store import Change
from tests.builders import DIMENSION, make_change, make_record, unit
from tests.clusters import MEMORY, NOWHERE
from tests.fakes import SimpleTokenizer
from tests.stubs.qdrant_server import QdrantServer

PROBE = Probe(Scope("acme", "ann", (ROOT,)), Everything(), 5, unit(1), ("cache",))
CHANGE = make_change(1, make_record(1), ["cache"], [1])
LATER = make_change(2, make_record(2, "viking://resources/b.md"), ["cache"], [2])
PATIENT = replace(NOWHERE, timeout=60.0)

Trouble = Callable[[], Awaitable[httpx.Response]]


async def down() -> httpx.Response:
    raise httpx.ConnectError("All connection attempts failed")


async def slow() -> httpx.Response:
    await asyncio.sleep(600)
    raise AssertionError


async def broken() -> httpx.Response:
    return httpx.Response(500, json={"status": {"error": "Service internal error: disk"}})


async def babbling() -> httpx.Response:
    return httpx.Response(200, content=b"<html>a login page</html>")


async def overloaded() -> httpx.Response:
    return httpx.Response(
        429, headers={"Retry-After": "3"}, json={"status": {"error": "Rate limiting exceeded"}}
    )


async def forbidden() -> httpx.Response:
    return httpx.Response(403, content=b"Forbidden: read-only access")


class Troubled(QdrantServer):
    trouble: Trouble | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if self.trouble is not None:
            return await self.trouble()
        return await super().handle_async_request(request)


@pytest.fixture
async def server() -> AsyncIterator[Troubled]:
    with tempfile.TemporaryDirectory(dir=MEMORY) as home:
        made = Troubled(Path(home))
        yield made
        await made.aclose()


async def open_index(server: QdrantServer) -> QdrantIndex:
    client = AsyncQdrantClient("http://localhost", transport=server, check_compatibility=False)
    return await QdrantIndex.open(PATIENT, DIMENSION, "tests", SimpleTokenizer(), client)


CALLS: Mapping[str, Callable[[QdrantIndex], Awaitable[object]]] = {
    "search": lambda index: index.search([PROBE]),
    "explain": lambda index: index.explain([PROBE]),
    "position": lambda index: index.position(),
    "follow": lambda index: index.follow([LATER]),
    "tidy": lambda index: index.tidy(),
}


@pytest.mark.parametrize("trouble", [down, slow, broken, babbling, overloaded, forbidden])
async def test_every_call_says_unavailable_in_time_and_works_again_after_it(
    server: Troubled, trouble: Trouble
) -> None:
    index = await open_index(server)
    await index.follow([CHANGE])
    server.trouble = trouble
    patient = index._cluster
    if trouble is slow:
        index._cluster = replace(patient, timeout=0.2)
    for name, call in CALLS.items():
        with pytest.raises(UnavailableError) as caught:
            await call(index)
        assert caught.value.details["retryable"] is (trouble is not forbidden), name
    server.trouble, index._cluster = None, patient
    await index.follow([LATER])
    [hits] = await index.search([PROBE])
    assert [hit.id for hit in hits] == [1, 2]
    await index.aclose()


async def test_an_index_is_built_anew_over_the_wire_while_it_answers(server: Troubled) -> None:
    index = await open_index(server)
    await index.follow([CHANGE, LATER])

    async def log(after: int, limit: int) -> Sequence[Change]:
        return [change for change in (CHANGE, LATER) if change.position > after][:limit]

    async def step(position: int) -> None:
        assert position == 2
        [hits] = await index.search([PROBE])
        assert [hit.id for hit in hits] == [1, 2]

    assert await index.rebuild(log, step) == []
    [hits] = await index.search([PROBE])
    assert [hit.id for hit in hits] == [1, 2]
    assert [name.rpartition("-")[2] for name in server.shards] == ["2"]
    await index.aclose()


async def test_a_cluster_that_is_down_at_the_start_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nobody listens there
        place = Place(f"http://127.0.0.1:{taken.getsockname()[1]}", timeout=20.0)
        with pytest.raises(UnavailableError, match="Qdrant"):
            await QdrantIndex.open(place, DIMENSION, "tests", SimpleTokenizer())


async def test_a_closed_index_says_so(server: Troubled) -> None:
    index = await open_index(server)
    await index.aclose()
    await index.aclose()
    for call in CALLS.values():
        with pytest.raises(UnavailableError, match="closed"):
            await call(index)


class Old(httpx.AsyncBaseTransport):
    """A server of another time."""

    def __init__(self, version: str) -> None:
        self._version = version

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        assert request.url.path == "/"
        return httpx.Response(200, json={"title": "qdrant", "version": self._version})


@pytest.mark.parametrize("version", ["1.19.4", "0.11.0", "1.9.0"])
async def test_a_server_that_is_too_old_is_refused_with_what_is_needed(version: str) -> None:
    client = AsyncQdrantClient(
        "http://localhost", transport=Old(version), check_compatibility=False
    )
    with pytest.raises(FailedPreconditionError, match=r"1\.20 or newer"):
        await QdrantIndex.open(NOWHERE, DIMENSION, "tests", SimpleTokenizer(), client)


class Locked(ThreadingHTTPServer):
    """Wants a key, over a real connection; notes those it was sent."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Refusing)
        self.keys: list[str | None] = []


class _Refusing(BaseHTTPRequestHandler):
    server: Locked

    def do_GET(self) -> None:
        self.server.keys.append(self.headers.get("api-key"))
        self.send_error(401, "Must provide an API key")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection")
async def test_the_key_is_sent_and_never_told() -> None:
    with Locked() as locked:
        serving = asyncio.create_task(asyncio.to_thread(locked.handle_request))
        url = f"http://127.0.0.1:{locked.server_port}"
        place = Place(url, api_key="sesame", timeout=30.0)
        with pytest.raises(UnavailableError) as caught:
            await QdrantIndex.open(place, DIMENSION, "tests", SimpleTokenizer())
        await serving
    assert locked.keys == ["sesame"]
    assert "sesame" not in f"{caught.value} {caught.value.details} {place!r}"
    assert "Must provide an API key" in str(caught.value)
    assert caught.value.details["retryable"] is False
