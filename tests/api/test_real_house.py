"""The same routes before a real house: hashed vectors, real engines, a directory of its own."""

import io
import zipfile
from collections.abc import AsyncIterator

import httpx
import pytest

from contextfind.config.model import EmbeddingSettings, Settings
from contextfind.server.app import create_app
from contextfind.server.rules import ServerRules
from contextfind.wiring import House
from tests.api.caller import FIND, calling, error_of, result_of
from tests.backends import storage_in

DOCS = "viking://resources/docs"
FILES = {
    "docs/release/rollback.md": "# Rollback\n\nRoll back with `atlasctl rollback TKX-7741`.\n",
    "docs/release/notes.md": "# Notes\n\nThe zebra release adds pineapple exports.\n",
    "docs/运维/回滚步骤.md": "# 回滚步骤\n\n先停止流量, 再回滚数据库。\n",
}
ROOT = {"X-API-Key": "root"}


@pytest.fixture
async def http(tmp_path) -> AsyncIterator[httpx.AsyncClient]:
    settings = Settings(
        storage=storage_in(tmp_path / "data"),
        embedding=EmbeddingSettings(provider="hash"),
    )
    app = create_app(lambda: House.open(settings), ServerRules(root_api_key="root"))
    async with calling(app) as client:
        yield client


async def key_for(http, account, user):
    body = {"account_id": account, "admin_user_id": user}
    made = await http.post("/api/v1/admin/accounts", json=body, headers=ROOT)
    return {"X-API-Key": result_of(made)["user_key"]}


@pytest.fixture
async def alice(http) -> dict[str, str]:
    return await key_for(http, "acme", "alice")


def packed():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, text in FILES.items():
            archive.writestr(path, text)
    return buffer.getvalue()


async def added(http, key, **more):
    files = {"file": ("docs.zip", packed(), "application/zip")}
    upload = await http.post("/api/v1/resources/temp_upload", files=files, headers=key)
    body = {"temp_file_id": result_of(upload)["temp_file_id"], "to": DOCS, **more}
    return result_of(await http.post("/api/v1/resources", json=body, headers=key))


async def found(http, key, query, **more):
    response = await http.post(FIND, json={"query": query, "level": 2, **more}, headers=key)
    return [hit["uri"] for hit in result_of(response)["resources"]]


async def everything(http, key):
    params = {"uri": DOCS, "recursive": "true", "simple": "true"}
    response = await http.get("/api/v1/fs/ls", params=params, headers=key)
    return result_of(response)


async def test_a_zip_is_added_found_read_and_removed(http, alice):
    done = await added(http, alice, wait=True)
    assert done["status"] == "success"
    assert done["root_uri"] == DOCS
    assert done["errors"] == []
    listed = await everything(http, alice)
    (rollback,) = [uri for uri in listed if uri.endswith("/release/rollback.md")]
    (chinese,) = [uri for uri in listed if uri.endswith("/回滚步骤.md")]
    assert (await found(http, alice, "TKX-7741"))[0] == rollback
    assert (await found(http, alice, "回滚步骤"))[0] == chinese
    text = await http.get("/api/v1/content/read", params={"uri": rollback}, headers=alice)
    assert result_of(text) == FILES["docs/release/rollback.md"]
    params = {"uri": DOCS, "recursive": "true"}
    removed = await http.delete("/api/v1/fs", params=params, headers=alice)
    assert result_of(removed)["estimated_deleted_count"] > 0
    assert await found(http, alice, "TKX-7741") == []
    gone = await http.get("/api/v1/content/read", params={"uri": rollback}, headers=alice)
    error_of(gone, 404, "NOT_FOUND")


async def test_an_add_in_the_background_can_be_waited_for_in_both_ways(http, alice):
    task = (await added(http, alice))["task_id"]
    result_of(await http.post("/api/v1/system/wait", json={"timeout": 30}, headers=alice))
    assert len(await found(http, alice, "zebra pineapple")) == 3
    ended = result_of(await http.get(f"/api/v1/tasks/{task}", headers=alice))
    assert ended["status"] == "completed"
    assert ended["result"]["added"] == 3


async def test_what_is_written_with_wait_is_found_with_its_content(http, alice):
    uri = "viking://~/memories/cats & dogs/note #1 [a]+b.md"
    body = {"uri": uri, "content": "zebra quantum pineapple", "tags": ["kind=note"], "wait": True}
    written = result_of(await http.post("/api/v1/content/write", json=body, headers=alice))
    asked = {"query": "quantum", "context_type": "memory", "tags": ["kind=note"]}
    response = await http.post(FIND, json={**asked, "read_content": True}, headers=alice)
    (hit,) = result_of(response)["memories"]
    assert hit["uri"] == written["uri"] == uri.replace("~", "user/alice")
    assert hit["content"] == "zebra quantum pineapple"
    assert 0 < hit["score"] <= 1


