import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.calling import call
from tests.unit.cli.stub_server import StubServer

SKILLS = "/api/v1/skills"
TEXT = "---\nname: csv-report\ndescription: Make a CSV report\n---\n# csv-report\n"
URI = "viking://user/u/skills/csv-report"
LINE: dict[str, Any] = {"name": "csv-report", "uri": URI, "description": "Make a CSV [report]"}


def test_list_shows_names_and_what_they_are_for(stub: StubServer) -> None:
    stub.results("GET", SKILLS, {"skills": [LINE], "total": 3})
    result = call("skills", "list", stub=stub)
    assert result.stdout.splitlines()[1].split() == [
        "csv-report", URI, "Make", "a", "CSV", "[report]",
    ]  # fmt: skip
    assert "2 more" in result.stderr
    call("skills", "list", "--shared", stub=stub)
    assert stub.last.query == {"target_uri": "viking://agent/skills"}
    stub.results("GET", SKILLS, {"skills": [], "total": 0})
    assert call("skills", "list", stub=stub).stdout == "(none)\n"


def test_add_takes_stdin(stub: StubServer) -> None:
    stub.results("POST", SKILLS, {**LINE, "status": "success"})
    result = call("skills", "add", "-", "--shared", stub=stub, input=TEXT)
    assert stub.last.json["data"].strip() == TEXT.strip()
    assert stub.last.json["target_uri"] == "viking://agent/skills"
    assert result.stdout == f"{URI}\n"


def test_add_takes_a_path_and_names_each_skill_and_what_failed(
    stub: StubServer, tmp_path: Path
) -> None:
    (tmp_path / "SKILL.md").write_text(TEXT, encoding="utf-8")
    answer = {
        **LINE,
        "skills": [LINE, {**LINE, "uri": "viking://user/u/skills/b"}],
        "errors": ["c/SKILL.md: no name"],
    }
    stub.results("POST", "/api/v1/resources/temp_upload", {"temp_file_id": "upload_1.zip"})
    stub.results("POST", SKILLS, answer)
    result = call("skills", "add", str(tmp_path), "--no-wait", stub=stub)
    assert stub.last.json["temp_file_id"] == "upload_1.zip"
    assert stub.last.json["wait"] is False
    assert result.stdout.splitlines() == [URI, "viking://user/u/skills/b"]
    assert result.stderr == "c/SKILL.md: no name\n"
    assert result.exit_code == 1


def test_add_of_nothing_is_the_command_lines_mistake(stub: StubServer) -> None:
    result = call("skills", "add", "nowhere", stub=stub)
    assert (result.exit_code, stub.asked) == (2, [])
    assert "there is no nowhere" in result.stderr


def test_show_prints_the_text_and_names_the_files(stub: StubServer) -> None:
    files = [{"kind": "skill_md", "uri": "x"}, {"kind": "auxiliary", "uri": f"{URI}/make.py"}]
    shown = {**LINE, "content": TEXT, "files": files}
    stub.results("GET", f"{SKILLS}/csv-report", shown)
    result = call("skills", "show", "csv-report", stub=stub)
    assert (result.stdout, result.stderr) == (TEXT, f"file {URI}/make.py\n")
    assert json.loads(call("skills", "show", "csv-report", "--json", stub=stub).stdout) == shown


@pytest.mark.parametrize(
    ("count", "said"), [(2, f"removed {URI}\n"), (0, "there is no skill csv-report\n")]
)
def test_rm_says_whether_there_was_one(stub: StubServer, count: int, said: str) -> None:
    stub.results("DELETE", f"{SKILLS}/csv-report", {**LINE, "estimated_deleted_count": count})
    assert call("skills", "rm", "csv-report", stub=stub).stdout == said


def test_find_shows_scores(stub: StubServer) -> None:
    stub.results("POST", f"{SKILLS}/find", {"skills": [{**LINE, "score": 0.5}], "total": 1})
    result = call("skills", "find", "make a csv", "-n", "3", stub=stub)
    assert stub.last.json == {"query": "make a csv", "limit": 3}
    assert result.stdout.splitlines()[1].split()[:2] == ["0.500", "csv-report"]
    stub.results("POST", f"{SKILLS}/find", {"skills": [], "total": 0})
    assert "nothing found" in call("skills", "find", "x", stub=stub).stderr


def test_an_unknown_skill_says_where_to_look(stub: StubServer) -> None:
    stub.fails("GET", f"{SKILLS}/x", 404, "NOT_FOUND", "there is no skill 'x'")
    assert "contextfind skills list" in call("skills", "show", "x", stub=stub).stderr
