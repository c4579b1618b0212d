"""Sessions and what is said in them, over HTTP: every answer, every refusal."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from contextfind.domain.conversation import Archive, ArchiveState
from contextfind.domain.identity import Identity
from contextfind.ports import Job, JobState
from contextfind.sessions.commit import Committed
from tests.api.caller import error_of, result_of
from tests.api.fake_house import NOW

SESSIONS = "/api/v1/sessions"
SPOKEN = "2026-03-01T12:00:00Z"
DEV = Identity("default", "default")
TEXT = {"type": "text", "text": "hello"}


async def post(api, path, body=None, session="s"):
    return await api.http.post(f"{SESSIONS}/{session}/{path}", json=body)


async def get(api, path="", session="s", **params):
    return await api.http.get(f"{SESSIONS}/{session}{path}", params=params)


async def say(api, *lines, session="s"):
    body = {"messages": [{"role": "user", "content": line} for line in lines]}
    return result_of(await post(api, "messages/batch", body, session))


async def archived(api, *lines, state=ArchiveState.DONE):
    await say(api, *lines)
    made = await api.house.sessions.archive(DEV, "s", 0, NOW)
    told = replace(made, state=state)
    if state is ArchiveState.DONE:
        told = replace(told, abstract=f"abstract {made.number}", overview=f"all of {made.number}")
    if state is ArchiveState.FAILED:
        told = replace(told, error="no answer")
    await api.house.sessions.summarise(DEV, "s", told)


async def context(api, **params):
    return result_of(await get(api, "/context", **params))


async def texts(api):
    return [one["parts"][0]["text"] for one in (await context(api))["messages"]]


class TestCreate:
    async def test_a_named_session(self, api):
        sent = {"session_id": "my-sess-1", "auto_commit_policy": {"idle_seconds": 60}}
        response = await api.http.post(SESSIONS, json=sent)
        assert result_of(response) == {
            "session_id": "my-sess-1",
            "uri": "viking://user/default/sessions/my-sess-1",
            "user": {"account_id": "default", "user_id": "default"},
            "memory_policy": None,
            "auto_commit_policy": {"idle_seconds": 60},
            "memory_extraction_config": None,
        }
        assert response.headers["x-ignored-fields"] == "auto_commit_policy"

    @pytest.mark.parametrize(
        "request_", [{}, {"json": {}}, {"json": None}, {"json": {"session_id": None}}]
    )
    async def test_without_a_name_it_gets_one(self, api, request_):
        made = result_of(await api.http.post(SESSIONS, **request_))
        assert made["session_id"] == "20260301-120000-id1"
        assert result_of(await get(api, session=made["session_id"]))["message_count"] == 0

    async def test_a_blank_name_is_none(self, api):
        made = result_of(await api.http.post(SESSIONS, json={"session_id": " "}))
        assert made["session_id"] == "20260301-120000-id1"

    async def test_the_same_one_twice(self, api):
        await api.http.post(SESSIONS, json={"session_id": "s"})
        error = error_of(
            await api.http.post(SESSIONS, json={"session_id": "s"}), 409, "ALREADY_EXISTS"
        )
        assert error["details"] == {"resource": "s", "type": "session"}
        assert error["message"] == "session 's' exists"

    async def test_unknown_fields_are_named(self, api):
        response = await api.http.post(SESSIONS, json={"session_id": "s", "ttl": 5})
        assert response.headers["x-ignored-fields"] == "ttl"

    async def test_anything_else_is_refused(self, api):
        names = ("../x", "..", "a/b", "a\x00", "x" * 201, "\\", 5)
        bodies = [*({"session_id": name} for name in names), {"memory_policy": []}, [], "s"]
        for body in bodies:
            error_of(await api.http.post(SESSIONS, json=body), 400, "INVALID_ARGUMENT")
        assert await api.house.sessions.list(DEV, 9) == []

    async def test_a_bad_name_is_shown_and_what_was_expected(self, api):
        response = await api.http.post(SESSIONS, json={"session_id": "../x"})
        error = error_of(response, 400, "INVALID_ARGUMENT")
        assert error["message"].startswith("session_id is '../x'; expected 1 to 200 characters")
        assert error["details"]["validation_errors"][0]["loc"] == ["body", "session_id"]


class TestConfigure:
    async def test_what_is_sent_changes_and_the_rest_stays(self, api):
        body = {"session_id": "s", "memory_policy": {"a": 1}, "auto_commit_policy": {"b": 2}}
        await api.http.post(SESSIONS, json=body)
        sent = {"memory_policy": {"c": 3}, "auto_commit_policy": None, "ttl": 5}
        response = await api.http.patch(f"{SESSIONS}/s/config", json=sent)
        assert response.headers["x-ignored-fields"] == "memory_policy,ttl"
        told = result_of(response)
        assert told["memory_policy"] == {"c": 3}
        assert told["auto_commit_policy"] == {"b": 2}
        assert told == result_of(await api.http.get(f"{SESSIONS}/s"))

    async def test_an_unknown_session_is_not_made(self, api):
        response = await api.http.patch(f"{SESSIONS}/s/config", json={"memory_policy": {}})
        error_of(response, 404, "NOT_FOUND")
        assert await api.house.sessions.list(DEV, 9) == []

    async def test_anything_else_is_refused(self, api):
        await api.http.post(SESSIONS, json={"session_id": "s"})
        for body in ({"memory_policy": []}, [], None):
            response = await api.http.patch(f"{SESSIONS}/s/config", json=body)
            error_of(response, 400, "INVALID_ARGUMENT")


class TestList:
    async def test_the_last_changed_one_is_first(self, api):
        for name, hour in (("a", 1), ("b", 3), ("c", 2)):
            api.house.now = datetime(2026, 3, 1, hour, tzinfo=UTC)
            await api.http.post(SESSIONS, json={"session_id": name})
        response = await api.http.get(SESSIONS)
        assert response.json()["has_more"] is False
        assert result_of(response)[0] == {
            "session_id": "b",
            "uri": "viking://user/default/sessions/b",
            "is_dir": True,
            "mod_time": "2026-03-01T03:00:00Z",
        }
        assert [one["session_id"] for one in result_of(response)] == ["b", "c", "a"]

    async def test_pages(self, api):
        await asyncio.gather(
            *(api.http.post(SESSIONS, json={"session_id": name}) for name in "abc")
        )
        first = await api.http.get(SESSIONS, params={"limit": 2})
        rest = await api.http.get(SESSIONS, params={"limit": 2, "offset": 2})
        assert [one["session_id"] for one in result_of(first) + result_of(rest)] == list("abc")
        assert (first.json()["has_more"], rest.json()["has_more"]) == (True, False)

    async def test_other_pages_are_refused(self, api):
        for params in ({"limit": 0}, {"limit": 10_001}, {"offset": -1}):
            error_of(await api.http.get(SESSIONS, params=params), 400, "INVALID_ARGUMENT")


class TestGet:
    async def test_every_field_is_true_or_null(self, api):
        await archived(api, "one")
        await say(api, "twelve chars")
        assert result_of(await get(api)) == {
            "session_id": "s",
            "uri": "viking://user/default/sessions/s",
            "user": {"account_id": "default", "user_id": "default"},
            "memory_policy": None,
            "auto_commit_policy": None,
            "memory_extraction_config": None,
            "created_at": SPOKEN,
            "updated_at": SPOKEN,
            "created_by_account_id": "default",
            "created_by_user_id": "default",
            "message_count": 1,
            "total_message_count": 2,
            "pending_tokens": 3,
            "commit_count": 1,
            "memories_extracted": {"total": 0},
            "last_message_at": SPOKEN,
            "last_commit_at": SPOKEN,
            "last_auto_commit_at": None,
            "last_idle_commit_accepted_at": None,
            "llm_token_usage": {
                "prompt_tokens": None,
                "completion_tokens": None,
                "total_tokens": None,
                "cached_tokens": None,
                "reasoning_tokens": None,
            },
            "embedding_token_usage": {"total_tokens": None},
            "keep_recent_count": None,
            "retention_mode": None,
            "keep_recent_turn_count": None,
            "retained_message_token_budget": None,
            "min_raw_tail_steps": None,
        }

    async def test_an_unknown_one_is_made_only_when_asked_for(self, api):
        error = error_of(await get(api, session="nope-1"), 404, "NOT_FOUND")
        assert error["details"] == {"resource": "nope-1", "type": "session"}
        error_of(await get(api, session="nope-1", auto_create="false"), 404, "NOT_FOUND")
        made = result_of(await get(api, session="auto-1", auto_create="true"))
        assert (made["session_id"], made["message_count"]) == ("auto-1", 0)
        assert (made["last_message_at"], made["last_commit_at"]) == (None, None)
        assert result_of(await get(api, session="auto-1"))["created_at"] == SPOKEN
        error_of(await get(api, auto_create="perhaps"), 400, "INVALID_ARGUMENT")

    async def test_what_cannot_be_an_id_is_refused_everywhere(self, api):
        for name in ("%2e%2e", "a%5Cb", "%00", "x" * 201):
            for tail in ("", "/context", "/archives", "/archives/archive_001"):
                response = await get(api, tail, session=name, auto_create="true")
                error = error_of(response, 400, "INVALID_ARGUMENT")
                assert error["message"].startswith("session_id is '")
                assert "expected 1 to 200 characters" in error["message"]
                assert error["details"]["validation_errors"][0]["loc"] == ["path", "session_id"]
        assert await api.house.sessions.list(DEV, 9) == []

    async def test_an_id_may_be_any_text_without_a_slash(self, api):
        for name, path in (
            ("会话 1", "%E4%BC%9A%E8%AF%9D%201"),
            ("agent:main:#1", "agent:main:%231"),
        ):
            await api.http.post(SESSIONS, json={"session_id": name})
            shown = result_of(await get(api, session=path))
            assert shown["uri"] == f"viking://user/default/sessions/{name}"


class TestDelete:
    async def test_all_is_gone(self, api):
        await archived(api, "one")
        assert result_of(await api.http.delete(f"{SESSIONS}/s")) == {"session_id": "s"}
        error_of(await get(api), 404, "NOT_FOUND")
        error_of(await get(api, "/archives/archive_001"), 404, "NOT_FOUND")
        assert result_of(await api.http.get(SESSIONS)) == []

    async def test_an_unknown_one_is_not_found(self, api):
        error = error_of(await api.http.delete(f"{SESSIONS}/nope-5"), 404, "NOT_FOUND")
        assert error["details"] == {"type": "session", "resource": "nope-5"}
        error_of(await api.http.delete(f"{SESSIONS}/%2e%2e"), 400, "INVALID_ARGUMENT")


class TestMessage:
    async def test_the_first_one_makes_the_session(self, api):
        response = await post(api, "messages", {"role": "user", "content": "eight ch"})
        assert result_of(response) == {
            "session_id": "s",
            "message_count": 1,
            "added": 1,
            "pending_tokens": 2,
        }
        assert "x-ignored-fields" not in response.headers
        assert "telemetry" not in response.json()

    async def test_parts_are_kept_as_they_are(self, api):
        parts = [TEXT, {"type": "tool", "tool_name": "grep", "tool_input": {"n": [1, None, 0.5]}}]
        result_of(await post(api, "messages", {"role": "assistant", "parts": parts}))
        (shown,) = (await context(api))["messages"]
        assert shown == {
            "id": "msg_id1",
            "role": "assistant",
            "parts": parts,
            "created_at": SPOKEN,
        }

    async def test_what_clients_send_with_it_is_kept(self, api):
        sent = {"peer_id": "p", "turn_id": 7, "message_kind": "reply"}
        body = {"role": "alien", "content": "x", "id": "m", "created_at": "2026-02-01T08:00+08:00"}
        result_of(await post(api, "messages", {**body, **sent}))
        (shown,) = (await context(api))["messages"]
        assert shown == {
            "id": "m",
            "role": "alien",
            "parts": [{"type": "text", "text": "x"}],
            "created_at": "2026-02-01T00:00:00Z",
            **sent,
        }

    async def test_when_it_was_said(self, api):
        sent = {
            "2026-02-01": "2026-02-01T00:00:00Z",
            1_767_225_600: "2026-01-01T00:00:00Z",
            1_767_225_600_500: "2026-01-01T00:00:00.500000Z",
            1_767_225_600.5: "2026-01-01T00:00:00.500000Z",
            None: SPOKEN,
        }
        for moment in sent:
            body = {"role": "user", "content": "x", "created_at": moment}
            response = await post(api, "messages", body)
            assert "x-ignored-fields" not in response.headers
        said = [one["created_at"] for one in (await context(api))["messages"]]
        assert said == list(sent.values())

    async def test_an_unreadable_time_is_now_and_named(self, api):
        unreadable = ["yesterday", "", True, 1e300, -(10**400), [], {}, "9999-13-01"]
        for moment in unreadable:
            body = {"role": "user", "content": "x", "created_at": moment}
            response = await post(api, "messages", body)
            assert response.headers["x-ignored-fields"] == "created_at"
        said = [one["created_at"] for one in (await context(api))["messages"]]
        assert said == [SPOKEN] * len(unreadable)

    async def test_an_empty_text_is_a_message(self, api):
        result_of(await post(api, "messages", {"role": "user", "content": ""}))
        assert await texts(api) == [""]

    async def test_parts_count_and_a_text_beside_them_is_named(self, api):
        body = {"role": "user", "content": "not this", "parts": [TEXT], "mood": "good"}
        response = await post(api, "messages", body)
        assert await texts(api) == ["hello"]
        assert response.headers["x-ignored-fields"] == "content,mood"

    async def test_without_content_it_is_refused(self, api):
        for empty in ({}, {"content": None}, {"parts": []}, {"parts": None}):
            response = await post(api, "messages", {"role": "user", **empty})
            error = error_of(response, 400, "INVALID_ARGUMENT")
            expected = "content is None; expected text, or parts (a list of objects)"
            assert error["message"] == expected
            assert error["details"]["validation_errors"][0]["loc"] == ["body", "content"]
        error_of(await get(api), 404, "NOT_FOUND")

    async def test_what_is_too_much_or_of_another_kind_is_refused(self, api):
        wrong: list[tuple[str, object]] = [
            ("role", None),
            ("role", ""),
            ("role", "r" * 201),
            ("role", 5),
            ("content", ["hello"]),
            ("content", "x" * 1_000_001),
            ("id", "i" * 201),
            ("id", 5),
            ("peer_id", {}),
            ("parts", "hello"),
            ("parts", ["hello"]),
            ("parts", [TEXT] * 1_001),
            ("parts", [{"type": "tool", "tool_output": list(range(10_000))}]),
            ("parts", [{"type": "tool", "tool_output": "x" * 1_000_001}]),
        ]
        for field, value in wrong:
            body = {"role": "user", "content": "x", field: value}
            error = error_of(await post(api, "messages", body), 400, "INVALID_ARGUMENT")
            assert error["message"].startswith(field)
            assert len(error["message"]) < 300
        error_of(await get(api), 404, "NOT_FOUND")

    async def test_the_largest_that_is_allowed_is_kept(self, api):
        await post(api, "messages", {"role": "user", "content": "x" * 1_000_000})
        await post(api, "messages", {"role": "r" * 200, "parts": [TEXT] * 1_000, "id": "i" * 200})
        assert result_of(await get(api))["message_count"] == 2

    async def test_what_could_not_be_written_again_is_refused(self, api):
        kind = {"content-type": "application/json"}
        for inside in ("NaN", "-Infinity", "1e999", '"\\ud800"', "[" * 40 + "]" * 40):
            body = '{"role":"user","parts":[{"type":"tool","tool_output":' + inside + "}]}"
            response = await api.http.post(f"{SESSIONS}/s/messages", content=body, headers=kind)
            error = error_of(response, 400, "INVALID_ARGUMENT")
            assert error["message"].startswith("parts is ")
        error_of(await get(api), 404, "NOT_FOUND")

    async def test_telemetry_comes_when_asked_for(self, api):
        body = {"role": "user", "content": "x", "telemetry": True}
        told = (await post(api, "messages", body)).json()["telemetry"]
        assert told["summary"]["operation"] == "sessions.message"

    async def test_r138_the_same_id_twice_also_in_parallel(self, api):
        body = {"role": "user", "content": "once", "message_id": "m1"}
        answers = await asyncio.gather(*(post(api, "messages", body) for _ in range(8)))
        assert sum(result_of(answer)["added"] for answer in answers) == 1
        other = {"role": "user", "content": "once", "id": "m1", "message_id": "m2"}
        again = await post(api, "messages", other)
        assert result_of(again)["added"] == 0
        assert again.headers["x-ignored-fields"] == "message_id"
        assert await texts(api) == ["once"]


class TestBatch:
    async def test_messages_are_added_in_order(self, api):
        told = await say(api, "a", "b")
        assert told == {"session_id": "s", "message_count": 2, "added": 2, "pending_tokens": 2}
        assert await texts(api) == ["a", "b"]

    async def test_a_hundred_are_taken_and_one_more_is_not(self, api):
        assert (await say(api, *map(str, range(100))))["added"] == 100
        body = {"messages": [{"role": "user", "content": "x"}] * 101}
        error = error_of(await post(api, "messages/batch", body), 400, "INVALID_ARGUMENT")
        assert error["message"].startswith("messages is [")
        assert error["message"].endswith("; expected at most 100 of them")
        assert result_of(await get(api))["message_count"] == 100

    async def test_one_bad_message_refuses_all_and_is_named(self, api):
        body = {"messages": [{"role": "user", "content": "x"}, {"role": "user"}]}
        error = error_of(await post(api, "messages/batch", body), 400, "INVALID_ARGUMENT")
        assert error["message"].startswith("messages[1].content is None; expected text")
        error_of(await get(api), 404, "NOT_FOUND")

    async def test_none_makes_an_empty_session(self, api):
        assert (await say(api))["added"] == 0
        assert result_of(await get(api))["message_count"] == 0

    async def test_anything_else_is_refused(self, api):
        for body in ({}, [], {"messages": "x"}, {"messages": [5]}, None):
            error_of(await post(api, "messages/batch", body), 400, "INVALID_ARGUMENT")
        error_of(await get(api), 404, "NOT_FOUND")

    async def test_what_had_no_effect_is_named_once(self, api):
        one = {"role": "user", "content": "x", "mood": 1, "created_at": "soon"}
        response = await post(api, "messages/batch", {"messages": [one, one], "wait": True})
        assert response.headers["x-ignored-fields"] == "messages.created_at,messages.mood,wait"

    async def test_telemetry_comes_when_asked_for(self, api):
        response = await post(api, "messages/batch", {"messages": [], "telemetry": True})
        assert response.json()["telemetry"]["summary"]["operation"] == "sessions.messages"

    async def test_a_message_that_is_there_already_is_not_counted(self, api):
        one = {"role": "user", "content": "x", "id": "m1"}
        body = {"messages": [one, one, {**one, "id": "m2"}]}
        assert result_of(await post(api, "messages/batch", body))["added"] == 2
        assert result_of(await post(api, "messages/batch", body))["added"] == 0


class TestContext:
    async def test_of_archives_and_messages(self, api):
        for line in ("1", "2"):
            await archived(api, line)
        await archived(api, "lost", state=ArchiveState.FAILED)
        await say(api, "last")
        shown = await context(api, token_budget=1_000)
        assert shown["latest_archive_overview"] == "all of 2"
        assert shown["pre_archive_abstracts"] == [
            {"archive_id": "archive_001", "abstract": "abstract 1"}
        ]
        assert [one["parts"][0]["text"] for one in shown["messages"]] == ["lost", "last"]
        assert shown["estimatedTokens"] == 7
        assert shown["stats"] == {
            "totalArchives": 3,
            "includedArchives": 2,
            "droppedArchives": 0,
            "failedArchives": 1,
            "activeTokens": 2,
            "archiveTokens": 5,
        }

    async def test_what_does_not_fit_is_counted(self, api):
        for line in ("1", "2"):
            await archived(api, line)
        await say(api, "aaaa", "bbbb")
        shown = await context(api, token_budget=1)
        assert [one["parts"][0]["text"] for one in shown["messages"]] == ["bbbb"]
        assert (shown["latest_archive_overview"], shown["pre_archive_abstracts"]) == ("", [])
        assert shown["stats"]["droppedArchives"] == 2
        assert shown["estimatedTokens"] == 1

    async def test_the_last_message_is_there_even_if_it_exceeds_the_budget(self, api):
        await say(api, "first", "x" * 4_000)
        shown = await context(api, token_budget=0)
        assert [len(one["parts"][0]["text"]) for one in shown["messages"]] == [4_000]
        assert shown["estimatedTokens"] == 1_000

    async def test_of_an_empty_session(self, api):
        await api.http.post(SESSIONS, json={"session_id": "s"})
        shown = await context(api)
        assert (shown["messages"], shown["estimatedTokens"]) == ([], 0)
        assert set(shown["stats"].values()) == {0}

    async def test_of_an_unknown_session(self, api):
        error_of(await get(api, "/context"), 404, "NOT_FOUND")

    async def test_other_budgets_are_refused(self, api):
        await say(api, "x")
        for budget in (-1, 1_000_001, "many", 1.5):
            response = await get(api, "/context", token_budget=budget)
            error = error_of(response, 400, "INVALID_ARGUMENT")
            assert error["message"].startswith(f"token_budget is '{budget}'; expected")


class TestArchives:
    async def test_they_are_listed_newest_first(self, api):
        await archived(api, "one", "two")
        await archived(api, "three", state=ArchiveState.FAILED)
        await archived(api, "four", state=ArchiveState.PENDING)
        listed = result_of(await get(api, "/archives"))
        assert [one["status"] for one in listed] == ["pending", "failed", "done"]
        assert [one["error"] for one in listed] == [None, "no answer", None]
        assert listed[2] == {
            "archive_id": "archive_001",
            "uri": "viking://user/default/sessions/s/history/archive_001",
            "status": "done",
            "error": None,
            "abstract": "abstract 1",
            "message_count": 2,
            "created_at": SPOKEN,
        }

    async def test_one_has_its_summary_and_its_messages(self, api):
        await archived(api, "one", "two")
        shown = result_of(await get(api, "/archives/archive_001"))
        assert (shown["archive_id"], shown["status"]) == ("archive_001", "done")
        assert (shown["abstract"], shown["overview"]) == ("abstract 1", "all of 1")
        assert [one["parts"][0]["text"] for one in shown["messages"]] == ["one", "two"]

    async def test_an_unknown_one_is_not_found(self, api):
        await archived(api, "one")
        for name in ("archive_002", "archive_1", "x" * 3_000):
            error = error_of(await get(api, f"/archives/{name}"), 404, "NOT_FOUND")
            assert error["details"] == {"resource": name, "type": "archive"}
            assert len(error["message"]) < 200

    async def test_of_an_unknown_session(self, api):
        error_of(await get(api, "/archives"), 404, "NOT_FOUND")
        error_of(await get(api, "/archives/archive_001"), 404, "NOT_FOUND")


class TestCommit:
    async def test_what_is_archived_and_which_task_goes_on(self, api):
        archive = Archive(3, 0, 4, 5, 10, NOW)
        job = Job("job7", DEV, "session_commit", JobState.PENDING, NOW, NOW)
        api.house.committer.answer = Committed("s", archive, job, 12)
        response = await post(api, "commit", {"keep_recent_count": 2})
        assert result_of(response) == {
            "session_id": "s",
            "status": "accepted",
            "task_id": "job7",
            "archive_uri": "viking://user/default/sessions/s/history/archive_003",
            "archived": True,
            "reason": None,
            "estimated_active_tokens": 12,
            "trace_id": response.headers["x-request-id"],
        }
        assert [asked[1:] for asked in api.house.committer.asked] == [("s", 2)]

    async def test_nothing_new_but_an_earlier_one_to_go_on_with(self, api):
        job = Job("job7", DEV, "session_commit", JobState.PENDING, NOW, NOW)
        api.house.committer.answer = Committed("s", Archive(1, 0, 0, 1, 1, NOW), job, 0, "again")
        told = result_of(await post(api, "commit", {}))
        assert (told["status"], told["archived"], told["reason"]) == ("accepted", False, "again")
        assert told["task_id"] == "job7"

    @pytest.mark.parametrize("body", [None, {}, {"keep_recent_count": None}])
    async def test_nothing_to_archive_is_skipped(self, api, body):
        told = result_of(await post(api, "commit", body))
        assert (told["status"], told["archived"]) == ("skipped", False)
        assert (told["task_id"], told["archive_uri"]) == (None, None)
        assert told["reason"] == "nothing to archive"
        assert api.house.committer.asked[0][2] == 0

    async def test_what_other_versions_send_is_named(self, api):
        sent = {"retention_mode": "turns", "extraction_metadata": {}, "telemetry": True}
        response = await post(api, "commit", sent)
        assert response.headers["x-ignored-fields"] == "extraction_metadata,retention_mode"
        assert response.json()["telemetry"]["summary"]["operation"] == "sessions.commit"

    async def test_other_counts_are_refused(self, api):
        for keep in (-1, 1.5, True, "two", 10_001, []):
            response = await post(api, "commit", {"keep_recent_count": keep})
            error = error_of(response, 400, "INVALID_ARGUMENT")
            assert error["message"].startswith("keep_recent_count is ")
        assert api.house.committer.asked == []


@pytest.mark.parametrize("route", ["used", "extract"])
class TestOlderClients:
    @pytest.mark.parametrize("body", [None, {}, {"contexts": ["viking://resources/a.md"]}])
    async def test_what_they_send_is_taken_and_changes_nothing(self, api, route, body):
        response = await post(api, route, body)
        told = result_of(response)
        assert told["session_id"] == "s"
        assert told["note"].startswith("nothing was done: ")
        assert response.headers.get("x-ignored-fields") == ("contexts" if body else None)
        assert await api.house.sessions.list(DEV, 9) == []

    async def test_what_cannot_be_an_id_is_refused(self, api, route):
        error_of(await post(api, route, {}, "%2e%2e"), 400, "INVALID_ARGUMENT")
        error_of(await post(api, route, [], "s"), 400, "INVALID_ARGUMENT")
