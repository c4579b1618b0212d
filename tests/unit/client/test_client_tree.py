"""Moving, tagging, finding by letter and looking after a server, with either client."""

import pytest

from contextfind.client import ConflictError, DeadlineExceededError, NotFoundError
from contextfind.client.answers import LineMatch
from tests.unit.cli.stub_server import StubServer
from tests.unit.client.conftest import Connect

URI = "viking://resources/a.md"


async def test_a_move_is_sent_once_and_names_what_is_in_the_way(
    stub: StubServer, connect: Connect
) -> None:
    stub.results("POST", "/api/v1/fs/mv", {"from": URI, "to": "viking://~/b.md", "moved_count": 3})
    moved = await connect().mv(URI, "viking://~/b.md")
    assert (moved.moved_count, moved.raw["to"]) == (3, "viking://~/b.md")
    stub.fails("POST", "/api/v1/fs/mv", 409, "ALREADY_EXISTS", "it is there")
    with pytest.raises(ConflictError, match="it is there"):
        await connect().mv(URI, URI)
    stub.answer("POST", "/api/v1/fs/mv", "busy", status=503)
    sent = len(stub.asked)
    with pytest.raises(Exception, match="busy"):
        await connect().mv(URI, "viking://resources/c.md")
    assert len(stub.asked) == sent + 1


async def test_tags_are_read_and_set(stub: StubServer, connect: Connect) -> None:
    shown = {"uri": URI, "context_type": "resource", "attrs": {"tags": ["a=1"]}}
    stub.results("GET", "/api/v1/fs/attrs", shown)
    assert (await connect().attrs(URI)).tags == ("a=1",)
    answer = {"uri": URI, "updated_uris": [URI], "tags": ["a=1"]}
    stub.results("POST", "/api/v1/fs/attrs/set_tags", answer)
    tagged = await connect().set_tags(URI, ["A=1"], "append", recursive=True)
    assert (tagged.updated_uris, tagged.tags) == ((URI,), ("a=1",))
    assert stub.last.json == {"uri": URI, "tags": ["A=1"], "mode": "append", "recursive": True}


async def test_lines_and_addresses_are_found_by_letter(stub: StubServer, connect: Connect) -> None:
    line = {"uri": URI, "line": 3, "content": "a key"}
    stub.results(
        "POST", "/api/v1/search/grep", {"matches": [line], "files_scanned": 9, "has_more": True}
    )
    found = await connect().grep("key", ignore_case=True, depth=2, without=URI)
    assert found.matches == (LineMatch(uri=URI, line=3, content="a key"),)
    assert (found.files_scanned, found.has_more) == (9, True)
    assert stub.last.json["level_limit"] == 2
    stub.results("POST", "/api/v1/search/glob", {"matches": [URI], "count": 1})
    assert (await connect().glob("*.md", "viking://resources")).matches == (URI,)


async def test_a_file_is_downloaded_as_bytes_and_a_refusal_is_an_error(
    stub: StubServer, connect: Connect
) -> None:
    path = "/api/v1/content/download"
    stub.answer("GET", path, "\ufeffnot {json}")
    assert await connect().download(URI) == "\ufeffnot {json}".encode()
    stub.fails("GET", path, 404, "NOT_FOUND", "nothing there")
    with pytest.raises(NotFoundError, match="nothing there"):
        await connect().download(URI)


async def test_a_batch_is_sent_as_it_was_said(stub: StubServer, connect: Connect) -> None:
    answer = {"root_uri": "viking://resources", "created": [URI], "conflicts": [{"uri": "x"}]}
    stub.results("POST", "/api/v1/content/batch-write", answer)
    operation = {"uri": URI, "content": "x", "precondition": {"kind": "create_if_absent"}}
    done = await connect().batch_write("viking://resources", [operation], skip_conflicts=True)
    assert (done.created, done.updated, done.conflicts[0].uri) == ((URI,), (), "x")
    assert stub.last.json == {
        "root_uri": "viking://resources",
        "operations": [operation],
        "wait": True,
        "skip_conflicts": True,
    }


async def test_a_wait_for_a_write_that_came_to_its_end_is_not_begun_again(
    stub: StubServer, connect: Connect
) -> None:
    route = ("POST", "/api/v1/content/write")
    stub.fails(*route, 504, "DEADLINE_EXCEEDED", "not finished within 5 s")
    with pytest.raises(DeadlineExceededError):
        await connect().write(URI, "x", timeout=5)
    assert len(stub.asked) == 1
    assert stub.last.json == {
        "uri": URI,
        "content": "x",
        "mode": "replace",
        "wait": True,
        "timeout": 5,
    }
    stub.results(
        "POST", "/api/v1/content/batch-write", {"root_uri": "r", "vector_status": "queued"}
    )
    done = await connect().batch_write("viking://resources", [], timeout=5)
    assert (done.vector_status, stub.last.json["timeout"]) == ("queued", 5)


async def test_parts_of_the_server_are_asked_for_as_objects(
    stub: StubServer, connect: Connect
) -> None:
    stub.results("GET", "/api/v1/observer/queue", {"name": "queue", "status": {"a": 1}})
    assert (await connect().observe("queue"))["status"] == {"a": 1}
    assert stub.last.query == {"format": "json"}
    stub.results("GET", "/api/v1/stats/memories", {"total_memories": 2})
    assert (await connect().memory_stats())["total_memories"] == 2
    stub.results("POST", "/api/v1/system/consistency", {"ok": True})
    assert (await connect().consistency(URI))["ok"] is True
    assert stub.last.json == {"uri": URI}


async def test_tasks_are_chosen_and_cancelled(stub: StubServer, connect: Connect) -> None:
    task = {"task_id": "t/1", "status": "cancelled"}
    stub.results("GET", "/api/v1/tasks", [task])
    (found,) = await connect().tasks(5, task_type="add_resource", status="cancelled")
    assert found.status == "cancelled"
    assert stub.last.query == {"limit": "5", "task_type": "add_resource", "status": "cancelled"}
    stub.results("POST", "/api/v1/tasks/t%2F1/cancel", task)
    assert (await connect().cancel_task("t/1")).ended
