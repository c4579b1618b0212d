import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.calling import call, error_of
from tests.unit.cli.stub_server import StubServer

ROOT = "viking://resources/docs"
RESULT = {
    "root_uri": ROOT,
    "added": 2,
    "updated": 1,
    "unchanged": 0,
    "removed": 0,
    "skipped_count": 1,
    "failed_count": 0,
    "skipped": [{"path": "logo.png", "reason": "binary"}],
    "failed": [],
    "note": "",
}


def task(status: str, **fields: Any) -> dict[str, Any]:
    return {"task_id": "t1", "status": status, "stage": "reading", "done": 0, "total": 0, **fields}


def ready(stub: StubServer, *tasks: dict[str, Any]) -> None:
    stub.results("POST", "/api/v1/resources/temp_upload", {"temp_file_id": "upload_1.zip"})
    stub.results("POST", "/api/v1/resources", {"root_uri": ROOT, "task_id": "t1"})
    stub.results("GET", "/api/v1/tasks/t1", *(tasks or (task("completed", result=RESULT),)))


def sent_to(stub: StubServer, path: str) -> Any:
    return next(asked for asked in stub.asked if asked.path == path)


def sent_zip(stub: StubServer) -> zipfile.ZipFile:
    body = sent_to(stub, "/api/v1/resources/temp_upload").body
    return zipfile.ZipFile(io.BytesIO(body[body.index(b"PK") : body.rindex(b"\r\n--")]))


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    directory = tmp_path / "docs"
    directory.mkdir()
    (directory / "a.md").write_text("# A", encoding="utf-8")
    (directory / "b.txt").write_text("b", encoding="utf-8")
    return directory


def test_a_directory_is_sent_as_a_zip_and_its_result_shown(stub: StubServer, docs: Path) -> None:
    ready(stub)
    result = call("add", str(docs), stub=stub)
    assert result.exit_code == 0, result.stderr
    assert sorted(sent_zip(stub).namelist()) == ["a.md", "b.txt"]
    body = sent_to(stub, "/api/v1/resources").json
    assert body == {"temp_file_id": "upload_1.zip", "source_name": "docs"}
    lines = [line.split() for line in result.stdout.splitlines()]
    assert lines[0] == [ROOT]
    assert ["2", "added"] in lines
    assert ["1", "skipped"] in lines
    assert "skipped logo.png: binary" in result.stderr


def test_a_file_is_sent_as_it_is(stub: StubServer, docs: Path) -> None:
    ready(stub)
    words = ["--to", ROOT, "--name", "other.md", "--tag", "K = V", "--no-wait"]
    result = call("add", str(docs / "a.md"), *words, stub=stub)
    assert b"# A" in sent_to(stub, "/api/v1/resources/temp_upload").body
    assert stub.last.json == {
        "temp_file_id": "upload_1.zip",
        "source_name": "other.md",
        "to": ROOT,
        "tags": ["k=v"],
    }
    assert "task t1" in result.stdout


def test_the_choice_holds_for_the_zip_and_is_sent_too(stub: StubServer, docs: Path) -> None:
    ready(stub)
    call("add", str(docs), "--include", "*.md", "--ignore-dirs", "drafts", stub=stub)
    assert sent_zip(stub).namelist() == ["a.md"]
    body = sent_to(stub, "/api/v1/resources").json
    assert (body["include"], body["ignore_dirs"]) == (["*.md"], ["drafts"])


def test_progress_goes_from_files_to_embedding(stub: StubServer, docs: Path) -> None:
    ready(
        stub,
        task("pending"),
        task("running", done=1, total=2),
        task("running", stage="embedding", done=2, total=2),
        task("running", stage="embedding", done=2, total=2),
        task("completed", result=RESULT),
    )
    left = [{"backlog": {"texts": texts}} for texts in (8, 2)]
    stub.results("GET", "/api/v1/system/status", *left)
    told = call("add", str(docs), stub=stub).stderr
    steps = ("packing", "uploading", "indexed 1/2", "embedded 0/8 texts", "embedded 6/8 texts")
    places = [told.index(words) for words in steps]
    assert places == sorted(places)


def test_a_server_that_tells_no_figures_is_waited_for_all_the_same(
    stub: StubServer, docs: Path
) -> None:
    ready(stub, task("running", stage="embedding"), task("completed", result=RESULT))
    stub.results("GET", "/api/v1/system/status", {"user": "bob"})
    result = call("add", str(docs), stub=stub)
    assert result.exit_code == 0
    assert "embedded …" in result.stderr


def test_a_failed_task_is_a_failure(stub: StubServer, docs: Path) -> None:
    ready(stub, task("failed", error="the zip is broken"))
    result = call("add", str(docs), stub=stub)
    assert result.exit_code == 1
    assert "the zip is broken" in result.stderr.splitlines()[-1]
    assert "the zip is broken" in error_of(call("add", str(docs), "--json", stub=stub))["message"]


def test_files_that_failed_are_named_and_are_a_failure(stub: StubServer, docs: Path) -> None:
    failed = [{"path": f"{n}.pdf", "reason": "broken"} for n in range(12)]
    ready(stub, task("completed", result={**RESULT, "failed": failed, "failed_count": 12}))
    result = call("add", str(docs), stub=stub)
    assert result.exit_code == 1
    assert "failed 0.pdf: broken" in result.stderr
    assert "2 more" in result.stderr


def test_the_task_is_the_answer_for_programs(stub: StubServer, docs: Path) -> None:
    ready(stub)
    shown = json.loads(call("add", str(docs), "--json", stub=stub).stdout)
    assert shown["result"] == RESULT


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere"], "there is no nowhere"),
        (["."], "no file of"),
        ([".", "--to", "viking://a", "--parent", "viking://b"], "exclude each other"),
        ([".", "--tag", "novalue"], "key=value"),
        ([".", "--exclude", "!a"], "exclude"),
    ],
)
def test_mistakes_are_one_line_before_anything_is_sent(
    stub: StubServer, tmp_path: Path, words: list[str], said: str
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    words = [str(empty) if word == "." else word for word in words]
    result = call("add", *words, stub=stub)
    assert result.exit_code == 2
    assert said in result.stderr
    assert stub.asked == []


def test_an_upload_that_is_too_large_says_so(stub: StubServer, docs: Path) -> None:
    path = "/api/v1/resources/temp_upload"
    stub.fails("POST", path, 429, "RESOURCE_EXHAUSTED", "larger than 5 bytes")
    result = call("add", str(docs), stub=stub)
    assert result.exit_code == 1
    assert "larger than 5 bytes" in result.stderr


def test_an_add_that_took_nothing_in_has_failed(stub: StubServer, docs: Path) -> None:
    ready(stub, task("completed", result={**RESULT, "added": 0, "updated": 0}))
    result = call("add", str(docs), stub=stub)
    assert result.exit_code == 1
    assert "skipped logo.png: binary" in result.stderr


def test_the_help_says_that_names_with_a_dot_are_left_out() -> None:
    told = " ".join(call("add", "--help").stdout.split())
    assert "Names that begin with a dot are left out too, unless an --include pattern" in told
