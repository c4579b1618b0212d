"""content/download and content/batch-write before a real house with several tenants."""

import base64
import hashlib
from collections.abc import AsyncIterator
from itertools import count

import pytest
import pytest_asyncio

from tests.api.caller import error_of, result_of
from tests.api.living import Tenant, Town, packed, town
from tests.unit.ingestion.test_parsing_office import pdf

BATCH = "/api/v1/content/batch-write"
ROOT = "viking://resources/wiki"
A, B = f"{ROOT}/a.md", f"{ROOT}/deep/b.md"
ABSENT = {"kind": "create_if_absent"}
numbers = count(1)

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place(tmp_path_factory) -> AsyncIterator[Town]:
    async with town(tmp_path_factory.mktemp("files")) as it:
        yield it


@pytest_asyncio.fixture(loop_scope="module")
async def ann(place) -> Tenant:
    """The only user of an account of its own: an empty tree."""
    return await place.tenant(f"files{next(numbers)}")


def digest(text: str) -> str:
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def same_as(text: str) -> dict[str, str]:
    return {"kind": "replace_if_hash", "base_hash": digest(text)}


async def batch(who: Tenant, *operations: dict[str, object], root: str = ROOT, **more):
    return await who.post(BATCH, {"root_uri": root, "operations": list(operations), **more})


async def text_at(who: Tenant, uri: str) -> str | None:
    answer = await who.get("content/read", uri=uri)
    return result_of(answer) if answer.status_code == 200 else None


# download


@pytest.mark.parametrize(
    ("name", "kind", "disposition"),
    [
        ("a.md", "text/markdown", "attachment; filename=\"a.md\"; filename*=UTF-8''a.md"),
        (
            '回 "x".html',
            "text/html",
            "attachment; filename=\"_ _x_.html\"; filename*=UTF-8''%E5%9B%9E%20%22x%22.html",
        ),
        ("noidea", "application/octet-stream", None),
    ],
)
async def test_a_file_is_downloaded_under_its_name_and_never_shown(ann, name, kind, disposition):
    uri = f"viking://resources/{name}"
    await ann.write(uri, "<b>quokka</b>\r\n回")
    answer = await ann.get("content/download", uri=uri)
    assert answer.status_code == 200
    assert answer.content == "<b>quokka</b>\r\n回".encode()
    assert answer.headers["content-type"].startswith(kind)
    assert answer.headers["content-disposition"] == (
        disposition or f"attachment; filename=\"{name}\"; filename*=UTF-8''{name}"
    )
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["x-request-id"]


async def test_a_document_is_downloaded_as_it_came(ann):
    files = {"手册.pdf": pdf("Rollback steps"), "gbk.md": "回滚步骤\n".encode("gb18030")}
    await ann.upload("d.zip", packed(files), to="viking://resources/d")
    answer = await ann.get("content/download", uri="viking://resources/d/手册.pdf")
    assert answer.content == files["手册.pdf"]
    text = await ann.get("content/download", uri="viking://resources/d/gbk.md")
    assert text.content in (files["gbk.md"], "回滚步骤\n".encode())


@pytest.mark.parametrize(
    ("uri", "status", "code"),
    [
        ("docs", 400, "INVALID_URI"),
        ("viking://resources", 400, "INVALID_ARGUMENT"),
        ("viking://resources/none.md", 404, "NOT_FOUND"),
        ("viking://user/eve/a.md", 403, "PERMISSION_DENIED"),
    ],
)
async def test_what_cannot_be_downloaded_is_refused_in_the_envelope(ann, uri, status, code):
    error_of(await ann.get("content/download", uri=uri), status, code)


async def test_the_summary_of_a_directory_is_a_file_too(ann):
    await ann.write(A, "quokka")
    await ann.settled()
    answer = await ann.get("content/download", uri=f"{ROOT}/.overview.md")
    assert "a.md" in answer.text


# batch-write


async def test_a_batch_is_written_once_however_often_it_is_sent(ann):
    await ann.write(A, "old", tags=["k=v"])
    operations = [
        {"uri": A, "content": "new quokka", "precondition": same_as("old")},
        {"uri": B, "content": "another quokka", "precondition": ABSENT},
    ]
    first = result_of(await batch(ann, *operations, wait=True))
    assert (first["created"], first["updated"], first["unchanged"]) == ([B], [A], [])
    assert (first["semantic_status"], first["vector_status"]) == ("complete", "complete")
    assert sorted(await ann.uris(query="quokka", level=2)) == [A, B]
    assert await ann.uris(query="quokka", tags=["k=v"]) == [A]
    again = result_of(await batch(ann, *operations))
    assert again == {
        "root_uri": ROOT,
        "created": [],
        "updated": [],
        "unchanged": [A, B],
        "conflicts": [],
        "semantic_status": "complete",
        "vector_status": "complete",
    }


