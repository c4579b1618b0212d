"""skills: every route before a real house, its answers and its refusals."""

import hashlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

import httpx
import pytest
import pytest_asyncio

from tests.api.caller import error_of, result_of
from tests.api.living import Tenant, Town, packed, town

pytestmark = pytest.mark.asyncio(loop_scope="module")

SKILLS = "/api/v1/skills"
FIND = "/api/v1/skills/find"
VALIDATE = "/api/v1/skills/validate"
NUMBERS = count()
UPLOAD = "/api/v1/resources/temp_upload"
SHARED = "viking://agent/skills"
CSV = (
    "---\nname: csv-report\ndescription: Generate a CSV report from a table\n"
    "allowed-tools: [Read, Write]\ntags: [team=ops]\n---\n# csv-report\n\nUse it to produce CSV.\n"
)
PDF = "---\nname: 提取表格\ndescription: 从 PDF 文件里提取表格\n---\n# 做法\n\n逐页提取。\n"


@dataclass
class Workshop:
    """Two users of one account, and one of another."""

    ann: Tenant
    ben: Tenant
    eve: Tenant

    @staticmethod
    async def upload(who: Tenant, files: Mapping[str, str | bytes], name: str = "my.zip") -> str:
        data = packed(files) if name.endswith(".zip") else str(files["SKILL.md"]).encode()
        sent = await who.http.post(UPLOAD, files={"file": (name, data)}, headers=dict(who.key))
        return str(result_of(sent)["temp_file_id"])


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place(tmp_path_factory) -> AsyncIterator[Town]:
    async with town(tmp_path_factory.mktemp("skills")) as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="module")
async def shop(place) -> Workshop:
    """Fresh accounts, in which nothing was added yet."""
    number = next(NUMBERS)
    ann, ben = await place.account(f"acme{number}", ["ann", "ben"])
    (eve,) = await place.account(f"bolt{number}", ["eve"])
    return Workshop(ann, ben, eve)


async def add(who: Tenant, **body: Any) -> Any:
    return result_of(await who.post(SKILLS, {"wait": True, **body}))


async def delete(who: Tenant, name: str, **params: str) -> httpx.Response:
    return await who.http.delete(f"{SKILLS}/{name}", params=params, headers=dict(who.key))


async def names(who: Tenant, **params: object) -> list[str]:
    return [one["name"] for one in result_of(await who.get("skills", **params))["skills"]]


async def test_a_skill_is_added_from_its_text(shop):
    added = await add(shop.ann, data=CSV)
    line = {
        "name": "csv-report",
        "uri": "viking://user/ann/skills/csv-report",
        "root_uri": "viking://user/ann/skills",
        "skill_md_uri": "viking://user/ann/skills/csv-report/SKILL.md",
        "auxiliary_files": 0,
    }
    assert {name: added[name] for name in line} == line
    assert added["status"] == "success"
    assert added["skills"] == [{**line, "status": "success"}]
    assert added["root_uris"] == ["viking://user/ann/skills"]
    assert (added["failed"], added["errors"], added["warnings"]) == ([], [], [])
    assert added["queue_status"]["Embedding"]["pending"] == 0
    assert (await shop.ann.hits(query="csv report", level=2))[0]["uri"] == line["skill_md_uri"]


async def test_without_wait_the_skill_is_there_at_once_all_the_same(shop):
    added = await add(shop.ann, data=CSV, wait=False)
    assert "queue_status" not in added
    assert result_of(await shop.ann.get("skills/csv-report"))["content"] == CSV


async def test_a_skill_is_added_from_its_parts_for_the_whole_account(shop):
    parts = {"name": "csv", "description": "Make a CSV: fast", "content": "# How\n"}
    added = await add(shop.ann, data=parts, target_uri=SHARED + "/")
    assert added["uri"] == "viking://agent/skills/csv"
    seen = result_of(await shop.ben.get("skills/csv"))
    assert seen["description"] == "Make a CSV: fast"
    assert seen["content"].endswith("---\n\n# How\n")


