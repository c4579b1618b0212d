import json
from typing import Any

from tests.unit.cli.calling import call
from tests.unit.cli.stub_server import StubServer
from tests.unit.cli.test_finding import found, hit

SEARCH = ("POST", "/api/v1/search/search")
PLANNED = [
    {"query": "roll back a release", "context_type": "skill", "intent": "how to", "priority": 1},
    {"query": "how do we undo it?", "context_type": None, "intent": "", "priority": 3},
]


def searched(*hits: dict[str, Any], queries: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    plan = {"reasoning": "'it' is the release", "queries": PLANNED if queries is None else queries}
    return {**found(*hits), "query_plan": plan}


def test_the_session_and_every_option_of_find_are_sent(stub: StubServer) -> None:
    stub.results(*SEARCH, searched())
    call(
        *[
            "search",
            "q",
            "--session",
            "s1",
            "--limit",
            "3",
            "--type",
            "skill",
            "--tag",
            "k=v",
            "--explain",
        ],
        stub=stub,
    )
    assert stub.last.json == {
        "query": "q",
        "session_id": "s1",
        "limit": 3,
        "context_type": ["skill"],
        "tags": ["k=v"],
        "include_provenance": True,
        "read_content": False,
    }


def test_without_a_session_none_is_sent(stub: StubServer) -> None:
    stub.results(*SEARCH, searched())
    call("search", "q", stub=stub)
    assert "session_id" not in stub.last.json


def test_the_plan_stands_above_the_hits(stub: StubServer) -> None:
    stub.results(*SEARCH, searched(hit("viking://resources/a.md", 0.9)))
    result = call("search", "how do we undo it?", "-s", "s1", stub=stub)
    assert result.exit_code == 0
    lines = [line.split() for line in result.stdout.splitlines()]
    assert lines[0] == ["plan:", "'it'", "is", "the", "release"]
    assert lines[1] == ["priority", "type", "intent", "query"]
    assert lines[2] == ["1", "skill", "how", "to", "roll", "back", "a", "release"]
    assert lines[3] == ["3", "all", "how", "do", "we", "undo", "it?"]
    assert lines[-1][:2] == ["0.900", "viking://resources/a.md"]


def test_small_talk_says_that_nothing_was_searched(stub: StubServer) -> None:
    stub.results(*SEARCH, searched(queries=[]))
    result = call("search", "thanks!", stub=stub)
    assert result.stdout.startswith("plan: 'it' is the release\n")
    assert result.stderr == "nothing was searched\n"


def test_a_plan_that_found_nothing_says_what_to_try(stub: StubServer) -> None:
    stub.results(*SEARCH, searched())
    assert "nothing found; try other words" in call("search", "q", stub=stub).stderr


def test_what_was_done_without_is_said_beside_the_answer(stub: StubServer) -> None:
    stub.results(*SEARCH, searched(hit("viking://resources/a.md", 0.9)))
    stub.headers["X-Notes"] = "the%20reranker%20is%20down"
    assert call("search", "q", stub=stub).stderr == "the reranker is down\n"
    assert call("search", "q", "--json", stub=stub).stderr == "the reranker is down\n"


def test_texts_of_a_model_are_no_markup(stub: StubServer) -> None:
    queries = [{**PLANNED[0], "query": "[red]x[/red] :smile:\x1b[31m"}]
    stub.results(*SEARCH, searched(queries=queries))
    shown = call("search", "q", stub=stub).stdout
    assert "[red]x[/red] :smile:" in shown
    assert "\x1b" not in shown


def test_a_server_without_plans_is_understood(stub: StubServer) -> None:
    stub.results(*SEARCH, found(hit("viking://resources/a.md", 0.9)))
    assert "plan" not in call("search", "q", stub=stub).stdout


def test_json_is_the_answer_itself(stub: StubServer) -> None:
    answer = searched(hit("viking://resources/a.md", 0.9))
    stub.results(*SEARCH, answer)
    assert json.loads(call("search", "q", "--json", stub=stub).stdout) == answer
