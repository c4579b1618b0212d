"""What is sent again, after how long, and when not."""

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count

import httpx
import pytest

from contextfind.client import AsyncClient, Client, failure
from contextfind.client.surroundings import Surroundings
from tests.stubs.flaky import Flaky, bad, good
from tests.stubs.loopback import Reply
from tests.unit.client.conftest import Connect

FOUND = {"memories": [], "resources": [], "skills": [], "total": 0}
HEARD = {"session_id": "s", "message_count": 1, "added": 1, "pending_tokens": 2}
Serve = Callable[..., Flaky]


@dataclass
class Waits:
    """Surroundings in which waiting takes no time and is noted."""

    chance: float = 1.0
    waited: list[float] = field(default_factory=list)
    names: Iterator[int] = field(default_factory=count)

    def around(self) -> Surroundings:
        return Surroundings(
            pause=self.waited.append,
            sleep=self.sleep,
            chance=lambda: self.chance,
            fresh_id=lambda: f"id{next(self.names)}",
        )

    async def sleep(self, seconds: float) -> None:
        self.waited.append(seconds)


@pytest.fixture
def serve() -> Iterator[Serve]:
    opened: list[Flaky] = []

    def start(*answers: Reply) -> Flaky:
        opened.append(Flaky(*answers))
        return opened[-1]

    yield start
    for server in opened:
        server.close()


@pytest.mark.parametrize("status", [429, 502, 503, 504])
async def test_a_find_is_sent_again_when_the_server_says_not_now(
    connect: Connect, serve: Serve, status: int
) -> None:
    server, waits = serve(bad(status), bad(status), good(FOUND)), Waits()
    found = await connect(server.root_url, around=waits.around()).find("x")
    assert found.total == 0
    assert len(server.asked) == 3
    assert waits.waited == [0.25, 0.5]


async def test_chance_makes_a_wait_up_to_half_shorter(connect: Connect, serve: Serve) -> None:
    server, waits = serve(bad(503), good(FOUND)), Waits(chance=0.0)
    await connect(server.root_url, around=waits.around()).find("x")
    assert waits.waited == [0.125]


async def test_the_last_answer_is_what_the_caller_gets(connect: Connect, serve: Serve) -> None:
    server, waits = serve(bad(503), bad(503), bad(429, "RESOURCE_EXHAUSTED")), Waits()
    with pytest.raises(failure.ResourceExhaustedError, match="not now"):
        await connect(server.root_url, around=waits.around()).find("x")
    assert len(server.asked) == 3


async def test_the_server_says_how_long_to_wait(connect: Connect, serve: Serve) -> None:
    server, waits = serve(bad(429, Retry_After="7"), good(FOUND)), Waits()
    await connect(server.root_url, around=waits.around()).find("x")
    assert waits.waited == [7.0]


async def test_a_wait_longer_than_the_timeout_is_not_begun(connect: Connect, serve: Serve) -> None:
    server, waits = serve(bad(429, "RESOURCE_EXHAUSTED", Retry_After="7"), good(FOUND)), Waits()
    client = connect(server.root_url, timeout=6.0, around=waits.around())
    with pytest.raises(failure.ResourceExhaustedError) as caught:
        await client.find("x")
    assert caught.value.retry_after == 7.0
    assert (len(server.asked), waits.waited) == (1, [])


async def test_a_date_to_wait_for_is_as_good_as_none(connect: Connect, serve: Serve) -> None:
    date = "Wed, 21 Oct 2015 07:28:00 GMT"
    server, waits = serve(bad(503, Retry_After=date), good(FOUND)), Waits()
    await connect(server.root_url, around=waits.around()).find("x")
    assert waits.waited == [0.25]


@pytest.mark.parametrize("status", [400, 401, 404, 409, 500, 501])
async def test_an_error_that_stays_is_not_tried_again(
    connect: Connect, serve: Serve, status: int
) -> None:
    server = serve(bad(status, "INTERNAL"), good(FOUND))
    with pytest.raises(failure.ClientError):
        await connect(server.root_url, around=Waits().around()).find("x")
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("mkdir", ("viking://resources/a",)),
        ("commit_session", ("s",)),
        ("create_session", ()),
        ("add_upload", ("upload_1",)),
        ("add_key", ("a", "u")),
        ("write", ("viking://resources/a.md", "x", "append")),
        ("write", ("viking://resources/a.md", "x", "create")),
        ("wait", ()),
    ],
)
async def test_what_would_be_done_twice_is_sent_once(
    connect: Connect, serve: Serve, name: str, given: tuple[str, ...]
) -> None:
    server, waits = serve(bad(503), good({})), Waits()
    client = connect(server.root_url, around=waits.around())
    with pytest.raises(failure.UnavailableError):
        await getattr(client, name)(*given)
    assert (len(server.asked), waits.waited) == (1, [])


