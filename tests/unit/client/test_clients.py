import asyncio
import inspect
import socket
from pathlib import Path

import pytest

from contextfind.client import AsyncClient, Client, ClientError, failure
from contextfind.client.answers import Entry
from contextfind.client.findings import Found
from tests.unit.cli.stub_server import StubServer
from tests.unit.client.conftest import Connect

FIND = "/api/v1/search/find"
FOUND = {"memories": [], "resources": [], "skills": [], "total": 0}


async def test_a_find_sends_what_was_said_and_nothing_else(
    stub: StubServer, connect: Connect
) -> None:
    stub.results("POST", FIND, FOUND)
    client = connect(None, "secret")
    assert await client.find("roll back", limit=3, tags=["a=b"]) == Found()
    assert stub.last.json == {"query": "roll back", "limit": 3, "tags": ["a=b"]}
    assert stub.last.headers["x-api-key"] == "secret"
    assert stub.last.headers["content-type"] == "application/json"


async def test_a_search_names_its_session_and_tells_its_plan(
    stub: StubServer, connect: Connect
) -> None:
    queries = [{"query": "undo a release", "context_type": None, "intent": "how", "priority": 2}]
    plan = {"reasoning": "it means the release", "queries": queries}
    stub.results("POST", "/api/v1/search/search", {**FOUND, "query_plan": plan})
    found = await connect().search("how do we undo it?", "s1", limit=5)
    assert stub.last.json == {"query": "how do we undo it?", "session_id": "s1", "limit": 5}
    assert found.query_plan.reasoning == "it means the release"
    (query,) = found.query_plan.queries
    assert (query.query, query.context_type, query.priority) == ("undo a release", None, 2)


async def test_without_a_key_no_key_is_sent(stub: StubServer, connect: Connect) -> None:
    stub.results("POST", FIND, FOUND)
    await connect().find("x")
    assert "x-api-key" not in stub.last.headers


async def test_addresses_arrive_as_they_are(stub: StubServer, connect: Connect) -> None:
    uri = "viking://resources/a b/c+d&e#f/回滚 [1] 🙂.md"
    stub.results("GET", "/api/v1/content/read", "text")
    assert await connect().read(uri) == "text"
    assert stub.last.query == {"uri": uri}


async def test_a_listing_says_whether_there_is_more(stub: StubServer, connect: Connect) -> None:
    entry = {"uri": "viking://resources/a", "name": "a", "isDir": True, "size": 0, "modTime": "t"}
    stub.answer("GET", "/api/v1/fs/ls", {"status": "ok", "result": [entry], "has_more": True})
    listing = await connect().ls("viking://resources", limit=1)
    assert listing.has_more is True
    assert listing.entries == (
        Entry(uri="viking://resources/a", name="a", is_dir=True, mod_time="t"),
    )
    assert listing.entries[0].raw == entry


async def test_a_find_names_the_targets_at_which_nothing_is_stored(
    stub: StubServer, connect: Connect
) -> None:
    stub.results("POST", FIND, FOUND)
    client = connect()
    assert (await client.find("x")).unknown_targets == ()
    stub.headers["X-Unknown-Targets"] = "viking://agent/a%2Cb,viking://resources/%E6%B2%A1"
    found = await client.find("x", target_uri=["viking://agent/a,b", "viking://resources/没"])
    assert found.unknown_targets == ("viking://agent/a,b", "viking://resources/没")


async def test_a_find_tells_what_was_done_without(stub: StubServer, connect: Connect) -> None:
    stub.results("POST", FIND, FOUND)
    stub.headers["X-Notes"] = "the%20reranker%20is%20down%2C%20try%20later,another"
    found = await connect().find("x")
    assert found.notes == ("the reranker is down, try later", "another")


