import json

import pytest

from tests.unit.cli.calling import call
from tests.unit.cli.stub_server import StubServer

GREP, GLOB = ("POST", "/api/v1/search/grep"), ("POST", "/api/v1/search/glob")
URI = "viking://resources/a.md"
LINE = {"uri": URI, "line": 3, "content": "a key " + "x" * 300}


def test_grep_prints_address_number_and_line_uncut(stub: StubServer) -> None:
    answer = {"matches": [LINE], "count": 1, "files_scanned": 2, "has_more": True}
    stub.results(*GREP, answer)
    words = ["key +", "viking://resources", "-i", "-n", "5", "-d", "2", "--without", URI]
    result = call("grep", *words, stub=stub)
    assert result.stdout == f"{URI}:3: {LINE['content']}\n"
    assert "there may be more" in result.stderr
    assert stub.last.json == {
        "pattern": "key +",
        "uri": "viking://resources",
        "node_limit": 5,
        "case_insensitive": True,
        "level_limit": 2,
        "exclude_uri": URI,
    }
    assert json.loads(call("grep", "x", "--json", stub=stub).stdout) == answer


def test_a_line_cannot_steer_the_terminal(stub: StubServer) -> None:
    stub.results(*GREP, {"matches": [{**LINE, "content": "\x1b[31mred"}]})
    assert "\x1b" not in call("grep", "x", stub=stub).stdout


def test_glob_prints_addresses(stub: StubServer) -> None:
    stub.results(*GLOB, {"matches": [URI], "count": 1})
    assert call("glob", "**/*.md", stub=stub).stdout == f"{URI}\n"
    assert stub.last.json == {"pattern": "**/*.md", "uri": "viking://", "node_limit": 256}


@pytest.mark.parametrize(("name", "route"), [("grep", GREP), ("glob", GLOB)])
def test_finding_nothing_is_said_and_no_error(
    stub: StubServer, name: str, route: tuple[str, str]
) -> None:
    stub.results(*route, {"matches": []})
    result = call(name, "x", stub=stub)
    assert (result.exit_code, result.stdout) == (0, "")
    assert "matches" in result.stderr
