"""`eval`: how well the questions of judged sets are answered."""

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from contextfind.answering.answer import Answer
from contextfind.answering.answerer import DEFAULT_TOP_K
from contextfind.answering.evaluation import (
    Row,
    Summary,
    Verdict,
    row_of,
    summary_of,
    verdict_on,
)
from contextfind.answering.measures import DEPTH, Interval, quality_of
from contextfind.cli.complaint import Complaint, ExitCode, about
from contextfind.cli.configuring import ConfigFile, settings_from
from contextfind.cli.judged import JudgedSet, Question, read_judged
from contextfind.cli.meter import Meter, meter
from contextfind.cli.opening import opened
from contextfind.cli.outfile import STDOUT, save_text
from contextfind.cli.places import OwnHouse, Place, Server
from contextfind.cli.screen import complain, say, show, table
from contextfind.client import AsyncClient, ClientError
from contextfind.domain.errors import ContextFindError

_AT_ONCE = 4  # questions side by side: a chat model is waited for, the rest has two cores

app = typer.Typer()

Sets = Annotated[
    list[Path],
    typer.Argument(
        metavar="DATA...", help="Folders with corpus.jsonl, queries.jsonl and qrels.jsonl."
    ),
]
Kept = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="Keep what is added in DIR/SET, and use it again (default: nothing)."
    ),
]
Url = Annotated[
    str | None,
    typer.Option(help="Ask this server instead; the set is added to it, and stays there."),
]
Key = Annotated[
    str | None,
    typer.Option(envvar=["CONTEXTFIND_API_KEY", "OPENVIKING_API_KEY"], help="Your key for --url."),
]
Rows = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Answer the questions, too, and write question, contexts, answer and truth there, "
        "one JSON object a line, as judges of answers (Ragas) take them.",
    ),
]
Figures = Annotated[
    Path | None,
    typer.Option("--json", metavar="FILE", help="Write the figures there, too; - is stdout."),
]


@dataclass(frozen=True, slots=True)
class Plan:
    """How sets are evaluated; see the options of the command."""

    config: str | None
    data: Path | None
    url: str | None
    key: str | None
    questions: int | None
    thinking: bool
    rows: Path | None
    top_k: int
    json: Path | None

    def check(self) -> None:
        """Refuse what cannot be done, before anything long is begun."""
        if self.url is not None and (self.rows is not None or self.data is not None):
            raise Complaint(
                "--url asks a server, which keeps its own data and writes no answers; leave --rows and "
                "--data out",
                ExitCode.USAGE,
            )
        for file in (self.rows, self.json):
            if file is not None and not file.parent.is_dir():
                raise Complaint(f"there is no directory {file.parent} for {file}", ExitCode.USAGE)


@dataclass(frozen=True, slots=True)
class Evaluated:
    """A set that was asked; rows: only where they were wanted."""

    judged: JudgedSet
    summary: Summary
    rows: Sequence[Row]


@app.command("eval")
def evaluate(  # noqa: PLR0913 - a command line is its options
    sets: Sets,
    *,
    config: ConfigFile = None,
    data: Kept = None,
    url: Url = None,
    key: Key = None,
    questions: Annotated[
        int | None, typer.Option(min=1, help="Ask only the first of each set.")
    ] = None,
    search: Annotated[
        bool, typer.Option("--search", help="Ask as search does, with the reranker.")
    ] = False,
    rows: Rows = None,
    top_k: Annotated[
        int, typer.Option(min=1, max=100, help="Contexts of an answer (--rows).")
    ] = DEFAULT_TOP_K,
    json_file: Figures = None,
) -> None:
    """Measure search and answers on judged sets; no server and, without --rows, no language model needed.

    nDCG, recall and MRR at 10, with 95 % intervals. Each set is added to an empty data directory of its own,
    which is removed afterwards. What fails is counted, and left out of the figures; then the exit code is 1.
    """
    plan = Plan(config, data, url, key, questions, search, rows, top_k, json_file)
    try:
        plan.check()
        found = asyncio.run(_all(plan, [read_judged(folder) for folder in sets]))
        _write(plan, found)
    except Complaint as complaint:
        _end(complaint)
    except ClientError as error:
        _end(about(error, "eval"))
    except ContextFindError as error:
        _end(Complaint(str(error), ExitCode.FAILED, error.code))
    else:
        if any(one.summary.failed for one in found):
            raise typer.Exit(ExitCode.FAILED)


