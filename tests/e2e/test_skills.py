"""Skills through a real server: a zip of two, found by what they are for, in both languages."""

import io
import time
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.crash.program import ForkedServer
from tests.processes import ServerProcess

SKILLS = "/api/v1/skills"
SHARED = "viking://agent/skills"
RELEASE = (
    "---\nname: roll-back-release\ndescription: Undo a bad release of the depot software and tell "
    "the on-call.\n---\n# Roll back\n\n1. Stop the canary.\n2. Run `atlasctl rollback`.\n"
)
TABLES = (
    "---\nname: 提取PDF表格\ndescription: 把 PDF 文件里的表格整理成 CSV，保留列名和单位。\n---\n"
    "# 做法\n\n逐页读取，合并跨页的表格。\n"
)
FILES = {
    "team skills/roll back/SKILL.md": RELEASE,
    "team skills/roll back/scripts/rollback.sh": '#!/bin/sh\natlasctl rollback "$1"\n',
    "team skills/表格/SKILL.md": TABLES,
    "team skills/表格/参考/单位.md": "# 单位\n\n长度用米。\n",
    "team skills/README.md": "# Our skills\n",
}


def packed(files: Mapping[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return buffer.getvalue()


def upload(server: ServerProcess, files: Mapping[str, str] = FILES) -> str:
    sent = {"file": ("team skills.zip", packed(files))}
    return str(server.call("POST", "/api/v1/resources/temp_upload", files=sent)["temp_file_id"])


def found(server: ServerProcess, query: str, **fields: object) -> list[dict[str, Any]]:
    answer = server.call("POST", f"{SKILLS}/find", json={"query": query, **fields})
    skills: list[dict[str, Any]] = answer["skills"]
    return skills


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with ForkedServer(tmp_path_factory.mktemp("skills") / "data") as process:
        process.start().wait_healthy()
        body = {"temp_file_id": upload(process), "target_uri": SHARED, "wait": True}
        added = process.call("POST", SKILLS, json=body)
        assert added["status"] == "success"
        assert [one["name"] for one in added["skills"]] == ["roll-back-release", "提取PDF表格"]
        # the directory above them is summarised behind the answer, and counts in the words' worth
        process.call("POST", "/api/v1/system/wait", json={"timeout": 60})
        yield process


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("undo a bad release and tell the on-call", "roll-back-release"),
        ("把 PDF 里的表格整理成 CSV", "提取PDF表格"),
    ],
)
def test_a_skill_is_found_by_its_description(server: ServerProcess, query: str, name: str) -> None:
    best = found(server, query)[0]
    assert (best["name"], best["uri"]) == (name, f"{SHARED}/{name}")
    assert best["score"] > 0.35  # below that is noise
    hits = server.find(query, context_type="skill", limit=1)
    assert (hits[0]["uri"], hits[0]["level"]) == (f"{SHARED}/{name}/SKILL.md", 2)
    assert server.find(query, level=2, limit=1)[0]["uri"] == hits[0]["uri"]


def test_a_skill_comes_back_with_its_files(server: ServerProcess) -> None:
    page = server.call("GET", f"{SKILLS}/提取PDF表格")
    assert page["content"] == TABLES
    assert [one["path"] for one in page["files"]] == ["SKILL.md", "参考", "参考/单位.md"]
    unit = page["files"][2]["uri"]
    assert server.call("GET", "/api/v1/content/read", params={"uri": unit}).startswith("# 单位")


def test_listing_shows_both_and_a_restart_changes_nothing(server: ServerProcess) -> None:
    before = server.call("GET", SKILLS)
    assert [one["name"] for one in before["skills"]] == ["roll-back-release", "提取PDF表格"]
    ranked = found(server, "roll back")
    assert server.stop() == 0
    server.start().wait_healthy()
    assert server.call("GET", SKILLS) == before
    assert found(server, "roll back") == ranked


def test_a_removed_skill_is_found_no_more(server: ServerProcess) -> None:
    data = "---\nname: short-lived\ndescription: zebra quagga okapi\n---\n# Go\n"
    server.call("POST", SKILLS, json={"data": data, "wait": True})
    assert found(server, "zebra quagga okapi")[0]["name"] == "short-lived"
    server.call("DELETE", f"{SKILLS}/short-lived")
    assert "short-lived" not in [one["name"] for one in found(server, "zebra quagga okapi")]
    assert server.http.get(f"{SKILLS}/short-lived").status_code == 404


def test_skills_that_were_accepted_survive_a_kill(tmp_path: Path) -> None:
    files = {
        f"s{number}/{path}": text
        for number in range(20)
        for path, text in {
            "SKILL.md": f"---\nname: skill-{number:02}\ndescription: task{number}x\n---\n# Do\n",
            "more.md": f"# More of {number}\n\n" + "A line about it. " * 50,
        }.items()
    }
    with ForkedServer(tmp_path / "data") as server:
        server.start().wait_healthy()
        added = server.call("POST", SKILLS, json={"temp_file_id": upload(server, files)})
        assert {one["status"] for one in added["skills"]} == {"accepted"}
        server.kill()
        server.start().wait_healthy()
        end = time.monotonic() + 60
        for one in added["skills"]:
            while server.call("GET", f"/api/v1/tasks/{one['task_id']}")["status"] != "completed":
                assert time.monotonic() < end, server.output()
                time.sleep(0.05)  # noqa: TID251 - a test waits for another process
        listed = server.call("GET", SKILLS)["skills"]
        assert [one["name"] for one in listed] == [f"skill-{number:02}" for number in range(20)]
        for one in listed:
            page = server.call("GET", f"{SKILLS}/{one['name']}")
            assert [file["path"] for file in page["files"]] == ["SKILL.md", "more.md"]
        assert found(server, "task7x")[0]["name"] == "skill-07"
