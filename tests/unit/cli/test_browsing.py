import json
from typing import Any

import pytest

from contextfind.cli.browsing import size
from tests.unit.cli.calling import call
from tests.unit.cli.stub_server import StubServer


def entry(path: str, *, directory: bool = False, **fields: Any) -> dict[str, Any]:
    return {
        "uri": f"viking://resources/{path}",
        "name": path.rpartition("/")[2],
        "isDir": directory,
        "size": 2048,
        "modTime": "2026-01-31T10:20:30+00:00",
        "abstract": "What it is about",
        "rel_path": path,
        **fields,
    }


def test_ls_shows_size_time_name_and_abstract(stub: StubServer) -> None:
    stub.results("GET", "/api/v1/fs/ls", [entry("docs", directory=True), entry("a[b].md")])
    lines = call("ls", "viking://resources", stub=stub).stdout.splitlines()
    assert lines[1].split()[:3] == ["2026-01-31", "10:20", "docs/"]
    assert lines[2].split()[:5] == ["2.0", "KiB", "2026-01-31", "10:20", "a[b].md"]
    assert "What it is about" in lines[2]


def test_ls_shows_no_time_for_a_scope_that_holds_nothing(stub: StubServer) -> None:
    never = entry("docs", directory=True, modTime="1970-01-01T00:00:00Z", abstract="")
    stub.results("GET", "/api/v1/fs/ls", [never, entry("x", directory=True)])
    result = call("ls", stub=stub)
    assert "1970" not in result.stdout
    assert result.stdout.splitlines()[1].split() == ["docs/"]


def test_ls_of_a_page_says_how_to_go_on(stub: StubServer) -> None:
    page = {"status": "ok", "result": [entry("a"), entry("b")], "has_more": True}
    stub.answer("GET", "/api/v1/fs/ls", page)
    result = call("ls", "--limit", "2", "--offset", "4", stub=stub)
    assert "--offset 6" in result.stderr
    assert stub.last.query == {"uri": "viking://", "limit": "2", "offset": "4"}


def test_ls_of_nothing_says_so(stub: StubServer) -> None:
    stub.results("GET", "/api/v1/fs/ls", [])
    assert call("ls", stub=stub).stdout == "(empty)\n"


def test_tree_draws_what_lies_below_what(stub: StubServer) -> None:
    entries = [entry("docs", directory=True), entry("docs/a.md"), entry("lost/b.md")]
    stub.results("GET", "/api/v1/fs/tree", [{**one, "abstract": ""} for one in entries])
    drawn = call("tree", "viking://resources", stub=stub).stdout.splitlines()
    assert drawn == [
        "viking://resources",
        "├── docs/",
        "│   └── a.md",
        "└── lost/",
        "    └── b.md",
    ]


@pytest.mark.parametrize("command", ["ls", "tree"])
def test_listings_for_programs_are_the_entries(stub: StubServer, command: str) -> None:
    stub.results("GET", f"/api/v1/fs/{command}", [entry("a")])
    assert json.loads(call(command, "--json", stub=stub).stdout) == [entry("a")]


def test_read_prints_the_text_and_only_that(stub: StubServer) -> None:
    text = "# [b]Title[/b]\r\n\ttab " + "w" * 300 + " 回滚"
    stub.results("GET", "/api/v1/content/read", text)
    result = call("read", "viking://resources/a.md", stub=stub)
    assert result.stdout_bytes.decode() == text + "\n"


@pytest.mark.parametrize("level", ["abstract", "overview"])
def test_read_prints_the_shorter_texts_of_a_directory(stub: StubServer, level: str) -> None:
    stub.results("GET", f"/api/v1/content/{level}", "short\n")
    result = call("read", "viking://resources", "--level", level, stub=stub)
    assert result.stdout == "short\n"


def test_reading_a_directory_says_what_to_type_instead(stub: StubServer) -> None:
    uri = "viking://resources/my docs"
    told = f"{uri!r} is a directory; expected a file. List it with fs/ls, or content/abstract"
    details = {"resource": uri, "expected": "file", "actual": "directory"}
    stub.fails("GET", "/api/v1/content/read", 400, "INVALID_ARGUMENT", told, **details)
    result = call("read", uri, stub=stub)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == (
        f"contextfind: {uri!r} is a directory; list it with: contextfind ls '{uri}'; "
        f"or read what is in it with: contextfind read '{uri}/.overview.md'\n"
    )


def test_reading_the_root_sends_nobody_to_an_overview_that_it_has_not(stub: StubServer) -> None:
    details = {"resource": "viking://", "expected": "file", "actual": "directory"}
    stub.fails("GET", "/api/v1/content/read", 400, "INVALID_ARGUMENT", "use fs/ls", **details)
    told = "contextfind: 'viking://' is a directory; list it with: contextfind ls viking://\n"
    assert call("read", "viking://", stub=stub).stderr == told


def test_listing_a_file_says_what_to_type_instead(stub: StubServer) -> None:
    uri = "viking://resources/a.md"
    details = {"resource": uri, "expected": "directory", "actual": "file"}
    stub.fails("GET", "/api/v1/fs/tree", 400, "INVALID_ARGUMENT", "use content/read", **details)
    result = call("tree", uri, stub=stub)
    assert (
        result.stderr == f"contextfind: {uri!r} is a file; read it with: contextfind read {uri}\n"
    )


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (5 * 2**40, "5120.0 GiB")]
)
def test_sizes_are_written_as_people_do(count: int, text: str) -> None:
    assert size(count) == text