@pytest.mark.parametrize(
    ("precondition", "reason"),
    [
        (ABSENT, "another content"),
        (same_as("elsewhere"), "it has changed"),
    ],
)
async def test_a_conflict_leaves_everything_as_it_is_unless_it_is_skipped(
    ann, precondition, reason
):
    await ann.write(A, "mine")
    operations = [
        {"uri": A, "content": "yours", "precondition": precondition},
        {"uri": B, "content": "b"},
    ]
    error = error_of(await batch(ann, *operations), 409, "CONFLICT")
    assert [one["uri"] for one in error["details"]["conflicts"]] == [A]
    assert reason in error["details"]["conflicts"][0]["reason"]
    assert (await text_at(ann, A), await text_at(ann, B)) == ("mine", None)
    done = result_of(await batch(ann, *operations, skip_conflicts=True))
    assert (done["created"], [one["uri"] for one in done["conflicts"]]) == ([B], [A])
    assert (await text_at(ann, A), await text_at(ann, B)) == ("mine", "b")


async def test_what_is_gone_cannot_be_replaced_and_what_has_no_condition_is_written(ann):
    gone = {"uri": A, "content": "x", "precondition": same_as("old")}
    error_of(await batch(ann, gone), 409, "CONFLICT")
    for text in ("one", "two"):
        result_of(await batch(ann, {"uri": A, "content": text}))
        assert await text_at(ann, A) == text


async def test_bytes_come_as_base64_and_are_read_as_any_file(ann):
    document = base64.b64encode(pdf("Quokka steps")).decode()
    uri = f"{ROOT}/手册.pdf"
    result_of(await batch(ann, {"uri": uri, "content_base64": document}, wait=True))
    assert await ann.uris(query="quokka", level=2) == [uri]
    picture = {
        "uri": f"{ROOT}/b.png",
        "content_base64": base64.b64encode(bytes(range(256)) * 9).decode(),
    }
    refused = await batch(ann, {"uri": A, "content": "a"}, picture)
    assert "b.png" in error_of(refused, 400, "INVALID_ARGUMENT")["message"]
    assert await text_at(ann, A) is None


@pytest.mark.parametrize(
    ("operation", "code", "told"),
    [
        ({"uri": "viking://resources/other.md", "content": ""}, "INVALID_ARGUMENT", "[0].uri"),
        ({"uri": ROOT, "content": ""}, "INVALID_ARGUMENT", "operations[0].uri is "),
        ({"uri": f"{ROOT}/../x.md", "content": ""}, "INVALID_URI", "operations[0].uri: address"),
        ({"uri": A}, "INVALID_ARGUMENT", "operations[0] has neither"),
        ({"uri": A, "content": "", "content_base64": ""}, "INVALID_ARGUMENT", "has both"),
        ({"uri": A, "content_base64": "?"}, "INVALID_ARGUMENT", "content_base64 is '?'"),
        (
            {"uri": A, "content": "", "precondition": {"kind": "replace_if_hash"}},
            "INVALID_ARGUMENT",
            "operations[0].precondition.base_hash is ''",
        ),
        ({"uri": A, "content": "", "precondition": {"kind": "x"}}, "INVALID_ARGUMENT", "kind"),
        ({"uri": f"{ROOT}/.overview.md", "content": ""}, "INVALID_URI", "summary"),
    ],
)
async def test_a_wrong_file_is_named_and_nothing_is_written(ann, operation, code, told):
    error = error_of(await batch(ann, operation, {"uri": B, "content": "b"}), 400, code)
    assert told in error["message"]
    assert await text_at(ann, B) is None


async def test_a_batch_has_bounds(ann):
    many = [{"uri": f"{ROOT}/{n}.md", "content": "x"} for n in range(257)]
    error_of(await batch(ann, *many), 400, "INVALID_ARGUMENT")
    error_of(await batch(ann), 400, "INVALID_ARGUMENT")
    twice = {"uri": A, "content": "x"}
    assert "once" in error_of(await batch(ann, twice, twice), 400, "INVALID_ARGUMENT")["message"]
    large = [{"uri": f"{ROOT}/{n}.md", "content": "x" * 8_500_000} for n in range(2)]
    error_of(await batch(ann, *large), 429, "RESOURCE_EXHAUSTED")
    assert len(result_of(await batch(ann, *many[:256]))["created"]) == 256


async def test_a_directory_in_the_way_stops_the_batch(ann):
    await ann.write(B, "b")
    blocked = {"uri": f"{ROOT}/deep", "content": "x"}
    error_of(await batch(ann, {"uri": A, "content": "a"}, blocked), 409, "CONFLICT")
    assert await text_at(ann, A) is None


async def test_a_batch_in_anothers_tree_is_refused(ann):
    theirs = {"uri": "viking://user/eve/w/a.md", "content": "x"}
    refused = await batch(ann, theirs, root="viking://user/eve/w")
    error_of(refused, 403, "PERMISSION_DENIED")
