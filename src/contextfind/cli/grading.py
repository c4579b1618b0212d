"""`grade`: rows of answers, judged by a language model with the measures of Ragas."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Protocol

import typer

from contextfind.adapters.ragas.judge import INSTALLED, MEASURES, Grades, Judged, RagasJudge, Reader
from contextfind.answering.answer import Outcome
from contextfind.answering.measures import Interval, interval_of
from contextfind.cli.complaint import Complaint, ExitCode
from contextfind.cli.configuring import ConfigFile, settings_from
from contextfind.cli.meter import meter
from contextfind.cli.outfile import STDOUT, save_text
from contextfind.cli.screen import complain, say, show, show_text, table
from contextfind.config.chat import ChatSettings

_FIELDS = ("question", "contexts", "answer", "ground_truth", "outcome")

app = typer.Typer()


class Judge(Protocol):
    """Whoever gives grades."""

    async def grade(self, judged: Judged) -> Grades:
        """Return the scores of one answer."""
        ...

    async def aclose(self) -> None:
        """Let go of sockets."""
        ...


@dataclass(frozen=True, slots=True)
class Report:
    """What came of the rows: per measure its scores and how many could not be given.

    unanswered: rows without a written answer; nothing of them is judged.
    """

    rows: int
    unanswered: int
    scores: Mapping[str, Sequence[float]]
    failed: Mapping[str, int]

    def as_json(self) -> dict[str, object]:
        """Return the figures by name; a measure without a score has none, never NaN."""
        return {
            "rows": self.rows,
            "unanswered": self.unanswered,
            **{name: self._figure(name) for name in MEASURES},
        }

    def show(self) -> None:
        """Print a line per measure; behind each mean stands its 95 % interval."""
        made = table("measure", "mean", "graded", "failed")
        for name in MEASURES:
            figure = self._interval(name)
            shown = "-" if figure is None else str(figure)
            made.add_row(name, shown, str(len(self.scores[name])), str(self.failed[name]))
        show(made)
        show_text(f"\n{self.rows} rows, {self.unanswered} without a written answer")

    def _interval(self, name: str) -> Interval | None:
        return interval_of(self.scores[name]) if self.scores[name] else None

    def _figure(self, name: str) -> dict[str, object]:
        figure = self._interval(name)
        ends = ("mean", "low", "high")
        shown = None if figure is None else {end: round(getattr(figure, end), 4) for end in ends}
        return {"score": shown, "graded": len(self.scores[name]), "failed": self.failed[name]}


@app.command("grade")
def grade(
    rows: Annotated[
        Path, typer.Argument(metavar="ROWS", help="What `contextfind eval --rows` has written.")
    ],
    *,
    config: ConfigFile = None,
    json_file: Annotated[
        Path | None,
        typer.Option("--json", metavar="FILE", help="Write the figures there, too; - is stdout."),
    ] = None,
) -> None:
    """Judge written answers with Ragas and the chat model; needs the extra `ragas`.

    Several calls of the model (vlm in ov.conf) for each answer. What cannot be judged is counted, and left
    out of the means; then the exit code is 1.
    """
    try:
        if not INSTALLED:
            raise _missing()
        found = read_rows(rows)
        report = asyncio.run(graded(_judge(config), found, settings_of(config).concurrency))
        if json_file is not None:
            text = json.dumps(report.as_json(), ensure_ascii=False, indent=1, allow_nan=False)
            save_text(json_file, f"{text}\n")
    except Complaint as complaint:
        complain(complaint)
        raise typer.Exit(complaint.exit_code) from complaint
    if json_file != STDOUT:
        report.show()
    if any(report.failed.values()) or report.unanswered:
        raise typer.Exit(ExitCode.FAILED)


def read_rows(file: Path) -> list[tuple[Judged, bool]]:
    """Return what is to be judged, and whether there is an answer.

    Raises:
        Complaint: the file cannot be read, or a line is no row.

    """
    try:
        lines = file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise Complaint(f"cannot read {file}: {error}", ExitCode.USAGE) from error
    return [_row(file, number, line) for number, line in enumerate(lines, 1) if line.strip()]


async def graded(judge: Judge, rows: Sequence[tuple[Judged, bool]], at_once: int) -> Report:
    """Have all written answers judged, a few side by side."""
    gate = asyncio.Semaphore(at_once)
    written = [judged for judged, there in rows if there]
    done = 0
    with meter() as shown:

        async def one(judged: Judged) -> Grades:
            nonlocal done
            async with gate:
                found = await judge.grade(judged)
            done += 1
            shown.show("judged", done, len(written), "answers")
            for name, fault in found.faults.items():
                say(f"{judged.question!r}: {name} failed: {fault}", style="yellow")
            return found

        async with aclosing(judge):
            grades = await asyncio.gather(*(one(judged) for judged in written))
    return Report(
        rows=len(rows),
        unanswered=len(rows) - len(written),
        scores={name: [g.scores[name] for g in grades if name in g.scores] for name in MEASURES},
        failed={name: sum(name in one.faults for one in grades) for name in MEASURES},
    )


def settings_of(config: str | None) -> ChatSettings:
    """Return the chat model's settings.

    Raises:
        Complaint: there is none, or the configuration is wrong.

    """
    settings = settings_from(config, {}).settings.vlm
    if not settings.model:
        raise Complaint(
            "no chat model is configured; name one as vlm.model in ov.conf", ExitCode.USAGE
        )
    return settings


def _judge(config: str | None) -> RagasJudge:
    chat = settings_of(config)
    return RagasJudge(Reader(chat.model, chat.api_base, chat.api_key, chat.timeout))


def _missing() -> Complaint:
    return Complaint(
        "grade needs Ragas, which is not installed; install it with: pip install "
        "'contextfind[ragas]'",
        ExitCode.USAGE,
    )


def _row(file: Path, number: int, line: str) -> tuple[Judged, bool]:
    try:
        row: Any = json.loads(line)
    except ValueError:
        row = None
    if not _is_row(row):
        raise Complaint(
            f"{file}, line {number}: expected an object with {', '.join(_FIELDS)}, as "
            "`contextfind eval --rows` writes it",
            ExitCode.USAGE,
        )
    truth = None if row["ground_truth"] is None else str(row["ground_truth"])
    contexts = [str(text) for text in row["contexts"]]
    judged = Judged(str(row["question"]), contexts, str(row["answer"]), truth)
    return judged, row["outcome"] == Outcome.WRITTEN


def _is_row(row: object) -> bool:
    known = isinstance(row, dict) and all(field in row for field in _FIELDS)
    return known and isinstance(row["contexts"], list)  # type: ignore[index]
