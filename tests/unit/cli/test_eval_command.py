import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.schemas import ON_POSTGRES
from tests.stubs.chat import BROKEN, StubChat, Turn, stub_chat
from tests.unit.cli.calling import call
from tests.unit.cli.test_calibrate_command import HASH, make_set, write

SOUP, *_ = THREE = ("soup", "bread", "anchor")


@pytest.fixture
def three(tmp_path: Path) -> Path:
    """A set of three questions, two of them with a known answer."""
    folder = make_set(tmp_path / "three", THREE)
    rows = [json.loads(line) for line in (folder / "queries.jsonl").read_text().splitlines()]
    write(
        folder / "queries.jsonl",
        [{**row, "answer": f"Its {row['id']}."} for row in rows[:2]] + rows[2:],
    )
    return folder


@pytest.fixture
def chat(monkeypatch: pytest.MonkeyPatch) -> Iterator[StubChat]:
    """A chat model that the environment names."""
    with stub_chat(Turn("So it is [1].")) as stub:
        settings = {"MODEL": "m", "API_BASE": stub.base_url, "TIMEOUT": "0.5"}
        for name, value in settings.items():
            monkeypatch.setenv(f"CONTEXTFIND_VLM__{name}", value)
        monkeypatch.setenv("CONTEXTFIND_INGESTION__MODEL_SUMMARIES", "false")
        yield stub


def figures_of(file: Path) -> list[dict[str, object]]:
    def refuse(constant: str) -> object:
        raise AssertionError(constant)

    found: list[dict[str, object]] = json.loads(file.read_text("utf-8"), parse_constant=refuse)
    return found