async def test_the_tree_is_one_tenants_own(http, alice):
    await added(http, alice, wait=True)
    bob = await key_for(http, "other", "bob")
    assert await found(http, bob, "TKX-7741") == []
    error_of(await http.get("/api/v1/fs/stat", params={"uri": DOCS}, headers=bob), 404, "NOT_FOUND")
    theirs = {"query": "x", "target_uri": "viking://user/alice"}
    error_of(await http.post(FIND, json=theirs, headers=bob), 403, "PERMISSION_DENIED")
    assert len(await everything(http, alice)) > 3


async def test_directories_have_summaries_and_count_their_children(http, alice):
    await added(http, alice, wait=True)
    for level in ("abstract", "overview"):
        response = await http.get(f"/api/v1/content/{level}", params={"uri": DOCS}, headers=alice)
        assert result_of(response)
    stat = await http.get("/api/v1/fs/stat", params={"uri": DOCS}, headers=alice)
    assert result_of(stat)["isDir"] is True
    assert result_of(stat)["count"] >= 1


async def test_targets_that_are_not_there_are_named_and_contribute_nothing(http, alice):
    await added(http, alice, wait=True)
    asked = {"query": "TKX-7741", "target_uri": ["viking://resources/nope"]}
    response = await http.post(FIND, json=asked, headers=alice)
    assert result_of(response)["total"] == 0
    assert response.headers["x-unknown-targets"] == "viking://resources/nope"


async def test_a_path_of_the_server_is_refused_with_the_way_to_upload(http, alice):
    response = await http.post("/api/v1/resources", json={"path": "/etc/hostname"}, headers=alice)
    assert "temp_upload" in error_of(response, 403, "PERMISSION_DENIED")["message"]


async def test_what_was_uploaded_by_one_is_not_there_for_another(http, alice):
    files = {"file": ("a.md", b"secret")}
    upload = await http.post("/api/v1/resources/temp_upload", files=files, headers=alice)
    bob = await key_for(http, "other", "bob")
    body = {"temp_file_id": result_of(upload)["temp_file_id"], "wait": True}
    error_of(await http.post("/api/v1/resources", json=body, headers=bob), 404, "NOT_FOUND")


async def test_a_used_key_shows_when_and_a_revoked_one_is_dead(http, alice):
    result_of(await http.get("/api/v1/system/status", headers=alice))
    keys = result_of(await http.get("/api/v1/admin/keys", headers=alice))
    assert [key["user_id"] for key in keys] == ["alice"]
    result_of(await http.delete(f"/api/v1/admin/keys/{keys[0]['key_id']}", headers=ROOT))
    error_of(await http.get("/api/v1/system/status", headers=alice), 401, "UNAUTHENTICATED")


async def test_a_house_that_is_open_is_ready_and_shows_its_figures_to_root(http, alice):
    await added(http, alice, wait=True)
    ready = await http.get("/ready")
    assert ready.status_code == 200, ready.text
    root = result_of(await http.get("/api/v1/system/status", headers=ROOT))
    own = result_of(await http.get("/api/v1/system/status", headers=alice))
    assert root["counts"]["files"] == own["counts"]["files"] == 3
    assert "index" not in own


async def test_provenance_shows_the_walk_and_is_the_same_on_every_call(http, alice):
    await added(http, alice, wait=True)
    # the add waits for what lies below it; the summaries above follow
    result_of(await http.post("/api/v1/system/wait", json={"timeout": 30}, headers=alice))
    asked = {"query": "roll back", "limit": 2, "include_provenance": True}
    first = await http.post(FIND, json=asked, headers=alice)
    again = await http.post(FIND, json=asked, headers=alice)
    assert first.content == again.content
    result = result_of(first)
    (told,) = result["provenance"]
    assert told["query"] == "roll back"
    assert DOCS in told["searched_directories"]
    shown = [hit["uri"] for shelf in ("memories", "resources", "skills") for hit in result[shelf]]
    assert sorted(match["uri"] for match in told["matched_contexts"]) == sorted(shown)
    events = told["thinking_trace"]["events"]
    assert {event["event"] for event in events} >= {"open", "keep", "end"}
    statistics = told["thinking_trace"]["statistics"]
    assert statistics["total_events"] == len(events)
    assert statistics["directories_searched"] == len(told["searched_directories"])


async def test_without_the_flag_there_is_no_provenance(http, alice):
    response = await http.post(FIND, json={"query": "x"}, headers=alice)
    assert "provenance" not in result_of(response)


async def test_a_zip_that_cannot_be_used_is_refused_at_once_and_adds_nothing(http, alice):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("good.md", "fine")
        archive.writestr("../../etc/x.md", "evil")
    for data in (buffer.getvalue(), packed()[:-30]):
        files = {"file": ("docs.zip", data, "application/zip")}
        upload = await http.post("/api/v1/resources/temp_upload", files=files, headers=alice)
        body = {"temp_file_id": result_of(upload)["temp_file_id"], "to": DOCS, "wait": True}
        refused = await http.post("/api/v1/resources", json=body, headers=alice)
        error_of(refused, 400, "INVALID_ARGUMENT")
    assert result_of(await http.get("/api/v1/tasks", headers=alice)) == []
