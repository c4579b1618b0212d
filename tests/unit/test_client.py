import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from contextfind.client import Client, ClientError
from tests.unit.cli.stub_server import StubServer

FOUND = {"memories": [], "resources": [], "skills": [], "total": 0}


@pytest.fixture
def stub() -> Iterator[StubServer]:
    with StubServer() as server:
        yield server


async def test_a_find_sends_what_was_said_and_nothing_else(stub: StubServer) -> None:
    stub.results("POST", "/api/v1/search/find", FOUND)
    async with Client(stub.url, "secret") as client:
        assert await client.find("roll back", limit=3, tags=["a=b"]) == FOUND
    assert stub.last.json == {"query": "roll back", "limit": 3, "tags": ["a=b"]}
    assert stub.last.headers["x-api-key"] == "secret"


async def test_without_a_key_no_key_is_sent(stub: StubServer) -> None:
    stub.results("POST", "/api/v1/search/find", FOUND)
    async with Client(stub.url) as client:
        await client.find("x")
    assert "x-api-key" not in stub.last.headers


async def test_addresses_arrive_as_they_are(stub: StubServer) -> None:
    uri = "viking://resources/a b/c+d&e#f/回滚 [1] 🙂.md"
    stub.results("GET", "/api/v1/content/read", "text")
    async with Client(stub.url) as client:
        assert await client.read(uri) == "text"
    assert stub.last.query == {"uri": uri}


async def test_a_listing_says_whether_there_is_more(stub: StubServer) -> None:
    entry = {"uri": "viking://resources/a", "name": "a", "isDir": True, "size": 0, "modTime": ""}
    stub.answer("GET", "/api/v1/fs/ls", {"status": "ok", "result": [entry], "has_more": True})
    async with Client(stub.url) as client:
        assert await client.ls("viking://resources", limit=1) == ([entry], True)


async def test_a_find_names_the_targets_at_which_nothing_is_stored(stub: StubServer) -> None:
    nothing = {"memories": [], "resources": [], "skills": [], "total": 0}
    stub.results("POST", "/api/v1/search/find", nothing)
    async with Client(stub.url) as client:
        assert "unknown_targets" not in await client.find("x")
        stub.headers["X-Unknown-Targets"] = "viking://agent/a%2Cb,viking://resources/%E6%B2%A1"
        found = await client.find("x", target_uri=["viking://agent/a,b", "viking://resources/没"])
    assert found["unknown_targets"] == ["viking://agent/a,b", "viking://resources/没"]


async def test_ids_cannot_leave_their_place_in_the_path(stub: StubServer) -> None:
    stub.results("DELETE", "/api/v1/admin/keys/..%2Faccounts%3Fx", None)
    async with Client(stub.url) as client:
        await client.revoke_key("../accounts?x")


async def test_an_upload_is_streamed_and_its_progress_told(
    stub: StubServer, tmp_path: Path
) -> None:
    file = tmp_path / "a.bin"
    file.write_bytes(b"x" * 200_000)
    stub.results("POST", "/api/v1/resources/temp_upload", {"temp_file_id": "upload_1.bin"})
    told: list[tuple[int, int]] = []
    async with Client(stub.url) as client:
        upload = await client.upload(file, "b.bin", lambda done, total: told.append((done, total)))
    assert upload == "upload_1.bin"
    assert b'name="file"; filename="b.bin"' in stub.last.body
    assert stub.last.body.count(b"x") >= 200_000
    assert len(told) > 2
    assert told[-1] == (200_000, 200_000)


