import json
from typing import Any

import pytest

from tests.unit.cli.calling import call, error_of
from tests.unit.cli.stub_server import StubServer

SESSIONS = "/api/v1/sessions"
HEARD = {"session_id": "s", "message_count": 2, "added": 1, "pending_tokens": 9}
ACCEPTED = {"session_id": "s", "status": "accepted", "task_id": "t1", "archived": True}
LINE: dict[str, Any] = {
    "archive_id": "archive_001",
    "abstract": "They spoke of Atlas",
    "status": "done",
    "error": None,
    "message_count": 7,
    "created_at": "2026-03-01T12:00:00Z",
}
SAID = [
    {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "roll back [Atlas]"}]},
    {"id": "m2", "role": "assistant", "parts": [{"type": "text", "text": "done"}]},
]


def test_new_prints_the_name(stub: StubServer) -> None:
    stub.results("POST", SESSIONS, {"session_id": "20260301-x", "uri": "viking://user/u/sessions"})
    assert call("session", "new", stub=stub).stdout == "20260301-x\n"
    assert stub.last.json == {}
    call("session", "new", "mine", stub=stub)
    assert stub.last.json == {"session_id": "mine"}


def test_list_shows_the_last_changed_first_and_whether_there_is_more(stub: StubServer) -> None:
    lines = [
        {"session_id": name, "uri": "", "mod_time": f"2026-03-0{day}T12:00:00Z"}
        for name, day in (("b", 2), ("a", 1))
    ]
    stub.answer("GET", SESSIONS, {"status": "ok", "result": lines, "has_more": True})
    result = call("session", "list", "--limit", "2", "--offset", "4", stub=stub)
    rows = [line.split() for line in result.stdout.splitlines()]
    assert rows[1:] == [["2026-03-02", "12:00", "b"], ["2026-03-01", "12:00", "a"]]
    assert "--offset 6" in result.stderr
    assert stub.last.query == {"limit": "2", "offset": "4"}
    assert json.loads(call("session", "list", "--json", stub=stub).stdout) == lines
    stub.answer("GET", SESSIONS, {"status": "ok", "result": [], "has_more": False})
    assert call("session", "list", stub=stub).stdout == "(none)\n"


def test_show_counts(stub: StubServer) -> None:
    shown = {
        "session_id": "s",
        "message_count": 2,
        "total_message_count": 9,
        "pending_tokens": 40,
        "commit_count": 1,
        "memories_extracted": {"total": 3},
        "created_at": "2026-03-01T12:00:00Z",
        "last_commit_at": None,
    }
    stub.results("GET", f"{SESSIONS}/s", shown)
    rows = [
        line.split(maxsplit=1)
        for line in call("session", "show", "s", stub=stub).stdout.splitlines()
    ]
    assert ["messages", "2 (and 7 archived)"] in rows
    assert ["memories", "3"] in rows
    assert "last commit   never" in call("session", "show", "s", stub=stub).stdout
    assert json.loads(call("session", "show", "s", "--json", stub=stub).stdout) == shown


def test_say_sends_a_message_with_an_id(stub: StubServer) -> None:
    stub.results("POST", f"{SESSIONS}/s/messages", HEARD)
    result = call("session", "say", "s", "hello", "--role", "assistant", "--id", "m1", stub=stub)
    assert stub.last.json == {"role": "assistant", "content": "hello", "id": "m1"}
    assert result.stdout == "s  2 messages, 9 tokens\n"
    call("session", "say", "s", "hello", stub=stub)
    assert stub.last.json["role"] == "user"
    assert stub.last.json["id"]


def test_say_reads_stdin_and_tells_what_was_there_already(stub: StubServer) -> None:
    stub.results("POST", f"{SESSIONS}/s/messages", {**HEARD, "added": 0})
    result = call("session", "say", "s", "-", stub=stub, input="一\n二\n")
    assert stub.last.json["content"] == "一\n二\n"
    assert "was there already" in result.stdout
    broken = call("session", "say", "s", "-", stub=stub, input=b"\xff\xfe\x00\xd8")
    assert (broken.exit_code, "UTF-8" in broken.stderr) == (2, True)


def test_context_prints_summaries_and_then_messages(stub: StubServer) -> None:
    told = {
        "latest_archive_overview": "All of Atlas",
        "pre_archive_abstracts": [{"archive_id": "archive_001", "abstract": "Before"}],
        "messages": SAID,
        "estimatedTokens": 12,
        "stats": {},
    }
    stub.results("GET", f"{SESSIONS}/s/context", told)
    result = call("session", "context", "s", "--budget", "0", stub=stub)
    assert stub.last.query == {"token_budget": "0"}
    assert result.stdout.splitlines() == [
        "[archive_001] Before",
        "All of Atlas",
        "user: roll back [Atlas]",
        "assistant: done",
    ]
    assert result.stderr == "12 tokens\n"
    assert json.loads(call("session", "context", "s", "--json", stub=stub).stdout) == told