async def test_every_skill_of_a_zip_is_added_and_the_bad_ones_are_named(shop):
    upload = await shop.upload(
        shop.ann,
        {
            "all/csv/SKILL.md": CSV,
            "all/csv/rows.md": "# Rows\n",
            "all/csv/logo.png": b"\x89PNG\x00\x00",
            "all/half/SKILL.md": "---\nname: half\n---\n",
            "all/pdf/SKILL.md": PDF,
        },
    )
    added = await add(shop.ann, temp_file_id=upload, target_uri="viking://~/skills")
    assert added["status"] == "partial"
    assert [(one["name"], one["status"]) for one in added["skills"]] == [
        ("csv-report", "success"),
        ("提取表格", "success"),
    ]
    assert (added["name"], added["auxiliary_files"]) == ("csv-report", 1)
    assert added["task_id"] == added["skills"][0]["task_id"]
    assert added["failed"][0]["path"] == "all/half/SKILL.md"
    assert "no description" in added["errors"][0]
    assert any(line.startswith("csv-report/logo.png") for line in added["warnings"])
    assert await names(shop.ann) == ["csv-report", "提取表格"]
    files = result_of(await shop.ann.get("skills/csv-report"))["files"]
    assert [(one["path"], one["kind"]) for one in files] == [
        ("SKILL.md", "skill_md"),
        ("rows.md", "auxiliary"),
    ]


async def test_a_zip_that_is_not_waited_for_is_a_task_for_each_skill(shop):
    upload = await shop.upload(shop.ann, {"a/SKILL.md": CSV, "b/SKILL.md": PDF})
    added = await add(shop.ann, temp_file_id=upload, wait=False)
    assert [one["status"] for one in added["skills"]] == ["accepted", "accepted"]
    await shop.ann.settled()
    for one in added["skills"]:
        task = result_of(await shop.ann.get(f"tasks/{one['task_id']}"))
        assert (task["status"], task["resource_id"]) == ("completed", one["uri"])


async def test_an_uploaded_skill_file_is_a_skill(shop):
    upload = await shop.upload(shop.ann, {"SKILL.md": CSV}, "SKILL.md")
    assert (await add(shop.ann, temp_file_id=upload))["name"] == "csv-report"


async def test_adding_a_skill_again_replaces_it(shop):
    await add(shop.ann, data=CSV)
    await add(shop.ann, data=CSV.replace("from a table", "from anything"))
    listed = result_of(await shop.ann.get("skills"))
    assert [one["description"] for one in listed["skills"]] == [
        "Generate a CSV report from anything"
    ]
    assert listed["total"] == 1


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({}, "exactly one of data"),
        ({"data": CSV, "temp_file_id": "upload_1"}, "exactly one of data"),
        ({"data": ""}, "no front matter"),
        ({"data": "no frontmatter"}, "no front matter"),
        ({"data": "---\nname: a\ndescription: b: c\n---\n"}, "line 3"),
        ({"data": {"name": "a", "content": "x"}}, "no description"),
        ({"data": {"name": "a", "description": "b", "content": 3}}, "data.content"),
        ({"data": [CSV]}, "expected the text of a SKILL.md, or an object of its parts"),
        ({"data": 3}, "data is 3"),
        ({"data": {}}, "no name"),
        ({"data": CSV, "target_uri": "viking://resources"}, "target_uri"),
        ({"data": CSV, "wait": "perhaps"}, "wait"),
    ],
)
async def test_what_is_no_skill_is_refused_and_named(shop, body, says):
    error = error_of(await shop.ann.post(SKILLS, body), 400, "INVALID_ARGUMENT")
    assert says in error["message"]
    assert await names(shop.ann) == []


