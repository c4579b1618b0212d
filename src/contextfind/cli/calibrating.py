"""`calibrate`: the two constants of an embedding model, fitted to questions whose answers are known."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from contextfind.cli.comparing import Comparer
from contextfind.cli.complaint import Complaint, ExitCode
from contextfind.cli.configuring import ConfigFile, settings_from
from contextfind.cli.judged import Sample, read_judged, sample_of
from contextfind.cli.meter import meter
from contextfind.cli.screen import complain, say, show, show_json, show_text, table
from contextfind.config.model import Settings
from contextfind.domain.calibrating import Fit, Judged, fit, left_out, ndcg
from contextfind.domain.errors import ContextFindError, UnavailableError
from contextfind.domain.scoring import Calibration
from contextfind.ingestion.passages import PassageRules
from contextfind.wiring.models import Switchboard, open_embedder
from contextfind.wiring.services import score_rules

MOST_PASSAGES = 500  # a set: one to two minutes with the local model on two cores
MOST_QUESTIONS = 200

app = typer.Typer()


@app.command("calibrate")
def calibrate(
    sets: Annotated[
        list[Path],
        typer.Argument(
            metavar="DATA...",
            help="Folders with corpus.jsonl, queries.jsonl and qrels.jsonl; several are better.",
        ),
    ],
    *,
    config: ConfigFile = None,
    passages: Annotated[
        int, typer.Option(min=20, help="Embed about so many passages of each set.")
    ] = MOST_PASSAGES,
    questions: Annotated[
        int, typer.Option(min=2, help="Ask at most so many questions of each set.")
    ] = MOST_QUESTIONS,
    json: Annotated[bool, typer.Option("--json", help="Figures as JSON.")] = False,
) -> None:
    """Fit the embedder's calibration to judged sets; no server needed.

    The answer are two lines for ov.conf. The same files give the same answer. Nothing is stored.
    """
    try:
        settings = settings_from(config, {}).settings
        judged, before = asyncio.run(
            _compared(settings, _samples(settings, sets, questions, passages))
        )
        report = Report(judged, before, settings.retrieval.meaning_weight)
    except Complaint as complaint:
        complain(complaint, as_json=json)
        raise typer.Exit(complaint.exit_code) from complaint
    if json:
        show_json(report.as_json())
    else:
        report.show()


def _samples(
    settings: Settings, sets: Sequence[Path], questions: int, passages: int
) -> list[Sample]:
    lengths = settings.ingestion
    rules = PassageRules(lengths.passage_target, lengths.passage_longest)
    return [sample_of(read_judged(folder), rules, questions, passages) for folder in sets]


async def _compared(
    settings: Settings, samples: Sequence[Sample]
) -> tuple[list[Judged], Calibration]:
    """Return what the embedder says of every sample, and the constants it has now."""
    name = settings.embedding.model or settings.embedding.provider
    texts = sum(sample.passages for sample in samples)
    asked = sum(len(sample.questions) for sample in samples)
    say(f"{name}: comparing {asked} questions with {texts} passages of {len(samples)} sets")
    try:
        async with AsyncExitStack() as stack:
            embedder = await open_embedder(settings.embedding, Switchboard(stack))
            with meter() as bar:
                comparer = Comparer(embedder, bar.show, score_rules(settings.retrieval))
                return [await comparer.compare(one) for one in samples], embedder.calibration
    except UnavailableError as error:
        raise Complaint(
            f"{name}: {error}; see what is wrong with: contextfind doctor",
            ExitCode.UNREACHABLE,
            error.code,
        ) from error


class Report:
    """What was found, for people and for programs.

    Raises:
        Complaint: the sets say nothing about the embedder.

    """

    def __init__(self, judged: Sequence[Judged], before: Calibration, weight: float) -> None:
        self._judged, self._before, self._weight = judged, before, weight
        try:
            self.fitted: Fit = fit(judged, weight)
            self._left_out = left_out(judged, weight) if len(judged) > 1 else []
        except ContextFindError as error:
            raise Complaint(str(error), ExitCode.FAILED, error.code) from error

    def as_json(self) -> dict[str, object]:
        """Return all figures by name."""
        chosen = self.fitted.chosen
        return {
            "embedding": {"calibration_floor": chosen.floor, "calibration_span": chosen.span},
            "before": {"floor": self._before.floor, "span": self._before.span},
            "start": {"floor": self.fitted.start.floor, "span": self.fitted.start.span},
            "sets": [self._figures(number) for number in range(len(self._judged))],
        }

    def show(self) -> None:
        """Print the table and the lines for ov.conf."""
        rows = [self._figures(number) for number in range(len(self._judged))]
        if len(rows) > 1:
            rows.append(_means(rows))
        made = table(*rows[0])
        for row in rows:
            made.add_row(*(_cell(value) for value in row.values()))
        show(made)
        start, chosen = self.fitted.start, self.fitted.chosen
        now = f"floor {self._before.floor:g}, span {self._before.span:g}"
        show_text(f"\nnow {now}; by the cosines alone floor {start.floor:g}, span {start.span:g}")
        show_text(
            "for ov.conf:\n"
            '  "embedding": {\n'
            f'    "calibration_floor": {chosen.floor:g},\n'
            f'    "calibration_span": {chosen.span:g}\n'
            "  }"
        )

    def _figures(self, number: int) -> dict[str, str | int | float]:
        """Return the row of a set by column."""
        one = self._judged[number]
        unrelated = np.quantile(one.unrelated, [0.5, 0.99]).tolist()
        related = np.quantile(one.related, [0.1, 0.5]).tolist()
        figures: dict[str, str | int | float] = {
            "set": one.name,
            "questions": len(one.grades),
            "texts": one.grades.shape[1],
            "unrelated p50": round(unrelated[0], 3),
            "unrelated p99": round(unrelated[1], 3),
            "related p10": round(related[0], 3),
            "related p50": round(related[1], 3),
            "nDCG@10 now": self._ndcg(one, self._before),
            "nDCG@10 fitted": self._ndcg(one, self.fitted.chosen),
        }
        if self._left_out:  # what the other sets would have chosen for this one
            figures["chosen without it"] = self._ndcg(one, self._left_out[number])
        return figures

    def _ndcg(self, one: Judged, calibration: Calibration) -> float:
        return round(ndcg(one, calibration, self._weight), 4)


def _means(rows: Sequence[dict[str, str | int | float]]) -> dict[str, str | int | float]:
    """Return the means of what is a figure."""
    means: dict[str, str | int | float] = {"set": "mean"}
    for column in list(rows[0])[1:]:
        values = [float(row[column]) for row in rows]
        counted = isinstance(rows[0][column], int)
        means[column] = "" if counted else round(sum(values) / len(values), 4)
    return means


def _cell(value: str | float) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)
