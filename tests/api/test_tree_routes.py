import json

import pytest

from contextfind.domain.identity import Identity
from contextfind.domain.uri import Uri
from contextfind.ingestion.settling import Settled
from contextfind.server.rules import ServerRules
from tests.api.caller import app_of, calling, error_of, result_of
from tests.api.fake_house import FakeHouse

DOCS = Uri("viking://resources/docs")
WRITE = "/api/v1/content/write"


def planted(house):
    tree = house.browser
    tree.folders |= {("default", DOCS), ("default", DOCS.child("en"))}
    tree.texts["default", DOCS.child("a #1.md")] = "one\ntwo\nthree\n"
    tree.texts["default", DOCS.child("en/b.md")] = "b"
    tree.texts["other", DOCS.child("secret.md")] = "not yours"


@pytest.fixture
def tree(api):
    planted(api.house)
    return api


async def get(api, route, **params):
    return await api.http.get(f"/api/v1/{route}", params=params)


async def test_read_gives_the_text_as_a_bare_string(tree):
    text = result_of(await get(tree, "content/read", uri=DOCS.child("a #1.md").text, raw="true"))
    assert text == "one\ntwo\nthree\n"


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"offset": 1}, "two\nthree\n"),
        ({"offset": 1, "limit": 1}, "two"),
        ({"limit": 2}, "one\ntwo"),
        ({"limit": 0}, ""),
        ({"offset": 0, "limit": -1}, "one\ntwo\nthree\n"),
        ({"offset": 99}, ""),
        ({"offset": "", "limit": ""}, "one\ntwo\nthree\n"),
    ],
)
async def test_offset_and_limit_count_lines(tree, params, expected):
    response = await get(tree, "content/read", uri=DOCS.child("a #1.md").text, **params)
    assert result_of(response) == expected


@pytest.mark.parametrize("params", [{"offset": -1}, {"limit": -2}, {"limit": "x"}])
async def test_other_lines_are_refused(tree, params):
    error_of(await get(tree, "content/read", uri=DOCS.text, **params), 400, "INVALID_ARGUMENT")


async def test_reading_a_directory_is_refused_and_a_missing_file_not_found(tree):
    error_of(await get(tree, "content/read", uri=DOCS.text), 400, "INVALID_ARGUMENT")
    gone = await get(tree, "content/read", uri="viking://resources/nope.md")
    error_of(gone, 404, "NOT_FOUND")


@pytest.mark.parametrize("level", ["abstract", "overview"])
async def test_summaries_are_bare_strings(tree, level):
    response = await get(tree, f"content/{level}", uri=DOCS.text + "/")
    assert result_of(response) == f"{level} of {DOCS}"


@pytest.mark.parametrize(
    "route", ["content/read", "content/abstract", "content/overview", "fs/ls", "fs/tree", "fs/stat"]
)
async def test_what_is_no_address_is_invalid_uri_everywhere(tree, route):
    for uri in ("docs", "viking://nope/x", "viking://resources/%2e%2e/x"):
        error = error_of(await get(tree, route, uri=uri), 400, "INVALID_URI")
        assert error["message"].startswith("uri: address ")


async def test_a_listing_is_a_bare_list_by_name(tree):
    response = await get(tree, "fs/ls", uri=DOCS.text)
    assert response.json()["has_more"] is False
    assert result_of(response) == [
        {
            "name": "a #1.md",
            "uri": "viking://resources/docs/a #1.md",
            "size": 14,
            "isDir": False,
            "modTime": "2026-03-01T12:00:00Z",
            "abstract": "about a #1.md",
            "tags": ["kind=note"],
        },
        {
            "name": "en",
            "uri": "viking://resources/docs/en",
            "size": 0,
            "isDir": True,
            "modTime": "2026-03-01T12:00:00Z",
            "abstract": "about en",
            "tags": [],
        },
    ]


async def test_output_original_has_modes_and_no_abstracts(tree):
    shown = result_of(await get(tree, "fs/ls", uri=DOCS.text, output="original"))
    assert [one["mode"] for one in shown] == [0o644, 0o755]
    assert all("abstract" not in one for one in shown)
    error_of(await get(tree, "fs/ls", uri=DOCS.text, output="xml"), 400, "INVALID_ARGUMENT")