async def test_half_a_character_is_refused(shop):
    body = '{"data": "---\\nname: a\\ndescription: \\ud800\\n---\\n"}'
    headers = {**shop.ann.key, "content-type": "application/json"}
    answer = await shop.ann.http.post(SKILLS, content=body, headers=headers)
    assert "whole characters" in error_of(answer, 400, "INVALID_ARGUMENT")["message"]


async def test_other_refusals_of_an_add(shop):
    ben = {"data": CSV, "target_uri": "viking://user/ben/skills"}
    error_of(await shop.ann.post(SKILLS, ben), 403, "PERMISSION_DENIED")
    error_of(await shop.ann.post(SKILLS, {"data": CSV, "target_uri": "skills"}), 400, "INVALID_URI")
    error_of(await shop.ann.post(SKILLS, {"temp_file_id": "upload_none"}), 404, "NOT_FOUND")
    theirs = await shop.upload(shop.ben, {"SKILL.md": CSV})
    error_of(await shop.ann.post(SKILLS, {"temp_file_id": theirs}), 404, "NOT_FOUND")
    empty = await shop.upload(shop.ann, {"README.md": "# Nothing\n"})
    error = error_of(await shop.ann.post(SKILLS, {"temp_file_id": empty}), 400, "INVALID_ARGUMENT")
    assert "no SKILL.md" in error["message"]
    broken = await shop.ann.http.post(
        UPLOAD, files={"file": ("a.zip", b"PK\x03\x04junk")}, headers=dict(shop.ann.key)
    )
    body = {"temp_file_id": result_of(broken)["temp_file_id"]}
    error_of(await shop.ann.post(SKILLS, body), 400, "INVALID_ARGUMENT")


async def test_a_skill_in_the_way_of_a_file_fails_and_says_so(shop):
    await shop.ann.write("viking://user/ann/skills/csv-report", "a file of that name")
    error_of(await shop.ann.post(SKILLS, {"data": CSV}), 409, "CONFLICT")
    upload = await shop.upload(shop.ann, {"a/SKILL.md": CSV, "a/b.md": "# B\n"})
    body = {"temp_file_id": upload, "wait": True}
    done = await shop.ann.post(SKILLS, body)
    assert done.status_code == 200
    assert result_of(done)["status"] == "partial"
    assert "csv-report" in result_of(done)["errors"][0]


async def test_fields_that_have_no_effect_are_named(shop):
    answer = await shop.ann.post(SKILLS, {"data": CSV, "privacy": True, "telemetry": True})
    assert answer.headers["x-ignored-fields"] == "privacy"
    assert answer.json()["telemetry"]["summary"]["operation"] == "skills.add"


async def test_a_listing_shows_the_account_and_the_caller(shop):
    await add(shop.ann, data=CSV)
    await add(shop.ben, data=PDF, target_uri=SHARED)
    listed = result_of(await shop.ann.get("skills"))
    assert listed == {
        "root_uris": ["viking://user/ann/skills", "viking://agent/skills"],
        "skills": [
            {
                "type": "skill",
                "name": "csv-report",
                "uri": "viking://user/ann/skills/csv-report",
                "root_uri": "viking://user/ann/skills",
                "skill_md_uri": "viking://user/ann/skills/csv-report/SKILL.md",
                "description": "Generate a CSV report from a table",
                "tags": ["team=ops"],
                "allowed_tools": ["Read", "Write"],
            },
            {
                "type": "skill",
                "name": "提取表格",
                "uri": "viking://agent/skills/提取表格",
                "root_uri": "viking://agent/skills",
                "skill_md_uri": "viking://agent/skills/提取表格/SKILL.md",
                "description": "从 PDF 文件里提取表格",
                "tags": [],
                "allowed_tools": [],
            },
        ],
        "total": 2,
    }
    assert await names(shop.ben) == ["提取表格"]
    assert await names(shop.eve) == []
    assert await names(shop.ann, target_uri="viking://~/skills") == ["csv-report"]
    assert await names(shop.ann, node_limit=1) == ["csv-report"]


