import json
from pathlib import Path

import pytest

from contextfind.cli.judged import read_judged, sample_of
from contextfind.config.load import load_settings
from contextfind.ingestion.passages import PassageRules
from tests.unit.cli.calling import call, error_of
from tests.unit.cli.stub_server import StubServer

HASH = {"CONTEXTFIND_EMBEDDING__PROVIDER": "hash"}
THINGS = ("harbour", "anchor", "bread", "soup", "violin", "glacier", "lantern", "orchard")


def make_set(folder: Path, things: tuple[str, ...] = THINGS) -> Path:
    """Write a set: a text per thing, and a question for each."""
    folder.mkdir()
    uris = {thing: f"viking://resources/{folder.name}/{thing}.md" for thing in things}
    files = {
        "corpus.jsonl": [
            {"uri": uri, "title": "", "text": f"About the {thing}: every {thing} has a story {n}."}
            for n, (thing, uri) in enumerate(uris.items())
        ],
        "queries.jsonl": [{"id": t, "query": f"what is the story of a {t}?"} for t in things],
        "qrels.jsonl": [{"id": thing, "uri": uri, "rel": 1} for thing, uri in uris.items()],
    }
    for name, rows in files.items():
        write(folder / name, rows)
    return folder


def write(path: Path, rows: list[dict[str, object]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def test_the_answer_is_what_ov_conf_takes(tmp_path: Path) -> None:
    one, two = make_set(tmp_path / "one"), make_set(tmp_path / "two", THINGS[:5])
    result = call("calibrate", str(one), str(two), env=HASH)
    assert result.exit_code == 0, result.stderr
    assert "without it" in result.stdout  # what leaving a set out of its own choice costs
    lines = result.stdout.partition("for ov.conf:\n")[2]
    conf = tmp_path / "ov.conf"
    conf.write_text("{" + lines + "}", encoding="utf-8")
    loaded = load_settings(str(conf), {}, {"embedding.provider": "hash"}).settings.embedding
    assert loaded.calibration_floor is not None
    assert loaded.calibration_span is not None
    assert loaded.calibration_floor < 0.5


def test_the_same_files_give_the_same_answer(tmp_path: Path) -> None:
    folder = make_set(tmp_path / "one")
    first, second = (call("calibrate", str(folder), env=HASH).stdout for _ in range(2))
    assert first == second


def test_figures_as_json(tmp_path: Path) -> None:
    result = call("calibrate", str(make_set(tmp_path / "one")), "--json", env=HASH)
    told = json.loads(result.stdout)
    assert told["before"] == {"floor": 0.1, "span": 0.5}
    (row,) = told["sets"]
    assert (row["set"], row["questions"], row["texts"]) == ("one", 8, 8)
    assert row["related p50"] > row["unrelated p50"]
    assert 0 < row["nDCG@10 fitted"] <= 1


@pytest.mark.parametrize("missing", ["corpus.jsonl", "queries.jsonl", "qrels.jsonl"])
def test_a_missing_file_is_named_with_what_a_set_is(tmp_path: Path, missing: str) -> None:
    folder = make_set(tmp_path / "one")
    (folder / missing).unlink()
    result = call("calibrate", str(folder), env=HASH)
    assert result.exit_code == 2
    assert f"cannot read {folder / missing}" in result.stderr
    assert "corpus.jsonl, queries.jsonl, qrels.jsonl" in result.stderr


def test_a_line_that_is_not_as_described_is_named(tmp_path: Path) -> None:
    folder = make_set(tmp_path / "one")
    with (folder / "queries.jsonl").open("a", encoding="utf-8") as file:
        file.write('\n{"id": "9"}\n')
    result = call("calibrate", str(folder), env=HASH)
    assert result.exit_code == 2
    assert "queries.jsonl, line 10: expected an object like" in result.stderr


def test_an_address_that_is_none_is_named(tmp_path: Path) -> None:
    folder = make_set(tmp_path / "one")
    write(folder / "corpus.jsonl", [{"uri": "doc1", "text": "a"}])
    result = call("calibrate", str(folder), "--json", env=HASH)
    assert result.exit_code == 2
    assert "corpus.jsonl, line 1" in error_of(result)["message"]


def test_a_set_without_judgements_says_what_is_expected(tmp_path: Path) -> None:
    folder = make_set(tmp_path / "one")
    write(folder / "qrels.jsonl", [])
    result = call("calibrate", str(folder), env=HASH)
    assert result.exit_code == 2
    assert "no query has a judged text" in result.stderr


def test_an_embedder_that_does_not_answer_leads_to_doctor(tmp_path: Path, stub: StubServer) -> None:
    stub.answer("POST", "/v1/embeddings", {"error": {"message": "bad key"}}, status=401)
    env = {
        "CONTEXTFIND_EMBEDDING__PROVIDER": "openai",
        "CONTEXTFIND_EMBEDDING__MODEL": "m",
        "CONTEXTFIND_EMBEDDING__API_BASE": f"{stub.url}/v1",
    }
    result = call("calibrate", str(make_set(tmp_path / "one")), env=env)
    assert result.exit_code == 4
    assert "bad key" in result.stderr
    assert "contextfind doctor" in result.stderr


def test_a_sample_is_bounded_and_holds_every_text_of_its_questions(tmp_path: Path) -> None:
    things = tuple(f"thing{n}" for n in range(200))
    judged = read_judged(make_set(tmp_path / "many", things))
    sample = sample_of(judged, PassageRules(), questions=40, passages=60)
    assert sample.passages == 60
    assert 30 <= len(sample.questions) <= 40
    assert all(sample.texts.keys() >= one.grades.keys() for one in sample.questions)
    again = sample_of(judged, PassageRules(), questions=40, passages=60)
    assert list(again.texts) == list(sample.texts)


def test_a_question_may_look_at_a_part_of_the_tree(tmp_path: Path) -> None:
    folder = make_set(tmp_path / "one")
    rows = [json.loads(line) for line in (folder / "queries.jsonl").read_text().splitlines()]
    there = "viking://resources/one/soup.md"
    write(folder / "queries.jsonl", [{**row, "target_uri": there} for row in rows])
    assert {one.target.name for one in read_judged(folder).questions if one.target} == {"soup.md"}
    result = call("calibrate", str(folder), "--json", env=HASH)
    # Seven of eight questions cannot reach the text that answers them.
    assert json.loads(result.stdout)["sets"][0]["nDCG@10 now"] == 0.125