async def test_a_simple_listing_is_addresses(tree):
    shown = result_of(await get(tree, "fs/ls", uri=DOCS.text, simple="true", recursive="true"))
    assert shown == [DOCS.text + tail for tail in ("/a #1.md", "/en", "/en/b.md")]


async def test_a_recursive_listing_has_relative_paths(tree):
    shown = result_of(await get(tree, "fs/ls", uri=DOCS.text, recursive="true"))
    assert [one["rel_path"] for one in shown] == ["a #1.md", "en", "en/b.md"]


async def test_abstracts_are_cut_where_asked(tree):
    shown = result_of(await get(tree, "fs/ls", uri=DOCS.text, abs_limit=3))
    assert [one["abstract"] for one in shown] == ["abo", "abo"]


async def test_pages_say_whether_there_is_more(tree):
    first = await get(tree, "fs/ls", uri=DOCS.text, limit=1)
    assert [one["name"] for one in result_of(first)] == ["a #1.md"]
    assert first.json()["has_more"] is True
    second = await get(tree, "fs/ls", uri=DOCS.text, offset=1, limit=5, node_limit=1)
    assert [one["name"] for one in result_of(second)] == ["en"]
    assert second.json()["has_more"] is False


async def test_a_listing_without_an_address_is_that_of_the_root(api):
    api.house.browser.folders.add(("default", Uri("viking://resources")))
    for params in ({}, {"uri": ""}, {"uri": "viking://"}):
        response = await get(api, "fs/ls", show_all_hidden="true", sort_by="name", **params)
        assert [one["uri"] for one in result_of(response)] == ["viking://resources"]


async def test_a_tree_goes_as_deep_as_asked(tree):
    one = result_of(await get(tree, "fs/tree", uri=DOCS.text, level_limit=1))
    all_of_it = result_of(await get(tree, "fs/tree", uri=DOCS.text, node_limit=100))
    assert [entry["rel_path"] for entry in one] == ["a #1.md", "en"]
    assert [entry["rel_path"] for entry in all_of_it] == ["a #1.md", "en", "en/b.md"]


async def test_listing_what_is_not_there_is_not_found(tree):
    for route in ("fs/ls", "fs/tree", "fs/stat"):
        error_of(await get(tree, route, uri="viking://resources/nope"), 404, "NOT_FOUND")


async def test_stat_of_a_directory_counts_its_children(tree):
    shown = result_of(await get(tree, "fs/stat", uri=DOCS.text))
    assert shown["name"] == "docs"
    assert shown["isDir"] is True
    assert shown["count"] == 2
    assert shown["isLocked"] is False
    leaf = result_of(await get(tree, "fs/stat", uri=DOCS.child("en/b.md").text))
    assert leaf["size"] == 1
    assert "count" not in leaf


async def test_mkdir_answers_the_address_and_the_second_time_conflict(api):
    body = {"uri": "viking://~/resources/new/", "description": "d", "odd": 1}
    first = await api.http.post("/api/v1/fs/mkdir", json=body)
    assert result_of(first) == {"uri": "viking://user/default/resources/new"}
    assert first.headers["x-ignored-fields"] == "odd"
    error_of(await api.http.post("/api/v1/fs/mkdir", json=body), 409, "CONFLICT")


@pytest.mark.parametrize("flag", ["true", "True", "1"])
async def test_a_directory_is_removed_only_recursively(tree, flag):
    path = "/api/v1/fs"
    refused = error_of(
        await tree.http.delete(path, params={"uri": DOCS.text, "recursive": "false"}),
        400,
        "INVALID_ARGUMENT",
    )
    assert "recursive" in refused["message"]
    params = {"uri": DOCS.text, "recursive": flag, "wait": "true", "timeout": "5"}
    done = result_of(await tree.http.delete(path, params=params))
    assert done == {"uri": DOCS.text, "estimated_deleted_count": 2}
    again = result_of(await tree.http.delete(path, params=params))
    assert again["estimated_deleted_count"] == 0


async def test_a_write_answers_what_was_written(api):
    body = {"uri": DOCS.child("n.md").text, "content": "héllo", "tags": [" Kind=Note"]}
    response = await api.http.post(WRITE, json=body)
    assert result_of(response) == {
        "uri": DOCS.child("n.md").text,
        "root_uri": DOCS.text,
        "context_type": "resource",
        "mode": "replace",
        "written_bytes": 6,
        "content_updated": True,
        "semantic_status": "queued",
        "vector_status": "queued",
    }
    assert api.house.browser.tags[DOCS.child("n.md")] == ("kind=note",)
    assert api.house.settling.asked == []


