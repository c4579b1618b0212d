"""Intervals cover what they should, and a set falls when its queries do."""

import random
from pathlib import Path

import pytest

from contextfind.answering.measures import interval_of
from contextfind.domain.documents import TEXT_RECIPE
from tests.benchmark.baseline import (
    Remembered,
    packed,
    read_baseline,
    verdict_on,
    write_baseline,
)
from tests.benchmark.keeping import DATA, Kept, NotOursError
from tests.benchmark.sets import RetrievalSet, read_set
from tests.benchmark.test_ablation import small_set

BEFORE = [0.631, 1.0, 0.5, 0.0, 1.0, 0.387, 1.0, 0.631, 0.5, 1.0]


def remembered(values: list[float], fingerprint: str = "f") -> Remembered:
    return Remembered(fingerprint, "2026-01-01", "here", 0.6, 0.7, 0.8, packed(values))


def test_an_interval_holds_its_mean_and_is_the_same_every_time() -> None:
    values = [random.Random(n).random() for n in range(200)]  # noqa: S311 - data
    found = interval_of(values)
    assert found.low < found.mean < found.high
    assert found == interval_of(values)
    # The standard error of 200 values of a uniform distribution is .0204.
    assert found.high - found.low == pytest.approx(2 * 1.96 * 0.0204, rel=0.1)


def test_equal_values_have_no_interval() -> None:
    assert str(interval_of([0.5] * 9)) == ".500 [.500, .500]"
    assert interval_of([-0.25] * 9).signed == "-.250 [-.250, -.250]"
    assert str(interval_of([])) == ".000 [.000, .000]"


def test_the_same_figures_stand() -> None:
    verdict = verdict_on("a", "f", BEFORE, {"a": remembered(BEFORE)})
    assert not verdict.fell
    assert "stands" in verdict.line
    assert "0 queries moved" in verdict.line


def test_a_small_fall_of_many_queries_is_seen() -> None:
    verdict = verdict_on("a", "f", [v - 0.02 for v in BEFORE], {"a": remembered(BEFORE)})
    assert verdict.fell
    assert "FELL" in verdict.line


def test_one_query_that_fell_among_many_is_no_fall_of_the_set() -> None:
    before = [1.0] * 50
    verdict = verdict_on("a", "f", [0.0, *before[1:]], {"a": remembered(before)})
    assert not verdict.fell
    assert "1 queries moved" in verdict.line


def test_a_rise_is_no_fall() -> None:
    verdict = verdict_on("a", "f", [v + 0.1 for v in BEFORE], {"a": remembered(BEFORE)})
    assert not verdict.fell


def test_the_first_queries_are_compared_with_the_first_of_the_baseline() -> None:
    verdict = verdict_on("a", "f", BEFORE[:3], {"a": remembered(BEFORE)})
    assert "0 queries moved" in verdict.line


def test_a_new_set_and_a_changed_one_have_nothing_to_be_compared_with() -> None:
    assert "not in the baseline" in verdict_on("b", "f", BEFORE, {}).line
    changed = verdict_on("a", "g", [0.0] * 10, {"a": remembered(BEFORE)})
    assert "not those of the baseline" in changed.line
    assert not changed.fell


def test_writing_a_baseline_keeps_the_sets_that_were_not_measured(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    assert read_baseline(path) == {}
    write_baseline(path, {"a": remembered(BEFORE), "b": remembered(BEFORE)})
    write_baseline(path, {"b": remembered([0.25])})
    held = read_baseline(path)
    assert held["a"].values == BEFORE
    assert held["b"].values == [0.25]


def other_texts(wanted: RetrievalSet) -> RetrievalSet:
    return RetrievalSet(
        wanted.name, [*wanted.documents, ("u", "t")], wanted.queries, wanted.relevant
    )


def test_kept_data_is_used_again_while_documents_are_the_same(tmp_path: Path) -> None:
    kept, wanted = Kept(tmp_path), small_set()
    folder, there = kept.place(wanted)
    assert not there
    (folder / DATA / "index").mkdir(parents=True)
    kept.note(folder, wanted)
    assert kept.place(wanted) == (folder, True)
    assert not (folder / DATA / "index").exists()  # rebuilt: the tokenizer may have changed
    assert kept.place(other_texts(wanted)) == (folder, False)
    assert list(folder.iterdir()) == []


def test_data_of_other_code_is_used_again_only_on_demand(tmp_path: Path) -> None:
    wanted = small_set()
    folder, _ = Kept(tmp_path).place(wanted)
    (folder / DATA).mkdir()
    (folder / "ingested.txt").write_text(
        f"{wanted.fingerprint} local:{TEXT_RECIPE} old\n", encoding="utf-8"
    )
    assert Kept(tmp_path, trusting=True).place(wanted) == (folder, True)
    assert Kept(tmp_path, trusting=True).place(other_texts(wanted)) == (folder, False)
    (folder / DATA).mkdir()
    (folder / "ingested.txt").write_text(
        f"{wanted.fingerprint} local:{TEXT_RECIPE} old\n", encoding="utf-8"
    )
    assert Kept(tmp_path).place(wanted) == (folder, False)


def test_data_of_another_embedder_is_never_used(tmp_path: Path) -> None:
    wanted = small_set()
    folder, _ = Kept(tmp_path).place(wanted)
    (folder / DATA).mkdir()
    Kept(tmp_path).note(folder, wanted)
    assert Kept(tmp_path, trusting=True, provider="hash").place(wanted) == (folder, False)


def test_a_folder_of_somebody_else_is_not_cleared(tmp_path: Path) -> None:
    (tmp_path / "small").mkdir()
    (tmp_path / "small" / "thesis.txt").write_text("years of work", encoding="utf-8")
    with pytest.raises(NotOursError, match="small is not empty"):
        Kept(tmp_path).place(small_set())


def test_a_set_is_read_with_its_judgements(tmp_path: Path) -> None:
    folder = tmp_path / "tiny"
    folder.mkdir()
    lines = {
        "corpus": '{"uri": "viking://resources/tiny/a.md", "title": "", "text": "one"}\n',
        "queries": '{"id": "1", "query": "q"}\n{"id": "2", "query": "unjudged"}\n',
        "qrels": '{"id": "1", "uri": "viking://resources/tiny/a.md", "rel": 1}\n',
    }
    for name, text in lines.items():
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    read = read_set(folder)
    assert (read.root, [query["id"] for query in read.queries]) == (
        "viking://resources/tiny",
        ["1"],
    )
    assert read.fingerprint == read_set(folder).fingerprint