@pytest.mark.parametrize(
    ("params", "status", "code"),
    [
        ({"node_limit": 0}, 400, "INVALID_ARGUMENT"),
        ({"target_uri": "viking://resources"}, 400, "INVALID_ARGUMENT"),
        ({"target_uri": "skills"}, 400, "INVALID_URI"),
        ({"target_uri": "viking://user/ben/skills"}, 403, "PERMISSION_DENIED"),
    ],
)
async def test_wrong_listings_are_refused(shop, params, status, code):
    error_of(await shop.ann.get("skills", **params), status, code)
    if "target_uri" in params:
        error_of(await shop.ann.get("skills/x", **params), status, code)
        error_of(await delete(shop.ann, "x", **params), status, code)
        error_of(await shop.ann.post(FIND, {"query": "x", **params}), status, code)


async def test_a_skill_is_read_whole(shop):
    await add(shop.ann, data=CSV)
    page = result_of(await shop.ann.get("skills/csv-report"))
    assert page["content"] == CSV
    assert page["content_sha256"] == hashlib.sha256(CSV.encode()).hexdigest()
    assert page["abstract"] == "csv-report: Generate a CSV report from a table"
    assert page["overview"].startswith("# csv-report\n")
    assert page["files"] == [
        {
            "name": "SKILL.md",
            "uri": page["skill_md_uri"],
            "path": "SKILL.md",
            "is_dir": False,
            "kind": "skill_md",
        }
    ]


async def test_a_skill_that_is_not_there_or_not_the_callers_is_not_found(shop):
    await add(shop.ann, data=CSV)
    for who, name in ((shop.ann, "nope"), (shop.ben, "csv-report"), (shop.eve, "csv-report")):
        error = error_of(await who.get(f"skills/{name}"), 404, "NOT_FOUND")
        assert error["details"] == {"type": "skill", "resource": name}


async def test_skills_are_found_by_what_they_are_for(shop):
    await add(shop.ann, data=CSV)
    await add(shop.ann, data=PDF, target_uri=SHARED)
    await shop.ann.write(
        "viking://user/ann/skills/csv-report/rows.md", "# A CSV report\n\nCSV report."
    )
    found = result_of(await shop.ann.post(FIND, {"query": "make a csv report"}))
    assert found["root_uris"] == ["viking://user/ann/skills", "viking://agent/skills"]
    assert found["total"] == len(found["skills"])
    best = found["skills"][0]
    assert (best["name"], best["level"], best["type"]) == ("csv-report", 2, "skill")
    assert best["skill_md_uri"].endswith("/SKILL.md")
    assert 0 < best["score"] <= 1
    assert best["match_reason"]
    assert [one["name"] for one in found["skills"]].count("csv-report") == 1
    chinese = result_of(await shop.ben.post(FIND, {"query": "提取 PDF 里的表格", "limit": 1}))
    assert [one["name"] for one in chinese["skills"]] == ["提取表格"]


async def test_a_find_obeys_its_bounds(shop):
    await add(shop.ann, data=CSV)
    await add(shop.ann, data=PDF, target_uri=SHARED)

    async def found(**body: Any) -> list[str]:
        answer = result_of(await shop.ann.post(FIND, body))
        return [one["name"] for one in answer["skills"]]

    assert sorted(await found()) == ["csv-report", "提取表格"]
    assert await found(query="csv report", target_uri=SHARED) == ["提取表格"]
    assert await found(query="csv report", tags=["team=ops"]) == ["csv-report"]
    assert await found(query="csv zebra quagga okapi", score_threshold=0.9) == []
    assert len(await found(query="csv report", limit=2, node_limit=1)) == 1
    nothing = await shop.eve.post(FIND, {"query": "csv report", "telemetry": True})
    assert result_of(nothing)["total"] == 0
    assert "x-unknown-targets" not in nothing.headers  # she named none
    assert nothing.json()["telemetry"]["summary"]["operation"] == "skills.find"


