import math

import pytest

from contextfind.domain.errors import PermissionDeniedError
from contextfind.domain.identity import Identity
from contextfind.domain.uri import Uri
from contextfind.ingestion.adding import AddRequest
from contextfind.ports import JobState
from contextfind.server.rules import ServerRules
from tests.api.caller import app_of, calling, error_of, result_of
from tests.api.fake_house import FakeHouse
from tests.stubs.pictures import picture_server, redirect

ADD = "/api/v1/resources"
UPLOAD = "/api/v1/resources/temp_upload"
LOCAL = Identity("default", "default", "user")


async def test_an_upload_is_kept_for_its_caller_under_its_name(api):
    files = {"file": ("回滚 #1.zip", b"PK\x00\xff", "application/zip")}
    response = await api.http.post(UPLOAD, files=files, data={"upload_mode": "local"})
    assert result_of(response) == {"temp_file_id": "upload_1"}
    assert api.house.uploads.kept == [(LOCAL, "回滚 #1.zip", b"PK\x00\xff")]


async def test_an_empty_file_is_an_upload_too(api):
    result_of(await api.http.post(UPLOAD, files={"file": ("a.md", b"")}))
    assert api.house.uploads.kept[0][2] == b""


async def test_an_upload_without_a_file_names_the_field(api):
    for parts in ({"files": {"other": ("a.md", b"x")}}, {"data": {"file": "text"}}, {"json": {}}):
        error = error_of(await api.http.post(UPLOAD, **parts), 400, "INVALID_ARGUMENT")
        assert "file" in error["message"]


async def test_a_broken_form_is_refused(api):
    headers = {"content-type": "multipart/form-data; boundary=x"}
    response = await api.http.post(UPLOAD, content=b"garbage", headers=headers)
    error_of(response, 400, "INVALID_ARGUMENT")


@pytest.mark.parametrize("size", [11, 200_000])
async def test_an_upload_beyond_the_limit_is_refused(size):
    house = FakeHouse()
    async with calling(app_of(house, ServerRules(max_upload_bytes=10))) as http:
        response = await http.post(UPLOAD, files={"file": ("a.md", b"x" * size)})
        fits = await http.post(UPLOAD, files={"file": ("a.md", b"x" * 10)})
    error_of(response, 429, "RESOURCE_EXHAUSTED")
    assert len(house.uploads.kept) == 1
    result_of(fits)


async def test_an_add_without_wait_is_a_task(api):
    body = {
        "temp_file_id": "upload_1",
        "source_name": "docs.zip",
        "to": "viking://resources/docs/",
        "create_parent": True,
        "tags": ["Lang=EN"],
        "include": "*.md, *.txt",
        "exclude": ["drafts/*"],
        "ignore_dirs": "node_modules,.git",
        "reason": "because",
        "strict": False,
    }
    response = await api.http.post(ADD, json=body)
    assert result_of(response) == {
        "status": "success",
        "task_id": "job0",
        "root_uri": "viking://resources/docs",
        "source_path": "docs.zip",
        "errors": [],
        "warnings": [],
    }
    assert response.headers["x-ignored-fields"] == "reason,strict"
    assert api.house.jobs.asked == [
        AddRequest(
            upload="upload_1",
            source_name="docs.zip",
            to=Uri("viking://resources/docs"),
            tags=("lang=en",),
            include=("*.md", "*.txt"),
            exclude=("drafts/*",),
            ignore_dirs=("node_modules", ".git"),
        )
    ]


async def test_an_add_that_waits_says_what_became_of_every_file(api):
    response = await api.http.post(
        ADD, json={"temp_file_id": "u", "wait": True, "telemetry": True, "timeout": None}
    )
    done = result_of(response)
    assert done["status"] == "success"
    assert done["root_uri"] == "viking://resources/docs"
    assert done["errors"] == []
    assert done["warnings"] == ["a.png: binary"]
    assert done["context_count"] == 3
    assert done["meta"]["added"] == 2
    assert done["queue_status"]["Semantic"]["error_count"] == 0
    assert response.json()["telemetry"]["summary"]["operation"] == "resources.add"
    waited = api.house.jobs.patience[0]
    assert waited is not None
    assert math.isclose(waited, 3_600, abs_tol=5)


