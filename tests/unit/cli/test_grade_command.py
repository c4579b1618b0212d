import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from contextfind.adapters.ragas.judge import INSTALLED, Grades, Judged
from contextfind.cli.complaint import Complaint
from contextfind.cli.grading import graded, read_rows
from tests.unit.cli.calling import call


def row(
    question: str, outcome: str = "written", truth: str | None = "The truth."
) -> dict[str, object]:
    return {
        "question": question,
        "contexts": ["one", "two"],
        "answer": "So [1].",
        "retrieved_uris": ["viking://resources/a.md"],
        "ground_truth": truth,
        "reference_contexts": [],
        "outcome": outcome,
    }


def write(file: Path, rows: Sequence[object]) -> Path:
    file.write_text("".join(f"{json.dumps(one)}\n" for one in rows), encoding="utf-8")
    return file


class FakeJudge:
    """Knows the score of a question, and what it cannot judge."""

    def __init__(self, known: dict[str, Grades]) -> None:
        self.known = known
        self.asked: list[Judged] = []
        self.closed = False

    async def grade(self, judged: Judged) -> Grades:
        self.asked.append(judged)
        return self.known[judged.question]

    async def aclose(self) -> None:
        self.closed = True


async def test_means_are_over_what_was_judged_and_the_rest_is_counted(tmp_path: Path) -> None:
    file = write(
        tmp_path / "rows.jsonl", [row("a"), row("b", truth=None), row("c", "failed"), row("d")]
    )
    judge = FakeJudge(
        {
            "a": Grades({"faithfulness": 1.0, "context_precision": 0.5, "context_recall": 1.0}, {}),
            "b": Grades({"faithfulness": 0.0}, {"context_precision": "no JSON"}),
            "d": Grades({}, {"faithfulness": "500", "context_precision": "500"}),
        }
    )
    report = await graded(judge, read_rows(file), 2)
    told = json.loads(json.dumps(report.as_json(), allow_nan=False))
    assert (told["rows"], told["unanswered"]) == (4, 1)
    assert told["faithfulness"] == {
        "score": {"mean": 0.5, "low": 0.0, "high": 1.0},
        "graded": 2,
        "failed": 1,
    }
    assert (told["context_precision"]["graded"], told["context_precision"]["failed"]) == (1, 2)
    assert told["factual_correctness"] == {"score": None, "graded": 0, "failed": 0}
    assert judge.asked[0] == Judged("a", ["one", "two"], "So [1].", "The truth.")
    assert judge.asked[1].truth is None
    assert judge.closed


async def test_r142_rows_without_an_answer_give_no_nan(tmp_path: Path) -> None:
    file = write(tmp_path / "rows.jsonl", [row("a", "failed"), row("b", "no_model")])
    report = await graded(FakeJudge({}), read_rows(file), 1)
    told = json.loads(json.dumps(report.as_json(), allow_nan=False))
    assert (told["unanswered"], told["faithfulness"]["score"]) == (2, None)


@pytest.mark.parametrize(
    "line", ["nonsense", "[]", '{"question": "a"}', json.dumps(row("a") | {"contexts": "x"})]
)
def test_a_line_that_is_no_row_is_named(tmp_path: Path, line: str) -> None:
    file = write(tmp_path / "rows.jsonl", [row("a")])
    file.write_text(file.read_text() + line)
    with pytest.raises(Complaint, match="line 2: expected an object with question, contexts"):
        read_rows(file)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(Complaint, match=r"cannot read .*gone\.jsonl"):
        read_rows(tmp_path / "gone.jsonl")


@pytest.mark.skipif(INSTALLED, reason="Ragas is installed here")
def test_without_the_extra_the_command_says_what_to_install(tmp_path: Path) -> None:
    result = call("grade", str(write(tmp_path / "rows.jsonl", [row("a")])))
    assert result.exit_code == 2
    assert "pip install 'contextfind[ragas]'" in result.stderr