@pytest.mark.parametrize(
    "body", [{"query": "x", "limit": 0}, {"query": "x", "tags": ["a"]}, {"query": 3}, []]
)
async def test_wrong_finds_are_refused(shop, body):
    error_of(await shop.ann.post(FIND, body), 400, "INVALID_ARGUMENT")


async def test_a_find_of_everything_shows_the_file_of_a_skill(shop):
    await add(shop.ann, data=CSV)
    hits = await shop.ann.hits(query="csv report from a table", context_type="skill")
    assert (hits[0]["uri"], hits[0]["level"]) == (
        "viking://user/ann/skills/csv-report/SKILL.md",
        2,
    )


async def test_a_skill_is_judged_without_being_added(shop):
    judged = result_of(await shop.ann.post(VALIDATE, {"data": CSV}))
    assert judged == {
        "valid": True,
        "strict": False,
        "name": "csv-report",
        "description": "Generate a CSV report from a table",
        "tags": ["team=ops"],
        "allowed_tools": ["Read", "Write"],
        "body_lines": 3,
        "source_path": "",
        "skill_dir_name": "",
        "errors": [],
        "warnings": [],
    }
    assert await names(shop.ann) == []


async def test_what_is_wrong_with_a_skill_is_told_and_no_refusal(shop):
    judged = result_of(await shop.ann.post(VALIDATE, {"data": "---\nname: A B\n---\n"}))
    assert (judged["valid"], judged["name"]) == (False, "A B")
    assert "no description" in judged["errors"][0]
    assert len(judged["warnings"]) == 2


async def test_strictly_a_warning_counts(shop):
    data = {"data": CSV.replace("csv-report", "CSV Report")}
    assert result_of(await shop.ann.post(VALIDATE, data))["valid"] is True
    assert result_of(await shop.ann.post(VALIDATE, {**data, "strict": True}))["valid"] is False


async def test_an_upload_is_judged_and_can_still_be_added(shop):
    upload = await shop.upload(shop.ann, {"x/a/SKILL.md": CSV})
    judged = result_of(await shop.ann.post(VALIDATE, {"temp_file_id": upload}))
    assert (judged["valid"], judged["source_path"], judged["skill_dir_name"]) == (
        True,
        "x/a/SKILL.md",
        "a",
    )
    assert (await add(shop.ann, temp_file_id=upload))["status"] == "success"
    several = await shop.upload(shop.ann, {"a/SKILL.md": CSV, "b/SKILL.md": "# no\n"})
    judged = result_of(await shop.ann.post(VALIDATE, {"temp_file_id": several}))
    assert judged["valid"] is False
    assert judged["errors"][0].startswith("b/SKILL.md: ")


async def test_wrong_judgements_are_refused(shop):
    error_of(await shop.ann.post(VALIDATE, {}), 400, "INVALID_ARGUMENT")
    error_of(await shop.ann.post(VALIDATE, {"temp_file_id": "upload_no"}), 404, "NOT_FOUND")


async def test_a_removed_skill_is_gone_at_once_and_again_is_no_error(shop):
    upload = await shop.upload(shop.ann, {"a/SKILL.md": CSV, "a/rows.md": "# Rows\n"})
    await add(shop.ann, temp_file_id=upload)
    gone = result_of(await delete(shop.ann, "csv-report"))
    assert gone == {
        "name": "csv-report",
        "uri": "viking://user/ann/skills/csv-report",
        "root_uri": "viking://user/ann/skills",
        "estimated_deleted_count": 4,
    }
    assert result_of(await shop.ann.post(FIND, {"query": "csv report"}))["total"] == 0
    assert result_of(await delete(shop.ann, "csv-report"))["estimated_deleted_count"] == 0


