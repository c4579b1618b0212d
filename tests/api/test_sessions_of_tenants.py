"""Sessions of several users over HTTP, on the real engines."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.api.caller import error_of, result_of
from tests.api.living import ROOT_KEY, Tenant, Town, living, town

SESSIONS = "/api/v1/sessions"


@pytest.fixture
async def place(tmp_path) -> AsyncIterator[Town]:
    async with town(tmp_path) as opened:
        yield opened


async def say(who: Tenant, text: str, session: str = "s", **more: object) -> dict[str, object]:
    body = {"role": "user", "content": text, **more}
    told = await who.post(f"{SESSIONS}/{session}/messages", body)
    answer: dict[str, object] = result_of(told)
    return answer


async def heard(who: Tenant, session: str = "s") -> list[str]:
    told = result_of(await who.get(f"sessions/{session}/context"))
    return [one["parts"][0]["text"] for one in told["messages"]]


async def test_the_same_id_is_another_session_for_every_user_and_account(place: Town) -> None:
    ann, ben = await place.account("acme", ["ann", "ben"])
    other = await place.tenant("bolt")
    everybody = {"ann": ann, "ben": ben, "other": other}
    for name, who in everybody.items():
        await say(who, name)
    for name, who in everybody.items():
        assert await heard(who) == [name]
        (line,) = result_of(await who.get("sessions"))
        owner = "ben" if name == "ben" else "ann"
        assert line["uri"] == f"viking://user/{owner}/sessions/s"
    shown = result_of(await other.get("sessions/s"))
    assert shown["user"] == {"account_id": "bolt", "user_id": "ann"}
    gone = await ben.http.delete(f"{SESSIONS}/s", headers=dict(ben.key))
    assert result_of(gone) == {"session_id": "s"}
    assert (await heard(ann), await heard(other)) == (["ann"], ["other"])


async def test_the_session_of_somebody_else_is_not_found_by_any_route(place: Town) -> None:
    ann, ben = await place.account("acme", ["ann", "ben"])
    await say(ann, "secret")
    for path in ("s", "s/context", "s/archives", "s/archives/archive_001"):
        error_of(await ben.get(f"sessions/{path}"), 404, "NOT_FOUND")
    gone = await ben.http.delete(f"{SESSIONS}/s", headers=dict(ben.key))
    error_of(gone, 404, "NOT_FOUND")
    assert result_of(await ben.get("sessions")) == []
    assert await heard(ann) == ["secret"]


async def test_the_root_key_has_no_sessions(place: Town) -> None:
    for method, path in (
        ("GET", ""),
        ("POST", ""),
        ("GET", "/s?auto_create=true"),
        ("POST", "/s/used"),
        ("DELETE", "/s"),
    ):
        answer = await place.http.request(method, f"{SESSIONS}{path}", headers=ROOT_KEY)
        error_of(answer, 403, "PERMISSION_DENIED")


async def test_r138_one_id_many_times_in_parallel_is_one_message(place: Town) -> None:
    ann = await place.tenant("acme")
    answers = await asyncio.gather(*(say(ann, "once", id="m1") for _ in range(20)))
    assert sum(int(str(one["added"])) for one in answers) == 1
    assert {one["message_count"] for one in answers} == {1}
    assert await heard(ann) == ["once"]


async def test_parallel_messages_are_all_kept_each_once(place: Town) -> None:
    ann = await place.tenant("acme")
    await asyncio.gather(*(say(ann, f"m{n}") for n in range(50)))
    assert sorted(await heard(ann)) == sorted(f"m{n}" for n in range(50))


async def test_one_of_many_parallel_creations_succeeds(place: Town) -> None:
    ann = await place.tenant("acme")
    tries = [ann.post(SESSIONS, {"session_id": "s"}) for _ in range(10)]
    answers = await asyncio.gather(*tries)
    assert sorted(one.status_code for one in answers) == [200] + [409] * 9


async def test_a_commit_archives_at_once_and_its_task_writes_the_summary(place: Town) -> None:
    ann = await place.tenant("acme")
    for text in ("How do I roll back Atlas?", "Stop the canary first.", "And then?"):
        await say(ann, text)
    done = result_of(await ann.post(f"{SESSIONS}/s/commit", {"keep_recent_count": 1}))
    assert (done["status"], done["archived"], done["reason"]) == ("accepted", True, None)
    assert done["archive_uri"] == "viking://user/ann/sessions/s/history/archive_001"
    shown = result_of(await ann.get("sessions/s"))
    assert (shown["message_count"], shown["total_message_count"]) == (1, 3)
    await ann.settled()
    task = result_of(await ann.get(f"tasks/{done['task_id']}"))
    assert (task["status"], task["task_type"]) == ("completed", "session_commit")
    archive = result_of(await ann.get("sessions/s/archives/archive_001"))
    assert archive["status"] == "done"
    assert [one["parts"][0]["text"] for one in archive["messages"]] == [
        "How do I roll back Atlas?",
        "Stop the canary first.",
    ]
    told = result_of(await ann.get("sessions/s/context"))
    assert told["latest_archive_overview"] == archive["overview"]
    assert "Atlas" in archive["overview"]
    assert await heard(ann) == ["And then?"]


async def test_a_commit_of_nothing_is_skipped_and_of_no_session_not_found(place: Town) -> None:
    ann, ben = await place.account("acme", ["ann", "ben"])
    result_of(await ann.post(SESSIONS, {"session_id": "s"}))
    done = result_of(await ann.post(f"{SESSIONS}/s/commit", None))
    assert (done["status"], done["task_id"], done["archive_uri"]) == ("skipped", None, None)
    assert done["reason"]
    for who, session in ((ann, "nope"), (ben, "s")):
        error = error_of(await who.post(f"{SESSIONS}/{session}/commit", {}), 404, "NOT_FOUND")
        assert error["details"] == {"resource": session, "type": "session"}
    error_of(await ann.post(f"{SESSIONS}/%2e%2e/commit", {}), 400, "INVALID_ARGUMENT")


async def test_what_was_said_is_there_after_the_house_was_closed_and_opened(tmp_path) -> None:
    async with living(tmp_path) as http:
        await say(Tenant(http), "那怎么回滚？ 🚀", id="m1")
        before = result_of(await Tenant(http).get("sessions/s"))
    async with living(tmp_path) as http:
        assert await heard(Tenant(http)) == ["那怎么回滚？ 🚀"]
        assert result_of(await Tenant(http).get("sessions/s")) == before
        assert (await say(Tenant(http), "again", id="m1"))["added"] == 0


async def test_r019_what_was_said_is_no_hit_of_a_find(place: Town) -> None:
    ann = await place.tenant("acme")
    await ann.write("viking://resources/a.md", "# Rollback\n\nStop the canary.\n")
    await say(ann, "Stop the canary, TKX-7741 said so.")
    assert await ann.uris(query="TKX-7741 stop the canary", level=2) == ["viking://resources/a.md"]
    error_of(await ann.get("content/read", uri="viking://~/sessions/s"), 404, "NOT_FOUND")