async def test_the_hits_of_all_shelves_have_one_order(stub: StubServer, connect: Connect) -> None:
    def hit(uri: str, score: float) -> dict[str, object]:
        return {"uri": uri, "context_type": "resource", "level": 2, "score": score}

    shelves = {
        "memories": [hit("viking://user/u/memories/b", 0.5)],
        "resources": [hit("viking://resources/c", 0.9), hit("viking://resources/a", 0.5)],
        "skills": [hit("viking://agent/skills/s", 1)],
    }
    stub.results("POST", FIND, {**FOUND, **shelves, "total": 4})
    found = await connect().find("x")
    assert [hit.uri.rpartition("/")[2] for hit in found.hits] == ["s", "c", "a", "b"]
    assert found.hits[0].score == 1.0


async def test_ids_cannot_leave_their_place_in_the_path(stub: StubServer, connect: Connect) -> None:
    stub.results("DELETE", "/api/v1/admin/keys/..%2Faccounts%3Fx", None)
    await connect().revoke_key("../accounts?x")


async def test_an_upload_is_streamed_and_its_progress_told(
    stub: StubServer, connect: Connect, tmp_path: Path
) -> None:
    file = tmp_path / "a.bin"
    file.write_bytes(b"x" * 200_000)
    stub.results("POST", "/api/v1/resources/temp_upload", {"temp_file_id": "upload_1.bin"})
    told: list[tuple[int, int]] = []
    upload = await connect().upload(file, "b.bin", lambda done, total: told.append((done, total)))
    assert upload == "upload_1.bin"
    assert b'name="file"; filename="b.bin"' in stub.last.body
    assert stub.last.body.count(b"x") >= 200_000
    assert len(told) > 2
    assert told[-1] == (200_000, 200_000)