async def test_nobody_removes_the_skill_of_another(shop):
    await add(shop.ann, data=CSV)
    await add(shop.ann, data=PDF, target_uri=SHARED)
    for who in (shop.ben, shop.eve):
        assert result_of(await delete(who, "csv-report"))["estimated_deleted_count"] == 0
    assert result_of(await delete(shop.eve, "提取表格"))["estimated_deleted_count"] == 0
    assert await names(shop.ann) == ["csv-report", "提取表格"]


async def test_an_own_skill_hides_the_shared_one_until_it_is_removed(shop):
    await add(shop.ann, data=CSV, target_uri=SHARED)
    await add(shop.ann, data=CSV.replace("from a table", "my way"))
    assert result_of(await shop.ann.get("skills/csv-report"))["description"].endswith("my way")
    shared = result_of(await shop.ann.get("skills/csv-report", target_uri=SHARED))
    assert shared["description"].endswith("from a table")
    assert result_of(await delete(shop.ann, "csv-report"))["root_uri"] == "viking://user/ann/skills"
    assert result_of(await shop.ann.get("skills/csv-report"))["root_uri"] == SHARED


async def test_r130_skills_obey_identity_and_target(shop):
    for who, text in ((shop.ann, CSV), (shop.ben, CSV), (shop.eve, CSV)):
        await add(who, data=text)
    for who, user in ((shop.ann, "ann"), (shop.ben, "ben"), (shop.eve, "eve")):
        found = result_of(await who.post(FIND, {"query": "csv report"}))
        assert [one["root_uri"] for one in found["skills"]] == [f"viking://user/{user}/skills"]
        assert result_of(await who.post(FIND, {"query": "csv", "target_uri": SHARED}))["total"] == 0


async def test_a_skill_is_replaced_where_it_lies_without_saying_its_name_again(shop):
    await shop.ann.post(SKILLS, {"data": CSV, "target_uri": SHARED, "wait": True})
    parts = {"description": "Make a table of commas", "content": "# New\n"}
    answer = await shop.ben.put(f"{SKILLS}/csv-report", {"data": parts, "wait": True})
    assert result_of(answer)["uri"] == f"{SHARED}/csv-report"
    listed = result_of(await shop.ann.get("skills"))
    assert [one["description"] for one in listed["skills"]] == ["Make a table of commas"]
    found = result_of(await shop.ann.post(FIND, {"query": "commas"}))
    assert [one["name"] for one in found["skills"]] == ["csv-report"]


async def test_only_the_skill_of_the_path_is_replaced(shop):
    await shop.ann.post(SKILLS, {"data": CSV, "wait": True})
    refused = await shop.ann.put(f"{SKILLS}/csv-report", {"data": PDF})
    message = error_of(refused, 400, "INVALID_ARGUMENT")["message"]
    assert message == "data is the skill '提取表格'; expected 'csv-report'"
    upload = await shop.upload(shop.ann, {"a/SKILL.md": CSV, "a/x.py": "1", "b/SKILL.md": PDF})
    sent = {"temp_file_id": upload, "wait": True}
    replaced = result_of(await shop.ann.put(f"{SKILLS}/csv-report", sent))
    assert [one["name"] for one in replaced["skills"]] == ["csv-report"]
    assert replaced["skills"][0]["auxiliary_files"] == 1
    assert [one["path"] for one in replaced["failed"]] == ["b/SKILL.md"]
    assert result_of(await shop.ann.get("skills"))["total"] == 1


async def test_what_is_not_there_is_not_replaced(shop):
    await shop.ann.post(SKILLS, {"data": CSV, "wait": True})
    for who, body in ((shop.ben, {"data": CSV}), (shop.ann, {"data": CSV, "target_uri": SHARED})):
        error_of(await who.put(f"{SKILLS}/csv-report", body), 404, "NOT_FOUND")
    error_of(await shop.ann.put(f"{SKILLS}/csv-report", {}), 400, "INVALID_ARGUMENT")
