import json
from pathlib import Path

import pytest

from tests.unit.cli.calling import call
from tests.unit.cli.stub_server import StubServer

WRITE = ("POST", "/api/v1/content/write")
URI = "viking://resources/notes/a.md"


def test_write_sends_stdin(stub: StubServer) -> None:
    stub.results(*WRITE, {"uri": URI, "written_bytes": 7})
    result = call("write", URI, stub=stub, input="# 回滚\n")
    assert result.exit_code == 0
    assert URI in result.stdout
    assert stub.last.json == {"uri": URI, "content": "# 回滚\n", "mode": "replace", "wait": True}


def test_write_sends_a_file_with_tags_and_mode(stub: StubServer, tmp_path: Path) -> None:
    file = tmp_path / "note.md"
    file.write_text("text", encoding="utf-8")
    stub.results(*WRITE, {"uri": URI})
    words = ["--mode", "create", "--tag", "a=b", "--tag", "c=d", "--no-wait"]
    call("write", URI, str(file), *words, stub=stub)
    assert stub.last.json == {
        "uri": URI,
        "content": "text",
        "mode": "create",
        "wait": False,
        "tags": ["a=b", "c=d"],
    }


def test_write_of_what_is_no_text_says_what_to_use(stub: StubServer, tmp_path: Path) -> None:
    file = tmp_path / "image.png"
    file.write_bytes(b"\xff\xfe\x00")
    result = call("write", URI, str(file), stub=stub)
    assert result.exit_code == 2
    assert "contextfind add" in result.stderr
    assert stub.asked == []


def test_write_of_a_missing_file_is_one_line(stub: StubServer, tmp_path: Path) -> None:
    result = call("write", URI, str(tmp_path / "no.md"), stub=stub)
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert "No such file" in result.stderr


def test_mkdir_prints_the_address(stub: StubServer) -> None:
    stub.results("POST", "/api/v1/fs/mkdir", {"uri": "viking://resources/x"})
    assert call("mkdir", "viking://resources/x", stub=stub).stdout == "viking://resources/x\n"


def test_mkdir_of_what_is_there_fails(stub: StubServer) -> None:
    stub.fails("POST", "/api/v1/fs/mkdir", 409, "CONFLICT", "it is there")
    result = call("mkdir", "viking://resources/x", stub=stub)
    assert (result.exit_code, result.stderr) == (1, "contextfind: it is there\n")


@pytest.mark.parametrize(("flags", "sent"), [([], "false"), (["-r"], "true")])
def test_rm_removes_directories_only_when_told(
    stub: StubServer, flags: list[str], sent: str
) -> None:
    stub.results("DELETE", "/api/v1/fs", {"uri": URI, "estimated_deleted_count": 2})
    assert call("rm", URI, *flags, stub=stub).stdout == f"removed {URI}\n"
    assert stub.last.query == {"uri": URI, "recursive": sent}


def test_rm_of_nothing_says_so_and_is_no_error(stub: StubServer) -> None:
    stub.results("DELETE", "/api/v1/fs", {"uri": URI, "estimated_deleted_count": 0})
    result = call("rm", URI, stub=stub)
    assert (result.exit_code, result.stdout) == (0, f"nothing is stored at {URI}\n")


@pytest.mark.parametrize(
    ("words", "route"),
    [
        (["write", URI], WRITE),
        (["rm", URI], ("DELETE", "/api/v1/fs")),
        (["mkdir", URI], ("POST", "/api/v1/fs/mkdir")),
    ],
)
def test_answers_for_programs_are_json(
    stub: StubServer, words: list[str], route: tuple[str, str]
) -> None:
    stub.results(*route, {"uri": URI})
    assert json.loads(call(*words, "--json", stub=stub, input="x").stdout) == {"uri": URI}


@pytest.mark.parametrize(
    ("target", "sent"),
    [
        ("viking://resources/b.md", "viking://resources/b.md"),
        ("viking://resources/old/", "viking://resources/old/a.md"),
    ],
)
def test_mv_sends_a_whole_address_also_into_a_directory(
    stub: StubServer, target: str, sent: str
) -> None:
    stub.results("POST", "/api/v1/fs/mv", {"from": URI, "to": sent})
    assert call("mv", URI, target, stub=stub).stdout == f"{sent}\n"
    assert stub.last.json == {"from_uri": URI, "to_uri": sent}


def test_tag_adds_tags_unless_told_otherwise(stub: StubServer) -> None:
    route = ("POST", "/api/v1/fs/attrs/set_tags")
    stub.results(*route, {"uri": URI, "updated_uris": [URI], "tags": ["a=1", "b=2"]})
    assert call("tag", URI, "a=1", "b=2", stub=stub).stdout == "1 tagged: a=1 b=2\n"
    assert stub.last.json == {
        "uri": URI,
        "tags": ["a=1", "b=2"],
        "mode": "append",
        "recursive": False,
    }
    stub.results(*route, {"uri": URI, "updated_uris": [URI], "tags": []})
    assert call("tag", URI, "--mode", "clear", "-r", stub=stub).stdout == "1 tagged: (none)\n"
    assert (stub.last.json["mode"], stub.last.json["recursive"]) == ("clear", True)
