"""How good retrieval and answers are on questions whose answers are known; what failed is counted, not averaged."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

from contextfind.answering.answer import Answer, Outcome
from contextfind.answering.measures import Interval, Quality, interval_of
from contextfind.domain.uri import Uri


class Row(TypedDict):
    """A question with all that a judge of answers needs; JSON values only.

    answer: without the list of addresses. outcome: `written`, or why there is no answer; then `answer`
    says it in words. ground_truth: None where the set holds none. reference_contexts: the texts that are
    judged to answer the question.
    """

    question: str
    contexts: list[str]
    answer: str
    retrieved_uris: list[str]
    ground_truth: str | None
    reference_contexts: list[str]
    outcome: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one question; quality is None where the search or the answer failed.

    cites: whether the answer names one of the judged texts; None where none was written.
    """

    quality: Quality | None
    cites: bool | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """The figures of a set; failed questions are counted, and left out of the others.

    ndcg, recall, mrr: None where every question failed. written: how many answers; cites: the share of them
    that names a judged text, None where none was written.
    """

    asked: int
    failed: int
    ndcg: Interval | None
    recall: Interval | None
    mrr: Interval | None
    written: int
    cites: float | None

    def as_json(self) -> dict[str, object]:
        """Return the figures by name; what there is no figure for is None, never NaN."""
        return {
            "asked": self.asked,
            "failed": self.failed,
            "ndcg10": _shown(self.ndcg),
            "recall10": _shown(self.recall),
            "mrr10": _shown(self.mrr),
            "written": self.written,
            "cites": None if self.cites is None else round(self.cites, 4),
        }


def verdict_on(quality: Quality | None, answer: Answer | None, judged: Collection[Uri]) -> Verdict:
    """Return what became of a question; quality: of its search, None where that failed."""
    if quality is None or (answer is not None and answer.failed):
        return Verdict(None)
    if answer is None or answer.outcome is not Outcome.WRITTEN:
        return Verdict(quality)
    return Verdict(quality, any(uri in judged for uri in answer.cited))


def summary_of(verdicts: Sequence[Verdict]) -> Summary:
    """Return the figures over what did not fail."""
    good = [one.quality for one in verdicts if one.quality is not None]
    cites = [one.cites for one in verdicts if one.cites is not None]
    return Summary(
        asked=len(verdicts),
        failed=len(verdicts) - len(good),
        ndcg=interval_of([one.ndcg for one in good]) if good else None,
        recall=interval_of([one.recall for one in good]) if good else None,
        mrr=interval_of([one.mrr for one in good]) if good else None,
        written=len(cites),
        cites=sum(cites) / len(cites) if cites else None,
    )


def row_of(answer: Answer, truth: str, judged: Sequence[str]) -> Row:
    """Return a row for a judge of answers.

    truth: the known answer, empty where there is none. judged: the texts that answer the question.
    """
    return {
        "question": answer.question,
        "contexts": list(answer.contexts),
        "answer": answer.text,
        "retrieved_uris": [uri.text for uri in answer.uris],
        "ground_truth": truth or None,
        "reference_contexts": list(judged),
        "outcome": answer.outcome.value,
    }


def _shown(figure: Interval | None) -> Mapping[str, float] | None:
    if figure is None:
        return None
    return {name: round(getattr(figure, name), 4) for name in ("mean", "low", "high")}