async def test_tags_that_are_not_sent_are_left_alone(api):
    for tags, expected in (({}, None), ({"tags": None}, None), ({"tags": []}, ())):
        await api.http.post(WRITE, json={"uri": DOCS.text, "content": "x", **tags})
        assert api.house.browser.tags[DOCS] == expected


async def test_a_write_that_waits_answers_when_it_can_be_found(api):
    body = {"uri": DOCS.child("n.md").text, "content": "x", "wait": True, "telemetry": True}
    response = await api.http.post(WRITE, json=body)
    done = result_of(response)
    assert (done["semantic_status"], done["vector_status"]) == ("complete", "complete")
    assert done["queue_status"]["Embedding"]["error_count"] == 0
    assert api.house.settling.asked == [("default", DOCS.child("n.md"))]
    assert response.json()["telemetry"]["summary"]["operation"] == "content.write"


async def test_a_wait_that_an_embedder_ends_early_says_so(api):
    api.house.settling.answer = Settled(2, 0, "2 texts wait for the embedder: refused")
    body = {"uri": DOCS.child("n.md").text, "content": "x", "wait": True}
    done = result_of(await api.http.post(WRITE, json=body))
    assert done["vector_status"] == "queued"
    assert done["queue_status"]["Embedding"]["errors"] == ["2 texts wait for the embedder: refused"]


async def test_a_wait_beyond_its_timeout_is_deadline_exceeded_and_the_text_is_written(api):
    api.house.settling.seconds = 0.05
    body = {"uri": DOCS.child("n.md").text, "content": "x", "wait": True, "timeout": 0.01}
    error = error_of(await api.http.post(WRITE, json=body), 504, "DEADLINE_EXCEEDED")
    assert error["details"]["retryable"] is True
    assert api.house.browser.texts["default", DOCS.child("n.md")] == "x"


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"content": "x"}, "uri is missing"),
        ({"uri": "viking://resources/a"}, "content is missing"),
        ({"uri": "viking://resources/a", "content": None}, "content is missing"),
        ({"uri": "viking://resources/a", "content": "x", "mode": "zap"}, "mode is 'zap'; "),
        ({"uri": "viking://resources/a", "content": "x", "tags": ["k"]}, "tags[0] is 'k'; "),
        ({"uri": "viking://resources/a", "content": "x", "tags": ["a=\ud800"]}, "tags[0] is "),
        ({"uri": "viking://resources/a", "content": "x", "timeout": -1}, "timeout is -1; "),
        ({"uri": "viking://resources/a", "content": {}}, "content is {}; "),
    ],
)
async def test_a_wrong_write_is_named_and_writes_nothing(api, body, told):
    headers = {"content-type": "application/json"}
    response = await api.http.post(WRITE, content=json.dumps(body), headers=headers)
    assert error_of(response, 400, "INVALID_ARGUMENT")["message"].startswith(told)
    assert api.house.browser.texts == {}


async def test_creating_what_is_there_already_exists(tree):
    body = {"uri": DOCS.child("en/b.md").text, "content": "x", "mode": "create"}
    error_of(await tree.http.post(WRITE, json=body), 409, "ALREADY_EXISTS")


async def test_another_account_sees_nothing_of_it():
    house = FakeHouse()
    planted(house)
    async with calling(app_of(house, ServerRules(api_key="k")), **{"X-API-Key": "k"}) as http:
        names = result_of(await http.get("/api/v1/fs/ls", params={"uri": DOCS.text}))
    assert Identity("default", "default") not in house.finder.asked
    assert "secret.md" not in [one["name"] for one in names]


@pytest.mark.parametrize("route", ["fs/ls", "fs/tree"])
async def test_what_a_listing_does_not_do_is_named(tree, route):
    asked = {"uri": DOCS.text, "limit": "5", "include_tags": "false", "cursor": ""}
    assert "x-ignored-fields" not in (await get(tree, route, **asked)).headers
    more = await get(tree, route, **asked, directories_only="true", tags="team=ops")
    assert more.headers["x-ignored-fields"] == "directories_only,tags"
    assert result_of(more)