async def test_the_wait_is_as_long_as_asked_and_never_without_bound(api):
    for asked, expected in ((7, 7), ("7.5", 7.5), (1e9, 3600)):
        body = {"temp_file_id": "u", "wait": True, "timeout": asked}
        result_of(await api.http.post(ADD, json=body))
        waited = api.house.jobs.patience[-1]
        assert waited is not None
        assert math.isclose(waited, expected, abs_tol=0.5)


async def test_a_wait_that_ends_first_names_the_task(api):
    api.house.jobs.slow = True
    response = await api.http.post(ADD, json={"temp_file_id": "u", "wait": True})
    error = error_of(response, 504, "DEADLINE_EXCEEDED")
    assert error["details"]["task_id"] == "job0"


@pytest.mark.parametrize(
    ("end", "status", "code"),
    [
        (JobState.FAILED, 412, "FAILED_PRECONDITION"),
        (JobState.CANCELLED, 409, "CONFLICT"),
    ],
)
async def test_an_add_that_fails_while_waited_for_is_no_success(api, end, status, code):
    api.house.jobs.end = end
    response = await api.http.post(ADD, json={"temp_file_id": "u", "wait": True})
    assert error_of(response, status, code)["details"]["task_id"] == "job0"


async def test_a_path_of_the_server_is_judged_by_the_house(api):
    api.house.jobs.fault = PermissionDeniedError("upload it with temp_upload")
    response = await api.http.post(ADD, json={"path": "/etc/hostname"})
    error_of(response, 403, "PERMISSION_DENIED")


@pytest.mark.parametrize(
    "path",
    [
        "http://127.0.0.1:9/x.md",
        "HTTPS://example.org/a",
        "git@github.com:a/b.git",
        "ssh://host/a.git",
        "me@host:a.git",
    ],
)
async def test_nothing_is_fetched_from_the_network(api, path):
    error = error_of(await api.http.post(ADD, json={"path": path}), 501, "UNIMPLEMENTED")
    assert "temp_upload" in error["message"]
    assert api.house.jobs.asked == []


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "INVALID_ARGUMENT"),
        ({"temp_file_id": "u", "path": "/a"}, "INVALID_ARGUMENT"),
        (
            {"temp_file_id": "u", "to": "viking://resources/a", "parent": "viking://resources"},
            "INVALID_ARGUMENT",
        ),
        ({"temp_file_id": "u", "tags": ["team:docs"]}, "INVALID_ARGUMENT"),
        ({"temp_file_id": "u", "to": "resources/a"}, "INVALID_URI"),
        ({"temp_file_id": "u", "parent": "viking://nope/a"}, "INVALID_URI"),
        ({"temp_file_id": "u", "include": 2.5}, "INVALID_ARGUMENT"),
        ({"temp_file_id": "u", "wait": "perhaps"}, "INVALID_ARGUMENT"),
    ],
)
async def test_a_wrong_add_starts_nothing(api, body, code):
    error_of(await api.http.post(ADD, json=body), 400, code)
    assert api.house.jobs.asked == []


async def test_r125_a_path_on_the_network_is_refused_and_nobody_is_connected_to(api):
    with picture_server() as inner:
        inner.pages["/go"] = redirect(f"http://127.0.0.1:{inner.port}/cat.png")
        here = f"127.0.0.1:{inner.port}"
        for path in (
            f"http://{here}/go",
            f"HTTPS://{here}/go",
            f"git://{here}/x",
            "git@127.0.0.1:x",
        ):
            response = await api.http.post("/api/v1/resources", json={"path": path})
            error = error_of(response, 501, "UNIMPLEMENTED")
            assert "temp_upload" in error["message"]
        assert inner.connections == 0
    assert api.house.jobs.asked == []
