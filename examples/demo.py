"""From nothing to answers in about a minute: `make demo`, or `python -m examples.demo`.

Starts a server of its own in a temporary folder, adds three small trees over HTTP, asks five questions and checks that
the right answer comes first. Ends with 0 when all five do, else with 1.
"""

import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from examples.screen import screen
from examples.serving import Api, Server, ServerFailedError, zip_of_folder

TREE = Path(__file__).with_name("tree")
PLACES = {
    "resources": "viking://resources/handbook",
    "skills": "viking://agent/skills",
    "memories": "viking://~/memories",
}


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, why it is in the demo, and how the address of the best hit must end."""

    text: str
    kind: str
    expected: str


QUESTIONS = (
    Question(
        "How long does the Atlas canary run, and on how many depots?",
        "English, a document",
        "resources/handbook/projects/atlas/release.md",
    ),
    Question(
        "数据库备份多久做一次，保留多少天？",
        "Chinese, a document",
        "resources/handbook/中文资料/数据库备份.md",
    ),
    Question(
        "drain_with_backoff",
        "an identifier, in code",
        "resources/handbook/code/retry_queue.py",
    ),
    Question(
        "How does Mei like her answers?",
        "a memory of the caller",
        "memories/preferences/answers.md",
    ),
    Question(
        "把 PDF 里的表格整理成 CSV",
        "a skill, in Chinese",
        "agent/skills/提取PDF表格/SKILL.md",
    ),
)


def main() -> int:
    """Run the demo; return the exit code."""
    console = screen()
    with tempfile.TemporaryDirectory(prefix="contextfind-demo-") as folder:
        try:
            with Server(Path(folder)) as server, Api(server.url, server.key) as api:
                console.print(f"A server of its own at [bold]{server.url}[/], data in {folder}\n")
                add_trees(console, api)
                right = [ask(console, api, question) for question in QUESTIONS]
        except ServerFailedError as error:
            console.print(f"The demo ended early: {error}", style="red", markup=False)
            return 1
    console.print(
        f"{sum(right)} of {len(right)} questions had the expected answer first. Server stopped, data removed."
    )
    console.print("Next: contextfind serve ./your-docs", style="dim")
    return 0 if all(right) else 1


def add_trees(console: Console, api: Api) -> None:
    """Upload the three trees, with a line of progress each."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        for name, place in PLACES.items():
            folder = TREE / name
            count = sum(path.is_file() for path in folder.rglob("*"))
            title = f"{count:2d} files of {name} to {place}"
            line = progress.add_task(title)

            def show(task: dict[str, Any], line: Any = line, title: str = title) -> None:
                progress.update(line, description=f"{title}: {how_far(api, task)}")

            api.add(zip_of_folder(folder), place, show)
            progress.update(line, description=f"{title}: findable", completed=100)
    console.print()


def how_far(api: Api, task: dict[str, Any]) -> str:
    """Return what an adding task does right now, and how much of it is left."""
    stage = task.get("stage") or task["status"]
    if stage != "embedding":
        return f"{stage} {task.get('done', 0)}/{task.get('total', 0)}"
    backlog = api.call("GET", "/api/v1/system/status")["backlog"]
    return f"embedding, {backlog['texts']} texts left"


def ask(console: Console, api: Api, question: Question) -> bool:
    """Ask, show the three best hits, and return whether the first one is the expected one."""
    start = time.perf_counter()
    hits = api.find(question.text, limit=5)
    milliseconds = 1000 * (time.perf_counter() - start)
    right = bool(hits) and hits[0]["uri"].endswith(question.expected)
    table = Table(
        title=f"{question.text}  [dim]({question.kind}; {milliseconds:.0f} ms)[/]",
        title_justify="left",
        expand=False,
    )
    table.add_column("score", justify="right")
    table.add_column("address", overflow="fold")
    table.add_column("why", overflow="fold")
    for hit in hits[:3]:
        table.add_row(f"{hit['score']:.2f}", hit["uri"], hit.get("match_reason") or "")
    console.print(table)
    verdict = "[green]as expected[/]" if right else f"[red]expected first:[/] …/{question.expected}"
    console.print(f"  {verdict}\n")
    return right


if __name__ == "__main__":
    sys.exit(main())
