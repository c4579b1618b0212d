import io
import zipfile
from pathlib import Path

import pytest

from contextfind.client import failure
from tests.unit.cli.stub_server import StubServer
from tests.unit.client.conftest import Connect

SKILLS = "/api/v1/skills"
TEXT = "---\nname: csv-report\ndescription: Make a CSV report\n---\n# csv-report\n"
LINE = {
    "name": "csv-report",
    "uri": "viking://user/u/skills/csv-report",
    "description": "Make a CSV report",
}


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    directory = tmp_path / "csv-report"
    directory.mkdir()
    (directory / "SKILL.md").write_text(TEXT, encoding="utf-8")
    (directory / "make.py").write_text("print()", encoding="utf-8")
    return directory


async def test_a_text_is_sent_as_it_is(stub: StubServer, connect: Connect) -> None:
    stub.results("POST", SKILLS, {**LINE, "status": "success", "skills": [LINE]})
    added = await connect().add_skill(TEXT, target_uri="viking://agent/skills", timeout=5)
    assert stub.last.json == {
        "data": TEXT,
        "wait": True,
        "timeout": 5,
        "target_uri": "viking://agent/skills",
    }
    assert (added.name, [one.name for one in added.skills]) == ("csv-report", ["csv-report"])


async def test_a_directory_is_sent_as_a_zip_and_a_file_as_it_is(
    stub: StubServer, connect: Connect, skill: Path
) -> None:
    stub.results("POST", "/api/v1/resources/temp_upload", {"temp_file_id": "upload_1.zip"})
    stub.results("POST", SKILLS, LINE)
    client = connect()
    await client.add_skill(skill, wait=False)
    assert stub.last.json == {"temp_file_id": "upload_1.zip", "wait": False, "timeout": 300.0}
    body = stub.asked[0].body
    with zipfile.ZipFile(io.BytesIO(body[body.index(b"PK") : body.rindex(b"\r\n--")])) as archive:
        assert sorted(archive.namelist()) == ["SKILL.md", "make.py"]
    await client.add_skill(str(skill / "SKILL.md"))
    assert TEXT.encode() in stub.asked[2].body
    with pytest.raises(failure.InvalidArgumentError, match="nowhere"):
        await client.add_skill("nowhere")


async def test_skills_are_listed_read_and_removed(stub: StubServer, connect: Connect) -> None:
    stub.results("GET", SKILLS, {"skills": [LINE], "total": 4})
    stub.results("GET", f"{SKILLS}/csv-report", {**LINE, "content": TEXT, "files": [{"name": "a"}]})
    stub.results("DELETE", f"{SKILLS}/csv-report", {**LINE, "estimated_deleted_count": 2})
    client = connect()
    listed = await client.list_skills()
    assert ([one.description for one in listed.skills], listed.total) == (["Make a CSV report"], 4)
    assert stub.last.query == {}
    one = await client.get_skill("csv-report", "viking://agent/skills")
    assert stub.last.query == {"target_uri": "viking://agent/skills"}
    assert (one.content, one.files, one.score) == (TEXT, ({"name": "a"},), None)
    gone = await client.delete_skill("csv-report")
    assert gone.estimated_deleted_count == 2


async def test_skills_are_found_for_a_task(stub: StubServer, connect: Connect) -> None:
    stub.results("POST", f"{SKILLS}/find", {"skills": [{**LINE, "score": 0.7}], "total": 1})
    found = await connect().find_skills("make a csv", 3, score_threshold=0.0)
    assert stub.last.json == {"query": "make a csv", "limit": 3, "score_threshold": 0.0}
    assert found.skills[0].score == 0.7