@pytest.mark.parametrize(("counted", "shown"), [(4, 4), ({"facts": 3, "events": 1}, 4), ({}, 0)])
def test_commit_waits_and_counts_memories(stub: StubServer, counted: object, shown: int) -> None:
    ended = {"task_id": "t1", "status": "completed", "result": {"memories_extracted": counted}}
    stub.results("POST", f"{SESSIONS}/s/commit", ACCEPTED)
    stub.results("GET", "/api/v1/tasks/t1", ended)
    result = call("session", "commit", "s", "--keep", "2", stub=stub)
    assert stub.asked[0].json == {"keep_recent_count": 2}
    assert result.stdout == f"s  archived and summarised, {shown} memories\n"
    as_json = json.loads(call("session", "commit", "s", "--json", stub=stub).stdout)
    assert as_json == {**ACCEPTED, "task": ended}


def test_commit_may_go_on_behind_and_may_have_nothing_to_do(stub: StubServer) -> None:
    stub.results("POST", f"{SESSIONS}/s/commit", ACCEPTED)
    assert "task t1" in call("session", "commit", "s", "--no-wait", stub=stub).stdout
    skipped = {"session_id": "s", "status": "skipped", "task_id": None, "archived": False}
    stub.results("POST", f"{SESSIONS}/s/commit", skipped)
    assert call("session", "commit", "s", stub=stub).stdout == "s  nothing to archive\n"


def test_a_commit_whose_summary_failed_is_a_failure(stub: StubServer) -> None:
    failed = {"task_id": "t1", "status": "failed", "error": "no model"}
    stub.results("POST", f"{SESSIONS}/s/commit", ACCEPTED)
    stub.results("GET", "/api/v1/tasks/t1", failed)
    result = call("session", "commit", "s", stub=stub)
    assert result.exit_code == 1
    assert "the messages are archived, but" in result.stderr
    assert "no model" in result.stderr


def test_a_commit_says_what_it_could_not_do(stub: StubServer) -> None:
    result = {"memories_extracted": {}, "note": "no model answered"}
    stub.results("POST", f"{SESSIONS}/s/commit", ACCEPTED)
    ended = {"task_id": "t1", "status": "completed", "result": result}
    stub.results("GET", "/api/v1/tasks/t1", ended)
    assert call("session", "commit", "s", stub=stub).stderr == "no model answered\n"


def test_archives_are_listed_or_one_is_printed(stub: StubServer) -> None:
    stub.results("GET", f"{SESSIONS}/s/archives", [LINE])
    rows = [
        line.split() for line in call("session", "archives", "s", stub=stub).stdout.splitlines()
    ]
    assert rows[1] == [
        "archive_001", "2026-03-01", "12:00", "done", "7", "They", "spoke", "of", "Atlas",
    ]  # fmt: skip
    whole = {**LINE, "overview": "All of it", "messages": SAID}
    stub.results("GET", f"{SESSIONS}/s/archives/archive_001", whole)
    printed = call("session", "archives", "s", "archive_001", stub=stub)
    assert printed.stdout == "All of it\nuser: roll back [Atlas]\nassistant: done\n"
    as_json = call("session", "archives", "s", "archive_001", "--json", stub=stub)
    assert json.loads(as_json.stdout) == whole


def test_an_archive_without_a_summary_says_why(stub: StubServer) -> None:
    bare = {**LINE, "abstract": "", "status": "failed", "error": "no model", "messages": SAID}
    stub.results("GET", f"{SESSIONS}/s/archives", [bare])
    assert "no model" in call("session", "archives", "s", stub=stub).stdout
    stub.results("GET", f"{SESSIONS}/s/archives/archive_001", bare)
    printed = call("session", "archives", "s", "archive_001", stub=stub).stdout
    assert printed.startswith("(no model)\n")


def test_rm_says_what_it_removed(stub: StubServer) -> None:
    stub.results("DELETE", f"{SESSIONS}/s", {"session_id": "s"})
    assert call("session", "rm", "s", stub=stub).stdout == "removed s\n"


def test_an_unknown_session_says_where_to_look(stub: StubServer) -> None:
    stub.fails("GET", f"{SESSIONS}/s", 404, "NOT_FOUND", "there is no session 's'")
    result = call("session", "show", "s", stub=stub)
    assert result.exit_code == 1
    assert (
        "there is no session 's'; see what is there with: contextfind session list" in result.stderr
    )
    assert error_of(call("session", "show", "s", "--json", stub=stub))["code"] == "NOT_FOUND"


def test_an_unknown_archive_says_where_to_look(stub: StubServer) -> None:
    stub.fails("GET", f"{SESSIONS}/s/archives/a", 404, "NOT_FOUND", "no archive 'a'.")
    told = call("session", "archives", "s", "a", stub=stub).stderr
    assert told.startswith("contextfind: no archive 'a'; see what is there with: ")
    assert "session archives SESSION" in told


def test_two_dots_at_the_end_of_a_message_are_not_a_full_stop(stub: StubServer) -> None:
    stub.fails("POST", SESSIONS, 400, "INVALID_ARGUMENT", "neither . nor ..")
    told = call("session", "new", "..", stub=stub).stderr
    assert "neither . nor ..; see: contextfind session new --help" in told
