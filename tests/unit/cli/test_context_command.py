import json

from tests.unit.cli.calling import call
from tests.unit.cli.stub_server import StubServer

SEARCH = ("POST", "/api/v1/search/search")
BLOCK = {
    "entries": [{"uri": "viking://resources/a.md"}],
    "rendered": '<memory uri="viking://resources/a.md">\n\x1b[31mred\n</memory>',
    "digest": "",
    "stats": {"used_tokens": 12, "max_tokens": 80, "dropped": 2, "notes": ["no digest: none"]},
}


def test_the_block_alone_goes_to_the_output(stub: StubServer) -> None:
    stub.results(*SEARCH, BLOCK)
    words = ["--tokens", "80", "-s", "s", "--turns", "2", "--purpose", "coding", "--rewrite"]
    more = ["--detail", "full", "-t", "viking://resources", "--without", "viking://resources/b"]
    result = call("context", "q", *words, *more, stub=stub)
    assert result.stdout.startswith('<memory uri="viking://resources/a.md">\n')
    assert result.stdout.endswith("red\n</memory>\n")
    assert "\x1b" not in result.stdout
    assert "1 entries, 12 of 80 tokens; 2 more had no room" in result.stderr
    assert "no digest: none" in result.stderr
    assert stub.last.json == {
        "query": "q",
        "mode": "context",
        "max_tokens": 80,
        "session_id": "s",
        "dedup_turns": 2,
        "purpose": "coding",
        "detail": "full",
        "target_uri": ["viking://resources"],
        "exclude_uris": ["viking://resources/b"],
        "rewrite": True,
    }
    assert json.loads(call("context", "q", "--json", stub=stub).stdout) == BLOCK


def test_nothing_is_said_on_the_other_stream(stub: StubServer) -> None:
    stub.results(*SEARCH, {"entries": [], "rendered": "", "digest": "", "stats": {}})
    result = call("context", "q", stub=stub)
    assert (result.exit_code, result.stdout) == (0, "")
    assert "nothing fits" in result.stderr
