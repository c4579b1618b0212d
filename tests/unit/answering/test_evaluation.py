import json
from dataclasses import replace

from contextfind.answering.answer import Answer, Outcome
from contextfind.answering.evaluation import Verdict, row_of, summary_of, verdict_on
from contextfind.answering.measures import Quality
from contextfind.domain.uri import Uri

A, B = (Uri(f"viking://resources/{name}.md") for name in "ab")
GOOD, POOR = Quality(1.0, 1.0, 1.0), Quality(0.5, 1.0, 0.5)
ANSWER = Answer("q", Outcome.WRITTEN, [A, B], ["one", "two"], "So [1].")


def test_a_failed_answer_or_search_fails_the_question() -> None:
    failed = replace(ANSWER, outcome=Outcome.FAILED, text="No answer: [1]")
    assert verdict_on(GOOD, failed, [A]) == Verdict(None)
    assert verdict_on(None, ANSWER, [A]) == Verdict(None)
    assert verdict_on(None, None, [A]) == Verdict(None)


def test_an_answer_is_good_when_it_cites_a_judged_text() -> None:
    assert verdict_on(GOOD, ANSWER, [A]) == Verdict(GOOD, cites=True)
    assert verdict_on(GOOD, ANSWER, [B]) == Verdict(GOOD, cites=False)
    assert verdict_on(GOOD, None, [A]) == Verdict(GOOD)
    assert verdict_on(GOOD, replace(ANSWER, outcome=Outcome.NO_MODEL), [A]) == Verdict(GOOD)


def test_what_failed_is_counted_and_left_out_of_the_figures() -> None:
    summary = summary_of([Verdict(GOOD, cites=True), Verdict(None), Verdict(POOR, cites=False)])
    assert (summary.asked, summary.failed, summary.written, summary.cites) == (3, 1, 2, 0.5)
    assert summary.as_json()["ndcg10"] == {"mean": 0.75, "low": 0.5, "high": 1.0}
    assert summary.as_json()["recall10"] == {"mean": 1.0, "low": 1.0, "high": 1.0}


def test_r142_without_a_single_figure_there_is_no_nan() -> None:
    for verdicts in ([], [Verdict(None)] * 3):
        told = summary_of(verdicts).as_json()
        assert json.loads(json.dumps(told, allow_nan=False)) == {
            "asked": len(verdicts),
            "failed": len(verdicts),
            "ndcg10": None,
            "recall10": None,
            "mrr10": None,
            "written": 0,
            "cites": None,
        }


def test_a_row_holds_the_answer_without_its_list_of_addresses() -> None:
    assert row_of(ANSWER, "", ["the text"]) == {
        "question": "q",
        "contexts": ["one", "two"],
        "answer": "So [1].",
        "retrieved_uris": [A.text, B.text],
        "ground_truth": None,
        "reference_contexts": ["the text"],
        "outcome": "written",
    }
    failed = replace(ANSWER, outcome=Outcome.FAILED, text="No answer was written: 500")
    row = row_of(failed, "the truth", [])
    assert (row["outcome"], row["answer"]) == ("failed", "No answer was written: 500")
    assert row["ground_truth"] == "the truth"
