import io
import json
from contextlib import redirect_stdout
from typing import Any

import pytest

from contextfind.cli.finding import _show_table
from contextfind.client.findings import Hit
from contextfind.client.shaping import shaped
from tests.unit.cli.calling import call, error_of
from tests.unit.cli.stub_server import StubServer

FIND = ("POST", "/api/v1/search/find")


def hit(uri: str, score: float, **fields: Any) -> dict[str, Any]:
    return {
        "uri": uri,
        "context_type": "resource",
        "level": 2,
        "score": score,
        "abstract": f"About {uri}",
        "tags": [],
        "match_reason": "words: roll back",
        **fields,
    }


def found(*hits: dict[str, Any], memories: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    total = len(hits) + len(memories)
    return {"memories": list(memories), "resources": list(hits), "skills": [], "total": total}


def test_shows_the_hits_of_all_shelves_best_first(stub: StubServer) -> None:
    stub.results(
        *FIND,
        found(
            hit("viking://resources/b.md", 0.7),
            hit("viking://resources/a.md", 0.7),
            memories=(hit("viking://user/u/memories/m.md", 0.9),),
        ),
    )
    result = call("find", "how to roll back", stub=stub)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    order = [line.split()[1] for line in lines[1:]]
    assert order == [
        "viking://user/u/memories/m.md",
        "viking://resources/a.md",
        "viking://resources/b.md",
    ]
    assert "0.900" in lines[1]
    assert "words: roll back" in lines[1]
    assert result.stderr == ""


def test_sends_every_option_as_the_api_spells_it(stub: StubServer) -> None:
    stub.results(*FIND, found())
    words = (
        "find q --target viking://a --target viking://b --limit 3 --level 0 --level 2 --type skill "
        "--tag k=v --since 2h --until 2026-01-31 --threshold 0.5 --content"
    )
    call(*words.split(), stub=stub)
    assert stub.last.json == {
        "query": "q",
        "target_uri": ["viking://a", "viking://b"],
        "limit": 3,
        "level": [0, 2],
        "context_type": ["skill"],
        "tags": ["k=v"],
        "since": "2h",
        "until": "2026-01-31",
        "score_threshold": 0.5,
        "read_content": True,
    }


def test_a_threshold_of_zero_is_sent(stub: StubServer) -> None:
    stub.results(*FIND, found())
    call("find", "q", "--threshold", "0", stub=stub)
    assert stub.last.json["score_threshold"] == 0


def test_json_is_the_answer_itself(stub: StubServer) -> None:
    answer = found(hit("viking://resources/回滚 [x].md", 0.2))
    stub.results(*FIND, answer)
    for flag in ("--json", "--output=json", "-ojson"):
        result = call("find", "q", flag, stub=stub)
        assert json.loads(result.stdout) == answer
        assert result.stderr == ""


@pytest.mark.parametrize(
    ("header", "named"),
    [
        ("viking://resources/nope", "viking://resources/nope"),
        (
            "viking://resources/%E6%B2%A1%2C%E6%9C%89,viking://agent/a%20b",
            "viking://resources/没,有, viking://agent/a b",
        ),
    ],
)
def test_targets_at_which_nothing_is_stored_are_named(
    stub: StubServer, header: str, named: str
) -> None:
    answer = found(hit("viking://resources/a.md", 0.9))
    stub.results(*FIND, answer)
    plain = call("find", "q", "--target", "viking://resources/nope", stub=stub)
    assert plain.stderr == ""
    stub.headers["X-Unknown-Targets"] = header
    warned = call("find", "q", "--target", "viking://resources/nope", stub=stub)
    assert warned.stderr == f"nothing is stored at {named}\n"
    assert (warned.exit_code, warned.stdout) == (0, plain.stdout)
    as_json = call("find", "q", "--json", stub=stub)
    assert json.loads(as_json.stdout) == answer
    assert named in as_json.stderr


def test_nothing_found_says_what_to_try(stub: StubServer) -> None:
    stub.results(*FIND, found())
    plain = call("find", "q", stub=stub)
    assert (plain.exit_code, plain.stdout) == (0, "")
    assert "nothing found; try other words" in plain.stderr
    assert "fewer conditions" in call("find", "q", "--tag", "a=b", stub=stub).stderr


@pytest.mark.parametrize(("score", "weak"), [(0.44, True), (0.45, False)])
def test_only_a_best_hit_below_plausible_is_called_weak(
    stub: StubServer, *, score: float, weak: bool
) -> None:
    stub.results(*FIND, found(hit("viking://resources/a.md", score)))
    assert ("weak matches" in call("find", "q", stub=stub).stderr) == weak


def test_a_search_by_conditions_alone_is_never_weak(stub: StubServer) -> None:
    stub.results(*FIND, found(hit("viking://resources/a.md", 0)))
    assert call("find", "--tag", "a=b", stub=stub).stderr == ""


def test_content_is_printed_as_it_is(stub: StubServer) -> None:
    text = "# [bold]Title[/bold] :smile:\n" + "long " * 100
    stub.results(*FIND, found(hit("viking://resources/a.md", 0.9, content=text)))
    assert text in call("find", "q", "--content", stub=stub).stdout


def test_texts_of_others_are_no_markup_and_no_escape_codes(stub: StubServer) -> None:
    evil = hit("viking://resources/[red]x[/red].md", 0.9, abstract="a\x1b[31mb\n:smile: [link=x]")
    stub.results(*FIND, found(evil))
    shown = call("find", "q", stub=stub).stdout
    assert "[red]x[/red].md" in shown
    assert ":smile: [link=x]" in shown
    assert "\x1b" not in shown


class TestErrors:
    @pytest.mark.parametrize(
        ("status", "code", "exit_code", "hint"),
        [
            (400, "INVALID_ARGUMENT", 1, "contextfind find --help"),
            (400, "INVALID_URI", 1, "viking://resources/"),
            (401, "UNAUTHENTICATED", 5, "CONTEXTFIND_API_KEY"),
            (403, "PERMISSION_DENIED", 5, "another key"),
            (404, "NOT_FOUND", 1, "contextfind tree"),
            (500, "INTERNAL", 1, ""),
            (503, "UNAVAILABLE", 4, "contextfind status"),
            (504, "DEADLINE_EXCEEDED", 1, "contextfind status"),
        ],
    )
    def test_are_one_line_with_the_next_step(
        self, stub: StubServer, status: int, code: str, exit_code: int, hint: str
    ) -> None:
        stub.fails(*FIND, status, code, "the\nreason")
        result = call("find", "q", stub=stub)
        assert result.exit_code == exit_code
        assert result.stdout == ""
        assert result.stderr.count("\n") == 1
        assert "the reason" in result.stderr
        assert hint in result.stderr

    def test_are_an_object_on_stdout_for_programs(self, stub: StubServer) -> None:
        stub.fails(*FIND, 403, "PERMISSION_DENIED", "not yours")
        result = call("find", "q", "--json", stub=stub)
        assert result.exit_code == 5
        assert error_of(result)["code"] == "PERMISSION_DENIED"
        assert "not yours" in error_of(result)["message"]
        assert result.stderr == ""

    def test_of_a_server_that_is_down_say_how_to_start_one(self) -> None:
        result = call("find", "q", "--url", "http://127.0.0.1:1")
        assert result.exit_code == 4
        assert "start it with: contextfind serve" in result.stderr
        assert result.stderr.count("\n") == 1

    def test_of_a_wrong_url_are_the_command_lines(self) -> None:
        result = call("find", "q", env={"CONTEXTFIND_URL": "localhost:1933"})
        assert result.exit_code == 2
        assert "http://" in result.stderr

    @pytest.mark.parametrize("words", [["--limit", "0"], ["--level", "3"], ["--type", "x"]])
    def test_of_the_command_line_are_found_before_anything_is_sent(
        self, stub: StubServer, words: list[str]
    ) -> None:
        assert call("find", "q", *words, stub=stub).exit_code == 2
        assert stub.asked == []


@pytest.mark.parametrize("name", ["CONTEXTFIND_API_KEY", "OPENVIKING_API_KEY"])
def test_the_key_comes_from_the_environment(stub: StubServer, name: str) -> None:
    stub.results(*FIND, found())
    call("find", "q", stub=stub, env={name: "from-env"})
    assert stub.last.headers["x-api-key"] == "from-env"
    call("find", "q", "--key", "typed", stub=stub, env={name: "from-env"})
    assert stub.last.headers["x-api-key"] == "typed"


def test_the_older_name_of_the_url_works_too(stub: StubServer) -> None:
    stub.results(*FIND, found())
    assert call("find", "q", env={"OPENVIKING_URL": stub.url}).exit_code == 0


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_narrow_terminal_keeps_addresses_on_one_line() -> None:
    address = "viking://resources/docs/release/rollback-of-a-release.md"
    one = shaped(Hit, hit(address, 0.7, abstract="What to do"))
    with redirect_stdout(Terminal()) as written:
        _show_table([one])
    assert f"{address}\n" in written.getvalue()
    assert "What to do" in written.getvalue()


def step(event: str, uri: str | None, score: float | None, reason: str) -> dict[str, Any]:
    return {"event": event, "uri": uri, "score": score, "reason": reason}


def explained(stub: StubServer, events: list[dict[str, Any]], **more: Any) -> list[str]:
    """Return the lines that explain a find with this walk, without the hits before them."""
    figures = {"directories_searched": 2, "convergence_rounds": 1, "candidates_collected": 4}
    walked = {"events": events, "statistics": figures, **more}
    told = {"query": "roll back", "searched_directories": [], "thinking_trace": walked}
    stub.results(*FIND, {**found(hit("viking://resources/ops/a.md", 0.8)), "provenance": [told]})
    result = call("find", "roll back", "--explain", stub=stub)
    assert stub.last.json["include_provenance"] is True
    lines: list[str] = result.stdout.splitlines()
    return lines[next(n for n, line in enumerate(lines) if line.startswith("how it was found")) :]


WALK = [
    step("open", "viking://resources/kb/ops", 0.5, "round 1: its own text fits"),
    step("open", "viking://resources", 0.4, "round 1: a target"),
    step("keep", "viking://resources/kb/ops/a.md", 0.8, "own 0.80"),
    step("keep", "viking://resources/kb/ops/.abstract.md", 0.7, "own 0.60"),
    step("cut", "viking://resources/far/off/[b].md", 0.2, "beyond limit 2; own 0.20"),
    step("cut", "viking://resources/kb/ops/z.md", 0.1, "the same text as a.md"),
    step("end", None, None, "every directory was opened"),
]


def test_explain_shows_the_walk_as_the_tree_is_with_the_order_of_opening(stub: StubServer) -> None:
    lines = explained(stub, WALK)
    tree = lines[next(n for n, line in enumerate(lines) if line.startswith("viking://")) :]
    assert tree == [
        "viking://  not opened",
        "└── (2) resources/  0.400  round 1: a target",
        "    ├── far/off/  not opened",
        "    │   └── - [b].md  0.200  beyond limit 2; own 0.20",
        "    └── (1) kb/ops/  0.500  round 1: its own text fits",
        "        ├── + a.md  0.800  own 0.80",
        "        ├── + .abstract.md  0.700  own 0.60",
        "        └── - z.md  0.100  the same text as a.md",
    ]


def test_explain_says_first_how_to_read_the_tree(stub: StubServer) -> None:
    plans = ["hits: exact scan of 4 vectors; words looked up"]
    lines = explained(stub, WALK, index_plans=plans, formulas=["own = 0.5 meaning + 0.5 words"])
    before = lines[: next(n for n, line in enumerate(lines) if line.startswith("viking://"))]
    assert [line.split("  ")[0] for line in before if not line.startswith(" ")] == [
        "how it was found", "index", "walk", "scores", "signs",
    ]  # fmt: skip
    told = [line[18:] for line in before]
    assert told[0] == "roll back"
    assert plans[0] in told
    assert "2 directories opened, best first, in 1 rounds; 4 candidates" in told
    assert "every directory was opened" in told
    assert "own = 0.5 meaning + 0.5 words" in told
    assert any(".abstract.md" in line for line in told)


def test_explain_understands_a_server_that_tells_less_and_a_walk_of_nothing(
    stub: StubServer,
) -> None:
    lines = explained(stub, [step("end", None, None, "every directory was opened")])
    assert lines[-1] == "viking://  not opened"
    assert not any(".abstract.md" in line for line in lines)
    assert not any(line.startswith("index") for line in lines)