def rows_of(file: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def test_a_set_is_measured_without_a_server_or_a_language_model(
    three: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = call("eval", str(three), "--json", "out.json", env=HASH)
    assert result.exit_code == 0, result.stderr
    assert "nDCG@10" in result.stdout
    assert "1.000 [1.000, 1.000]" in result.stdout
    assert figures_of(tmp_path / "out.json") == [
        {
            "set": "three",
            "documents": 3,
            "asked": 3,
            "failed": 0,
            "ndcg10": {"mean": 1.0, "low": 1.0, "high": 1.0},
            "recall10": {"mean": 1.0, "low": 1.0, "high": 1.0},
            "mrr10": {"mean": 1.0, "low": 1.0, "high": 1.0},
            "written": 0,
            "cites": None,
        }
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.json", "three"]


def test_figures_on_stdout_are_json_and_nothing_else(three: Path) -> None:
    result = call("eval", str(three), "--questions", "2", "--json", "-", env=HASH)
    assert json.loads(result.stdout)[0]["asked"] == 2


def test_a_wrong_judgement_lowers_the_figures(three: Path, tmp_path: Path) -> None:
    wrong = "viking://resources/three/bread.md"
    write(three / "qrels.jsonl", [{"id": SOUP, "uri": wrong, "rel": 1}])
    result = call("eval", str(three), "--json", str(tmp_path / "out.json"), env=HASH)
    assert result.exit_code == 0, result.stderr
    (told,) = figures_of(tmp_path / "out.json")
    assert told["asked"] == 1
    assert told["mrr10"] in ({"mean": m, "low": m, "high": m} for m in (0.5, 0.3333))


def test_a_question_looks_only_where_it_says(three: Path, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in (three / "queries.jsonl").read_text().splitlines()]
    there = "viking://resources/three/soup.md"
    write(three / "queries.jsonl", [{**row, "target_uri": there} for row in rows])
    call("eval", str(three), "--json", str(tmp_path / "out.json"), env=HASH)
    (told,) = figures_of(tmp_path / "out.json")
    assert isinstance(told["recall10"], dict)
    assert told["recall10"]["mean"] == pytest.approx(1 / 3, abs=1e-4)


def test_rows_hold_what_a_judge_of_answers_takes(
    three: Path, tmp_path: Path, chat: StubChat
) -> None:
    out = ["--rows", str(tmp_path / "rows.jsonl"), "--json", str(tmp_path / "out.json")]
    result = call("eval", str(three), "--top-k", "2", *out, env=HASH)
    assert result.exit_code == 0, result.stderr
    rows = rows_of(tmp_path / "rows.jsonl")
    assert rows[0] == {
        "question": "what is the story of a soup?",
        "contexts": rows[0]["contexts"],
        "answer": "So it is [1].",
        "retrieved_uris": rows[0]["retrieved_uris"],
        "ground_truth": "Its soup.",
        "reference_contexts": ["About the soup: every soup has a story 0."],
        "outcome": "written",
    }
    assert isinstance(rows[0]["contexts"], list)
    assert rows[0]["contexts"][0] == "About the soup: every soup has a story 0."
    assert len(rows[0]["contexts"]) == 2
    assert [row["ground_truth"] for row in rows] == ["Its soup.", "Its bread.", None]
    (told,) = figures_of(tmp_path / "out.json")
    assert (told["written"], told["cites"]) == (3, 1.0)
    assert "cite a judged text" in result.stdout
    assert chat.calls == 3


def test_r142_a_failed_answer_is_counted_and_left_out(
    three: Path, tmp_path: Path, chat: StubChat
) -> None:
    chat.always = lambda asked: BROKEN if "of a bread?" in asked.prompt else Turn("So [1].")
    out = ["--rows", str(tmp_path / "rows.jsonl"), "--json", str(tmp_path / "out.json")]
    result = call("eval", str(three), *out, env=HASH)
    assert result.exit_code == 1
    assert "'what is the story of a bread?' failed: No answer was written" in result.stderr
    rows = rows_of(tmp_path / "rows.jsonl")
    assert [row["outcome"] for row in rows] == ["written", "failed", "written"]
    assert str(rows[1]["answer"]).startswith("No answer was written: ")
    assert all({"question", "contexts", "answer", "retrieved_uris"} <= row.keys() for row in rows)
    (told,) = figures_of(tmp_path / "out.json")
    assert (told["asked"], told["failed"], told["written"]) == (3, 1, 2)
    assert told["ndcg10"] == {"mean": 1.0, "low": 1.0, "high": 1.0}


def test_r142_where_all_fail_figures_are_null(three: Path, tmp_path: Path, chat: StubChat) -> None:
    chat.always = BROKEN
    out = ["--rows", str(tmp_path / "rows.jsonl"), "--json", str(tmp_path / "out.json")]
    assert call("eval", str(three), *out, env=HASH).exit_code == 1
    (told,) = figures_of(tmp_path / "out.json")
    assert (told["failed"], told["ndcg10"], told["cites"]) == (3, None, None)


def test_rows_without_a_chat_model_are_announced(three: Path, tmp_path: Path) -> None:
    result = call("eval", str(three), "--rows", str(tmp_path / "rows.jsonl"), env=HASH)
    assert result.exit_code == 0
    assert "no chat model is configured" in result.stderr
    assert {row["outcome"] for row in rows_of(tmp_path / "rows.jsonl")} == {"no_model"}


def test_data_that_is_kept_is_used_again(three: Path, tmp_path: Path) -> None:
    for _ in range(2):
        result = call("eval", str(three), "--data", str(tmp_path / "kept"), env=HASH)
        assert result.exit_code == 0, result.stderr
    assert ON_POSTGRES or (tmp_path / "kept/three/contextfind.db").exists()


def test_two_sets_are_two_lines(three: Path, tmp_path: Path) -> None:
    other = make_set(tmp_path / "other", THREE[:2])
    result = call("eval", str(three), str(other), env=HASH)
    assert [line.split()[0] for line in result.stdout.splitlines()] == ["set", "three", "other"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--url", "http://127.0.0.1:9", "--rows", "r"), "leave --rows and --data out"),
        (("--url", "http://127.0.0.1:9", "--data", "d"), "leave --rows and --data out"),
        (("--rows", "gone/rows.jsonl"), "there is no directory gone"),
        (("--json", "gone/out.json"), "there is no directory gone"),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_is_begun(
    three: Path, words: tuple[str, ...], said: str
) -> None:
    result = call("eval", str(three), *words, env=HASH)
    assert result.exit_code == 2
    assert said in result.stderr


def test_a_text_outside_of_the_set_is_named(three: Path) -> None:
    uri = "viking://resources/elsewhere/a.md"
    write(three / "corpus.jsonl", [{"uri": uri, "text": "a"}])
    write(three / "qrels.jsonl", [{"id": SOUP, "uri": uri, "rel": 1}])
    result = call("eval", str(three), env=HASH)
    assert result.exit_code == 2
    assert "lies outside of viking://resources/three" in result.stderr


def test_a_directory_in_use_and_a_server_that_is_away_have_their_exit_codes(
    three: Path, tmp_path: Path
) -> None:
    result = call("eval", str(three), "--url", "http://127.0.0.1:9", env=HASH)
    assert result.exit_code == 4
    other = {"CONTEXTFIND_EMBEDDING__PROVIDER": "hash", "CONTEXTFIND_EMBEDDING__DIMENSION": "64"}
    assert call("eval", str(three), "--data", str(tmp_path / "d"), env=HASH).exit_code == 0
    result = call("eval", str(three), "--data", str(tmp_path / "d"), env=other)
    assert result.exit_code == 3
    assert "made by embedder" in result.stderr


def test_a_folder_that_is_no_set_is_described(tmp_path: Path) -> None:
    result = call("eval", str(tmp_path), env=HASH)
    assert result.exit_code == 2
    assert "a set is a folder with corpus.jsonl, queries.jsonl, qrels.jsonl" in result.stderr