def _end(complaint: Complaint) -> NoReturn:
    complain(complaint)
    raise typer.Exit(complaint.exit_code)


async def _all(plan: Plan, sets: Sequence[JudgedSet]) -> list[Evaluated]:
    found = []
    for one in sets:
        judged = replace(one, questions=one.questions[: plan.questions])
        with meter() as shown:
            async with _place(plan, judged) as place:
                await place.add(judged, shown)
                found.append(await _asked(plan, judged, place, shown))
    return found


@asynccontextmanager
async def _place(plan: Plan, judged: JudgedSet) -> AsyncIterator[Place]:
    if plan.url is not None:
        async with AsyncClient(plan.url, plan.key) as client:
            yield Server(client, thinking=plan.thinking)
        return
    with tempfile.TemporaryDirectory(prefix="contextfind-eval-") as work:
        folder = (plan.data or Path(work)) / judged.name
        settings = settings_from(plan.config, {"storage.path": str(folder)}).settings
        if plan.rows is not None and not settings.vlm.model:
            say("no chat model is configured (vlm.model): the rows hold contexts and no answers")
        async with opened(settings) as house:
            yield OwnHouse(house, thinking=plan.thinking)


async def _asked(plan: Plan, judged: JudgedSet, place: Place, shown: Meter) -> Evaluated:
    """Ask all questions, a few side by side, in order."""
    gate = asyncio.Semaphore(_AT_ONCE)
    done = 0

    async def one(question: Question) -> tuple[Verdict, Answer | None]:
        nonlocal done
        async with gate:
            result = await _judged(plan, judged, place, question)
            done += 1
            shown.show(f"{judged.name}: asked", done, len(judged.questions), "questions")
            return result

    results = await asyncio.gather(*(one(question) for question in judged.questions))
    rows = [
        row_of(answer, question.answer, [judged.texts[uri] for uri in question.grades])
        for question, (_, answer) in zip(judged.questions, results, strict=True)
        if answer is not None
    ]
    return Evaluated(judged, summary_of([verdict for verdict, _ in results]), rows)


async def _judged(
    plan: Plan, judged: JudgedSet, place: Place, question: Question
) -> tuple[Verdict, Answer | None]:
    try:
        ranked = [uri.text for uri in await place.find(question, judged.root, DEPTH)]
        grades = {uri.text: grade for uri, grade in question.grades.items()}
        quality = quality_of(ranked, grades)
    except (ContextFindError, ClientError) as error:
        say(f"{judged.name}: {question.text!r} failed: {error}", style="yellow")
        quality = None
    answer = None
    if plan.rows is not None and isinstance(place, OwnHouse):
        answer = await place.answer(question, judged.root, plan.top_k)
        if answer.failed:
            say(f"{judged.name}: {question.text!r} failed: {answer.text}", style="yellow")
    return verdict_on(quality, answer, question.grades), answer


def _figures(one: Evaluated) -> dict[str, object]:
    return {"set": one.judged.name, "documents": len(one.judged.texts), **one.summary.as_json()}


def _show(found: Sequence[Evaluated], *, answers: bool) -> None:
    """Print a line per set; behind each figure stands its 95 % interval."""
    extra = ("written", "cite a judged text") if answers else ()
    made = table("set", "documents", "asked", "nDCG@10", "recall@10", "MRR@10", "failed", *extra)
    for one in found:
        told = one.summary
        cells = [one.judged.name, str(len(one.judged.texts)), str(told.asked)]
        cells += [_cell(figure) for figure in (told.ndcg, told.recall, told.mrr)]
        cells.append(str(told.failed))
        if answers:
            cells += [str(told.written), "-" if told.cites is None else f"{told.cites:.0%}"]
        made.add_row(*cells)
    show(made)


def _cell(figure: Interval | None) -> str:
    return "-" if figure is None else str(figure)


def _json(value: object, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=False)


def _write(plan: Plan, found: Sequence[Evaluated]) -> None:
    if plan.rows is not None:
        lines = [f"{_json(row)}\n" for one in found for row in one.rows]
        save_text(plan.rows, "".join(lines))
    if plan.json is not None:
        save_text(plan.json, f"{_json([_figures(one) for one in found], 1)}\n")
    if STDOUT not in (plan.json, plan.rows):
        _show(found, answers=plan.rows is not None)
