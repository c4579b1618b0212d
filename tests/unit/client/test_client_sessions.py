import re
from typing import Any

import pytest

from contextfind.client import failure
from contextfind.client.conversations import Sessions
from tests.unit.cli.stub_server import StubServer
from tests.unit.client.conftest import Connect

SESSIONS = "/api/v1/sessions"
HEARD = {"session_id": "s", "message_count": 2, "added": 1, "pending_tokens": 9}
ACCEPTED = {"session_id": "s", "status": "accepted", "task_id": "t1", "archived": True}


async def test_a_session_is_made_with_a_name_and_settings(
    stub: StubServer, connect: Connect
) -> None:
    made = {"session_id": "s", "uri": "viking://user/u/sessions/s", "user": {}}
    stub.results("POST", SESSIONS, made)
    client = connect()
    assert (await client.create_session()).session_id == "s"
    assert stub.last.json == {}
    await client.create_session("s", memory_policy={"mode": "none"})
    assert stub.last.json == {"session_id": "s", "memory_policy": {"mode": "none"}}


async def test_a_session_is_told_with_its_counts(stub: StubServer, connect: Connect) -> None:
    shown = {
        "session_id": "s",
        "message_count": 2,
        "total_message_count": 7,
        "memories_extracted": {"total": 3},
        "last_commit_at": None,
    }
    stub.results("GET", f"{SESSIONS}/s", shown)
    client = connect()
    one = await client.get_session("s")
    assert stub.last.query == {}
    assert (one.message_count, one.archived_message_count) == (2, 5)
    assert (one.memories_extracted, one.last_commit_at) == ({"total": 3}, "")
    await client.get_session("s", auto_create=True)
    assert stub.last.query == {"auto_create": "true"}


async def test_a_name_cannot_leave_its_place_in_the_path(
    stub: StubServer, connect: Connect
) -> None:
    stub.results("DELETE", f"{SESSIONS}/..%2F..%2Ffs%3Furi%3Dx", {"session_id": "x"})
    await connect().delete_session("../../fs?uri=x")


async def test_sessions_are_listed_in_pages(stub: StubServer, connect: Connect) -> None:
    lines = [{"session_id": "s", "uri": "viking://user/u/sessions/s", "mod_time": "t"}]
    stub.answer("GET", SESSIONS, {"status": "ok", "result": lines, "has_more": True})
    page = await connect().list_sessions(limit=1, offset=2)
    assert isinstance(page, Sessions)
    assert ([line.session_id for line in page.sessions], page.has_more) == (["s"], True)
    assert stub.last.query == {"limit": "1", "offset": "2"}


async def test_every_message_has_an_id_of_its_own(stub: StubServer, connect: Connect) -> None:
    stub.results("POST", f"{SESSIONS}/s/messages", HEARD)
    client = connect()
    done = [await client.add_message("s", "user", "hello") for _ in range(2)]
    ids = [asked.json["id"] for asked in stub.asked]
    assert [one.message_ids for one in done] == [(one,) for one in ids]
    assert ids[0] != ids[1]
    assert all(re.fullmatch("[0-9a-f]{32}", one) for one in ids)
    assert (done[0].added, done[0].message_count, done[0].pending_tokens) == (1, 2, 9)


async def test_a_message_may_be_parts_and_more(stub: StubServer, connect: Connect) -> None:
    stub.results("POST", f"{SESSIONS}/s/messages", HEARD)
    parts = ({"type": "text", "text": "hello"},)
    said = {"parts": parts, "message_id": "m1", "created_at": "2026-01-01", "peer_id": "p"}
    await connect().add_message("s", "assistant", **said)
    assert stub.last.json == {
        "role": "assistant",
        "parts": list(parts),
        "id": "m1",
        "created_at": "2026-01-01",
        "peer_id": "p",
    }


async def test_many_messages_are_sent_by_the_hundred_in_order(
    stub: StubServer, connect: Connect
) -> None:
    stub.results("POST", f"{SESSIONS}/s/messages/batch", HEARD)
    said = [{"role": "user", "content": str(n), "id": f"m{n}"} for n in range(250)]
    done = await connect().add_messages("s", said)
    batches = [asked.json["messages"] for asked in stub.asked]
    assert [len(batch) for batch in batches] == [100, 100, 50]
    assert [one for batch in batches for one in batch] == said
    assert done.message_ids == tuple(f"m{n}" for n in range(250))
    assert done.added == 3  # one of each request


async def test_a_context_is_told_within_a_budget(stub: StubServer, connect: Connect) -> None:
    told = {
        "latest_archive_overview": "They rolled back Atlas.",
        "pre_archive_abstracts": [{"archive_id": "archive_001", "abstract": "Atlas"}],
        "messages": [
            {
                "id": "m",
                "role": "user",
                "parts": [{"type": "text", "text": "hi"}, {"type": "tool"}],
                "created_at": "t",
            }
        ],
        "estimatedTokens": 12,
        "stats": {"totalArchives": 2},
    }
    stub.results("GET", f"{SESSIONS}/s/context", told)
    context = await connect().session_context("s", 0)
    assert stub.last.query == {"token_budget": "0"}
    assert context.latest_archive_overview == "They rolled back Atlas."
    assert context.pre_archive_abstracts[0].abstract == "Atlas"
    assert (context.messages[0].role, context.messages[0].text) == ("user", "hi")
    assert (context.estimated_tokens, context.stats) == (12, {"totalArchives": 2})


async def test_a_commit_says_what_it_began(stub: StubServer, connect: Connect) -> None:
    stub.results("POST", f"{SESSIONS}/s/commit", ACCEPTED)
    done = await connect().commit_session("s", keep_recent_count=0)
    assert stub.last.json == {"keep_recent_count": 0}
    assert (done.status, done.task_id, done.archived, done.task) == ("accepted", "t1", True, None)


async def test_a_commit_is_waited_for(stub: StubServer, connect: Connect) -> None:
    ended: dict[str, Any] = {"task_id": "t1", "status": "completed", "result": {"n": 1}}
    stub.results("POST", f"{SESSIONS}/s/commit", ACCEPTED)
    stub.results("GET", "/api/v1/tasks/t1", ended)
    done = await connect().commit_session("s", wait=True)
    assert done.task is not None
    assert done.task.result == {"n": 1}
    stub.results("GET", "/api/v1/tasks/t1", {**ended, "status": "failed", "error": "no model"})
    with pytest.raises(failure.TaskFailedError, match="no model"):
        await connect().commit_session("s", wait=True)


async def test_a_commit_of_nothing_has_nothing_to_wait_for(
    stub: StubServer, connect: Connect
) -> None:
    skipped = {"session_id": "s", "status": "skipped", "task_id": None, "archived": False}
    stub.results("POST", f"{SESSIONS}/s/commit", skipped)
    done = await connect().commit_session("s", wait=True)
    assert (done.status, done.archived, done.task_id, done.task) == ("skipped", False, "", None)


async def test_archives_are_listed_and_read(stub: StubServer, connect: Connect) -> None:
    line = {"archive_id": "archive_001", "abstract": "Atlas", "status": "failed", "error": "why"}
    message = {"id": "m", "role": "user", "parts": [], "created_at": "t"}
    stub.results("GET", f"{SESSIONS}/s/archives", [line, {**line, "error": None}])
    stub.results("GET", f"{SESSIONS}/s/archives/archive_001", {**line, "messages": [message]})
    found = await connect().session_archives("s")
    assert [one.error for one in found] == ["why", ""]
    one = await connect().session_archive("s", "archive_001")
    assert (one.abstract, one.messages[0].id) == ("Atlas", "m")