class TestErrors:
    @pytest.mark.parametrize(
        ("status", "code", "kind"),
        [
            (400, "INVALID_ARGUMENT", failure.InvalidArgumentError),
            (400, "INVALID_URI", failure.InvalidArgumentError),
            (401, "UNAUTHENTICATED", failure.UnauthenticatedError),
            (403, "PERMISSION_DENIED", failure.PermissionDeniedError),
            (404, "NOT_FOUND", failure.NotFoundError),
            (409, "CONFLICT", failure.ConflictError),
            (409, "ALREADY_EXISTS", failure.AlreadyExistsError),
            (412, "FAILED_PRECONDITION", failure.FailedPreconditionError),
            (429, "RESOURCE_EXHAUSTED", failure.ResourceExhaustedError),
            (501, "UNIMPLEMENTED", failure.UnimplementedError),
            (503, "UNAVAILABLE", failure.UnavailableError),
            (504, "DEADLINE_EXCEEDED", failure.DeadlineExceededError),
            (500, "INTERNAL", ClientError),
        ],
    )
    async def test_are_the_servers_own_code_message_and_details_in_one_tree(
        self,
        stub: StubServer,
        connect: Connect,
        status: int,
        code: str,
        kind: type[ClientError],
    ) -> None:
        stub.headers["X-Request-ID"] = "request7"
        stub.fails("GET", "/api/v1/fs/stat", status, code, "what it says")
        with pytest.raises(kind) as caught:
            await connect(retries=0).stat("viking://resources/a")
        error = caught.value
        assert type(error) is kind
        assert (error.code, error.status, error.message) == (code, status, "what it says")
        assert error.details == {"field": "x"}
        assert error.request_id == "request7"
        assert "request7" in repr(error)

    async def test_what_is_there_already_is_a_conflict(
        self, stub: StubServer, connect: Connect
    ) -> None:
        stub.fails("POST", "/api/v1/sessions", 409, "ALREADY_EXISTS", "there")
        with pytest.raises(failure.ConflictError):
            await connect().create_session("s")

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
        self, stub: StubServer, connect: Connect, status: int, code: str
    ) -> None:
        stub.answer("GET", "/api/v1/fs/stat", "<html>NOT_FOUND</html>", status=status)
        with pytest.raises(ClientError) as caught:
            await connect(retries=0).stat("viking://resources/a")
        assert (caught.value.code, caught.value.status) == (code, status)

    async def test_a_proxys_plain_503_keeps_its_body(
        self, stub: StubServer, connect: Connect
    ) -> None:
        stub.answer("GET", "/ready", "upstream is being deployed\n", status=503)
        with pytest.raises(ClientError, match="upstream is being deployed") as caught:
            await connect().ready()
        assert caught.value.code == "UNAVAILABLE"
        assert caught.value.body == "upstream is being deployed\n"

    async def test_not_ready_is_an_answer(self, stub: StubServer, connect: Connect) -> None:
        body = {"status": "not_ready", "checks": {"index": "loading"}}
        stub.answer("GET", "/ready", body, status=503)
        readiness = await connect().ready()
        assert readiness.raw == body
        assert readiness.checks == {"index": "loading"}
        assert not readiness.ready
        assert len(stub.asked) == 1

    async def test_a_web_page_is_no_answer(self, stub: StubServer, connect: Connect) -> None:
        stub.answer("GET", "/health", "<html>hello</html>")
        with pytest.raises(ClientError, match="no contextfind server"):
            await connect().health()

    async def test_nobody_there_says_how_to_start_a_server(self, connect: Connect) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            client = connect(f"http://127.0.0.1:{probe.getsockname()[1]}", retries=0)
            with pytest.raises(ClientError, match="start it with: contextfind serve") as caught:
                await client.health()
        assert (caught.value.code, caught.value.status) == ("UNAVAILABLE", None)

    async def test_silence_ends_at_the_timeout(self, connect: Connect) -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            client = connect(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout=0.05)
            with pytest.raises(ClientError, match=r"within 0\.05 s") as caught:
                await client.health()
        assert caught.value.code == "DEADLINE_EXCEEDED"

    async def test_what_json_cannot_say_is_refused_before_anything_is_sent(
        self, stub: StubServer, connect: Connect
    ) -> None:
        for options in ({"score_threshold": float("nan")}, {"filter": {"op": object()}}):
            with pytest.raises(failure.InvalidArgumentError, match="JSON"):
                await connect().find("x", **options)
        with pytest.raises(failure.InvalidArgumentError, match="JSON"):
            await connect().find("half \ud800")
        assert stub.asked == []

    @pytest.mark.parametrize(
        "url", ["127.0.0.1:1933", "ftp://host", "http://", "http://host:port", ""]
    )
    async def test_a_wrong_url_is_refused_before_anything_is_sent(
        self, connect: Connect, url: str
    ) -> None:
        with pytest.raises(failure.InvalidArgumentError) as caught:
            connect(url)
        assert repr(url) in caught.value.message

    @pytest.mark.parametrize("key", ["schlüssel", "a\nb", " a"])
    async def test_a_key_that_no_header_can_carry_is_refused_and_not_shown(
        self, connect: Connect, key: str
    ) -> None:
        with pytest.raises(ClientError) as caught:
            connect(api_key=key)
        assert key not in str(caught.value)

    @pytest.mark.parametrize("wrong", [{"timeout": 0}, {"timeout": float("nan")}, {"retries": -1}])
    async def test_numbers_that_make_no_sense_are_refused(
        self, connect: Connect, wrong: dict[str, float]
    ) -> None:
        with pytest.raises(failure.InvalidArgumentError, match=next(iter(wrong))):
            connect(**wrong)


async def test_a_hang_up_is_unavailable() -> None:
    async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server, AsyncClient(url, retries=0) as client:
        with pytest.raises(ClientError) as caught:
            await client.health()
    assert caught.value.code == "UNAVAILABLE"


async def test_a_wait_may_last_longer_than_other_calls(stub: StubServer, connect: Connect) -> None:
    stub.results("POST", "/api/v1/system/wait", {})
    await connect(timeout=0.001).wait(timeout=5)
    assert stub.last.json == {"timeout": 5}


async def test_closing_twice_is_fine(connect: Connect) -> None:
    client = connect()
    await client.close()
    await client.close()


def test_both_clients_have_the_same_methods_with_the_same_words() -> None:
    for name in ("find", "search", "add_resource", "add_message", "commit_session", "rm"):
        blocking, awaited = getattr(Client, name), getattr(AsyncClient, name)
        assert blocking is awaited
        assert inspect.getdoc(blocking)
    with Client() as client:
        assert client.find.__doc__ == Client.find.__doc__
        assert inspect.signature(client.find).parameters["query"].default == ""
