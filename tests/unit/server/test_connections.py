"""Slow and idle connections to a server on a real socket."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from contextfind.server.connections import PatientConnection

GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
LARGE = bytes(8 * 1024 * 1024)  # more than the buffers of both sides take


class Hasty(PatientConnection):
    head_seconds = 0.3
    look_seconds = 0.3
    least_taken = 20 * 1024
    most = 5


class Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def app(scope: Scope, _: Receive, send: Send) -> None:
    if scope["path"] == "/slow":
        await asyncio.sleep(0.7)
    if scope["path"] == "/held":
        await asyncio.Event().wait()
    body = LARGE if scope["path"] == "/large" else b"ok"
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": 200, "headers": [length]})
    await send({"type": "http.response.body", "body": body})


@asynccontextmanager
async def served(kind: type[PatientConnection] = Hasty) -> AsyncIterator[tuple[Server, int]]:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    server = Server(uvicorn.Config(app, http=kind, log_config=None, lifespan="off"))
    running = asyncio.create_task(server.serve(sockets=[listener]))
    await until(lambda: server.started)
    try:
        yield server, listener.getsockname()[1]
    finally:
        server.should_exit = server.force_exit = True
        await running
        listener.close()


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield reader, writer
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


async def ended(reader: asyncio.StreamReader) -> bytes:
    """Return what comes until the server ends the connection."""
    said = bytearray()
    with contextlib.suppress(ConnectionError):
        async with asyncio.timeout(30):
            while more := await reader.read(65_536):
                said += more
    return bytes(said)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not holds():  # noqa: ASYNC110 - uvicorn tells nobody
            await asyncio.sleep(0.01)


async def trickle(writer: asyncio.StreamWriter, data: bytes) -> None:
    with contextlib.suppress(ConnectionError):
        for at in range(len(data)):
            writer.write(data[at : at + 1])
            await writer.drain()
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: " + b"x" * 600])
async def test_a_head_that_is_not_there_in_time_ends_the_connection(sent: bytes) -> None:
    async with served() as (_, port), connected(port) as (reader, writer):
        trickling = asyncio.create_task(trickle(writer, sent))
        assert await ended(reader) == b""
        trickling.cancel()


async def test_the_second_head_of_a_connection_must_be_in_time_too() -> None:
    async with served() as (_, port), connected(port) as (reader, writer):
        writer.write(GET)
        assert (await reader.readuntil(b"ok")).endswith(b"ok")
        trickling = asyncio.create_task(trickle(writer, b"GET / HTTP/1.1\r\n" + b"x" * 600))
        assert await ended(reader) == b""
        trickling.cancel()


async def test_an_answer_that_takes_long_to_make_is_waited_for() -> None:
    async with served() as (_, port), connected(port) as (reader, writer):
        writer.write(GET.replace(b"/ ", b"/slow "))
        assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")


async def test_an_answer_that_nobody_takes_is_dropped() -> None:
    async with served() as (server, port), connected(port) as (reader, writer):
        writer.write(GET.replace(b"/ ", b"/large "))
        await reader.read(1)
        await until(lambda: not server.server_state.connections)
        assert len(await ended(reader)) < len(LARGE)


async def test_an_answer_that_is_taken_slowly_but_steadily_arrives_whole() -> None:
    class Calm(Hasty):
        look_seconds = 1  # a loaded machine may stand still for a part of it

    async with served(Calm) as (_, port), connected(port) as (reader, writer):
        writer.write(GET.replace(b"/ ", b"/large "))
        size = 0
        while size < len(LARGE):
            more = await reader.read(256 * 1024)
            assert more, f"cut off after {size} bytes"
            size += len(more)
            await asyncio.sleep(0.07)


async def test_an_idle_connection_makes_room_for_a_new_one_and_one_at_work_does_not() -> None:
    class Roomy(Hasty):
        head_seconds = 60

    async with served(Roomy) as (server, port), contextlib.AsyncExitStack() as stack:
        places = [await stack.enter_async_context(connected(port)) for _ in range(5)]
        places[0][1].write(GET.replace(b"/ ", b"/held "))
        await until(lambda: len(server.server_state.tasks) == 1)
        for _ in range(20):
            async with connected(port) as (reader, writer):
                writer.write(GET)
                assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")
            assert len(server.server_state.connections) <= 6
        assert len(server.server_state.tasks) == 1


async def test_however_many_come_at_once_no_more_than_the_bound_stay() -> None:
    async with served() as (server, port), contextlib.AsyncExitStack() as stack:
        for one in [socket.create_connection(("127.0.0.1", port)) for _ in range(20)]:
            stack.callback(one.close)
        await asyncio.sleep(0.1)
        async with connected(port) as (reader, writer):
            writer.write(GET)
            assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")
            assert len(server.server_state.connections) <= 5


async def test_when_all_are_at_work_the_newest_is_refused() -> None:
    async with served() as (server, port), contextlib.AsyncExitStack() as stack:
        for _ in range(5):
            _, writer = await stack.enter_async_context(connected(port))
            writer.write(GET.replace(b"/ ", b"/held "))
        await until(lambda: len(server.server_state.tasks) == 5)
        async with connected(port) as (reader, writer):
            writer.write(GET)
            assert await ended(reader) == b""