class TestErrors:
    @pytest.mark.parametrize(
        ("status", "code"),
        [(400, "INVALID_ARGUMENT"), (404, "NOT_FOUND"), (409, "CONFLICT"), (501, "UNIMPLEMENTED")],
    )
    async def test_are_the_servers_own_code_message_and_details(
        self, stub: StubServer, status: int, code: str
    ) -> None:
        stub.fails("GET", "/api/v1/fs/stat", status, code, "what it says")
        async with Client(stub.url) as client:
            with pytest.raises(ClientError) as caught:
                await client.stat("viking://resources/a")
        error = caught.value
        assert (error.code, error.status, error.message) == (code, status, "what it says")
        assert error.details == {"field": "x"}

    @pytest.mark.parametrize(
        ("status", "code"),
        [
            (401, "UNAUTHENTICATED"),
            (413, "RESOURCE_EXHAUSTED"),
            (418, "INTERNAL"),
            (502, "UNAVAILABLE"),
            (504, "DEADLINE_EXCEEDED"),
        ],
    )
    async def test_of_something_in_between_are_named_by_their_status(
        self, stub: StubServer, status: int, code: str
    ) -> None:
        stub.answer("GET", "/api/v1/fs/stat", "<html>NOT_FOUND</html>", status=status)
        async with Client(stub.url) as client:
            with pytest.raises(ClientError) as caught:
                await client.stat("viking://resources/a")
        assert (caught.value.code, caught.value.status) == (code, status)

    async def test_a_proxys_plain_503_keeps_its_body(self, stub: StubServer) -> None:
        stub.answer("GET", "/ready", "upstream is being deployed\n", status=503)
        async with Client(stub.url) as client:
            with pytest.raises(ClientError, match="upstream is being deployed") as caught:
                await client.ready()
        assert caught.value.code == "UNAVAILABLE"
        assert caught.value.body == "upstream is being deployed\n"

    async def test_not_ready_is_an_answer(self, stub: StubServer) -> None:
        body = {"status": "not_ready", "checks": {"index": "loading"}}
        stub.answer("GET", "/ready", body, status=503)
        async with Client(stub.url) as client:
            assert await client.ready() == body

    async def test_a_web_page_is_no_answer(self, stub: StubServer) -> None:
        stub.answer("GET", "/health", "<html>hello</html>")
        async with Client(stub.url) as client:
            with pytest.raises(ClientError, match="no contextfind server"):
                await client.health()

    async def test_nobody_there_says_how_to_start_a_server(self) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            async with Client(f"http://127.0.0.1:{probe.getsockname()[1]}") as client:
                with pytest.raises(ClientError, match="start it with: contextfind serve") as caught:
                    await client.health()
        assert (caught.value.code, caught.value.status) == ("UNAVAILABLE", None)

    async def test_silence_ends_at_the_timeout(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            url = f"http://127.0.0.1:{silent.getsockname()[1]}"
            async with Client(url, timeout=0.05) as client:
                with pytest.raises(ClientError, match=r"within 0\.05 s") as caught:
                    await client.health()
        assert caught.value.code == "DEADLINE_EXCEEDED"

    async def test_a_hang_up_is_unavailable(self) -> None:
        async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.close()
            await writer.wait_closed()

        server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
        async with (
            server,
            Client(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}") as client,
        ):
            with pytest.raises(ClientError) as caught:
                await client.health()
        assert caught.value.code == "UNAVAILABLE"

    @pytest.mark.parametrize(
        "url", ["127.0.0.1:1933", "ftp://host", "http://", "http://host:port", ""]
    )
    def test_a_wrong_url_is_refused_before_anything_is_sent(self, url: str) -> None:
        with pytest.raises(ClientError) as caught:
            Client(url)
        assert caught.value.code == "INVALID_ARGUMENT"
        assert repr(url) in caught.value.message

    @pytest.mark.parametrize("key", ["schlüssel", "a\nb", " a"])
    def test_a_key_that_no_header_can_carry_is_refused_and_not_shown(self, key: str) -> None:
        with pytest.raises(ClientError) as caught:
            Client(key=key)
        assert key not in str(caught.value)


async def test_a_wait_may_last_longer_than_other_calls(stub: StubServer) -> None:
    stub.results("POST", "/api/v1/system/wait", {})
    async with Client(stub.url, timeout=0.001) as client:
        await client.wait(timeout=5)
    assert stub.last.json == {"timeout": 5}


async def test_closing_twice_is_fine() -> None:
    client = Client()
    await client.close()
    await client.close()