async def test_a_write_that_replaces_may_be_sent_again(connect: Connect, serve: Serve) -> None:
    server = serve(bad(502), good({"uri": "viking://resources/a.md"}))
    client = connect(server.root_url, around=Waits().around())
    assert (await client.write("viking://resources/a.md", "x")).uri == "viking://resources/a.md"
    assert len(server.asked) == 2


async def test_a_message_that_is_sent_again_has_the_same_id(connect: Connect, serve: Serve) -> None:
    server = serve(bad(504), good(HEARD))
    client = connect(server.root_url, around=Waits().around())
    done = await client.add_message("s", "user", "hello")
    assert [body["id"] for _, body in server.asked] == ["id0", "id0"]
    assert done.message_ids == ("id0",)
    await client.add_message("s", "user", "hello", message_id="mine")
    assert server.asked[-1][1] == {"role": "user", "content": "hello", "id": "mine"}


async def test_messages_of_a_batch_have_their_own_ids_also_when_sent_again(
    connect: Connect, serve: Serve
) -> None:
    server = serve(bad(503), good(HEARD))
    said = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b", "id": "mine"}]
    done = await connect(server.root_url, around=Waits().around()).add_messages("s", said)
    sent = [[one["id"] for one in body["messages"]] for _, body in server.asked]
    assert sent == [["id0", "mine"], ["id0", "mine"]]
    assert done.message_ids == ("id0", "mine")
    assert "id" not in said[0]  # the caller's own are left alone


async def test_who_wants_no_retries_gets_none(connect: Connect, serve: Serve) -> None:
    server = serve(bad(503), good(FOUND))
    with pytest.raises(failure.UnavailableError):
        await connect(server.root_url, retries=0).find("x")
    assert len(server.asked) == 1


async def test_a_broken_connection_is_made_again() -> None:
    answer = json.dumps({"status": "ok", "result": FOUND}).encode()
    seen = count()

    async def hang_up_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"}")
        if next(seen):
            head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(answer)}\r\nConnection: close\r\n\r\n"
            writer.write(head.encode() + answer)
            await writer.drain()
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(hang_up_once, "127.0.0.1", 0)
    url, waits = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", Waits()
    async with server:
        async with AsyncClient(url, around=waits.around()) as client:
            assert (await client.find("x")).total == 0
        with Client(url, around=waits.around()) as blocking:
            assert (await asyncio.to_thread(blocking.find, "x")).total == 0
    assert waits.waited == [0.25]


async def test_a_server_that_is_away_is_asked_as_often_as_was_said(connect: Connect) -> None:
    waits = Waits()
    client = connect("http://127.0.0.1:1", retries=3, around=waits.around())
    with pytest.raises(failure.UnavailableError, match="nothing answers"):
        await client.health()
    assert waits.waited == [0.25, 0.5, 1.0]


class Drip(httpx.SyncByteStream):
    """A body that comes a byte at a time, each after ten seconds of a clock that is not real."""

    def __init__(self, tick: Callable[[], object]) -> None:
        self._tick = tick

    def __iter__(self) -> Iterator[bytes]:
        for _ in range(100):
            self._tick()
            yield b" "


def test_a_body_that_never_ends_ends_at_the_timeout() -> None:
    now = count(0, 10)
    around = Surroundings(clock=lambda: float(next(now)))

    class Slow(httpx.BaseTransport):
        def handle_request(self, _: httpx.Request) -> httpx.Response:
            return httpx.Response(200, stream=Drip(lambda: next(now)))

    with (
        Client(timeout=60, transport=Slow(), around=around) as client,
        pytest.raises(failure.DeadlineExceededError, match="within 60 s"),
    ):
        client.read("viking://resources/a.md")
    assert next(now) < 200
