"""How good the answers are: nDCG@10, recall@10, MRR@10 of a real server on retrieval sets.

    make bench-quality DATA="path/to/set1 path/to/set2"

What a set is: see `sets`. The server runs with its default configuration. Every set is uploaded as one
zip, then each query is one find at level 2, limit 10, one at a time. The nDCG of every query is compared with that of
the baseline beside this file: exit code 1 when a set fell, or when a find failed.
"""

import argparse
import json
import platform
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

from contextfind.answering.measures import (
    DEPTH,
    Interval,
    Quality,
    interval_of,
    quality_of,
    quantile,
)
from examples.screen import screen
from examples.serving import Api, Server, ServerFailedError, zip_of
from tests.benchmark.baseline import (
    BASELINE,
    Remembered,
    packed,
    read_baseline,
    verdict_on,
    write_baseline,
)
from tests.benchmark.keeping import Kept
from tests.benchmark.sets import RetrievalSet, read_set


@dataclass(frozen=True, slots=True)
class Asked:
    """What came of the queries of a set; times in milliseconds as a client sees them."""

    judged: Sequence[Quality]
    took: Sequence[float]
    errors: int


@dataclass(frozen=True, slots=True)
class Row:
    """What was measured on one set."""

    set: str
    documents: int
    queries: int
    ndcg10: Interval
    recall10: Interval
    mrr10: Interval
    ms_p50: float
    ms_p95: float
    ingest_s: float | None
    errors: int

    @property
    def cells(self) -> list[str]:
        """The row for people."""
        return ["-" if value is None else str(value) for value in vars_of(self).values()]


def vars_of(row: Row) -> dict[str, object]:
    """Return the fields by name, intervals as they are."""
    return {name: getattr(row, name) for name in Row.__slots__}


def ingest(api: Api, wanted: RetrievalSet, console: Console) -> float:
    """Add the whole set and return the seconds until all of it could be found."""
    inside = len(wanted.root) + 1
    archive = zip_of((uri[inside:], text.encode()) for uri, text in wanted.documents)
    start = time.monotonic()
    with console.status(f"{wanted.name}: adding {len(wanted.documents)} documents") as line:

        def show(task: dict[str, Any]) -> None:
            seconds = time.monotonic() - start
            line.update(f"{wanted.name}: {task.get('stage') or task['status']}, {seconds:.0f} s")

        api.add(archive, wanted.root, show)
    return time.monotonic() - start


def ask_all(api: Api, wanted: RetrievalSet, queries: int, console: Console) -> Asked:
    """Ask each query once."""
    judged: list[Quality] = []
    took: list[float] = []
    errors = 0
    told = f"{wanted.name}: asking"
    for query in track(wanted.queries[:queries], told, console=console, transient=True):
        target = query.get("target_uri") or wanted.root
        start = time.perf_counter()
        try:
            hits = api.find(query["query"], target_uri=target, level=2, limit=DEPTH)
        except ServerFailedError:
            hits, errors = [], errors + 1
        took.append(1000 * (time.perf_counter() - start))
        judged.append(quality_of([hit["uri"] for hit in hits], wanted.relevant[query["id"]]))
    return Asked(judged, took, errors)


def row_of(wanted: RetrievalSet, asked: Asked, ingest_s: float | None) -> Row:
    """Return the row of the table."""
    return Row(
        wanted.name,
        len(wanted.documents),
        len(asked.judged),
        interval_of([one.ndcg for one in asked.judged]),
        interval_of([one.recall for one in asked.judged]),
        interval_of([one.mrr for one in asked.judged]),
        round(quantile(asked.took, 0.5), 1),
        round(quantile(asked.took, 0.95), 1),
        None if ingest_s is None else round(ingest_s, 1),
        asked.errors,
    )


@contextmanager
def folders(arguments: argparse.Namespace) -> Iterator[Kept]:
    """Give where the servers put their data: kept, or gone at the end."""
    if arguments.reuse is not None or arguments.keep is not None:
        root = arguments.reuse or arguments.keep
        yield Kept(root, arguments.reuse is not None, arguments.provider)
        return
    with tempfile.TemporaryDirectory(prefix="contextfind-quality-") as work:
        yield Kept(Path(work))


@dataclass(frozen=True, slots=True)
class Plan:
    """How every set is measured; queries: at most so many of each."""

    kept: Kept
    queries: int


def measure(plan: Plan, wanted: RetrievalSet, console: Console) -> tuple[Row, Asked]:
    """Run a server for one set: what another set added must not slow it down or colour it."""
    kept, queries = plan.kept, plan.queries
    folder, there = kept.place(wanted)
    settings = {"CONTEXTFIND_EMBEDDING__PROVIDER": kept.provider}
    with Server(folder, settings) as server, Api(server.url, server.key) as api:
        seconds = None
        if not there:
            seconds = ingest(api, wanted, console)
            kept.note(folder, wanted)
        asked = ask_all(api, wanted, queries, console)
    return row_of(wanted, asked, seconds), asked


def fingerprint(wanted: RetrievalSet, provider: str) -> str:
    """Return what figures must have in common to be compared."""
    return wanted.fingerprint if provider == "local" else f"{wanted.fingerprint} {provider}"


def remembered(made_of: str, row: Row, asked: Asked) -> Remembered:
    """Return the set as the baseline keeps it."""
    return Remembered(
        made_of,
        datetime.now(UTC).date().isoformat(),
        f"{platform.machine()}, {platform.system()}, Python {platform.python_version()}",
        round(row.ndcg10.mean, 4),
        round(row.recall10.mean, 4),
        round(row.mrr10.mean, 4),
        packed([one.ndcg for one in asked.judged]),
    )


def table_of(rows: Sequence[Row]) -> Table:
    """Return the rows as a table for people."""
    title = "Retrieval quality, find at level 2, limit 10; mean [95 % interval]"
    table = Table(title=title, box=None, collapse_padding=True)
    heads = ("set", "docs", "asked", "nDCG@10", "recall@10", "MRR@10")
    for head in (*heads, "p50 ms", "p95", "ingest s", "errors"):
        table.add_column(head, justify="left" if head == "set" else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row.cells)
    return table


def arguments_of() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="make bench-quality", description=__doc__.splitlines()[0] if __doc__ else ""
    )
    parser.add_argument("sets", nargs="+", type=Path)
    parser.add_argument("--queries", type=int, help="only the first N of a set")
    parser.add_argument(
        "--provider", default="local", choices=["local", "hash"], help="hash: to try the benchmark"
    )
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    parser.add_argument("--baseline", type=Path, default=BASELINE, help="compare with this file")
    parser.add_argument(
        "--write-baseline", action="store_true", help="the figures of this run become the baseline"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--keep",
        type=Path,
        metavar="DIR",
        help="keep what was ingested there, and use it again while neither documents nor code changed",
    )
    where.add_argument(
        "--reuse",
        type=Path,
        metavar="DIR",
        help="like --keep, but use it again even if the code that reads and cuts documents changed",
    )
    arguments = parser.parse_args()
    if arguments.write_baseline and arguments.queries is not None:
        parser.error("--write-baseline needs all queries; leave --queries out")
    return arguments


def main() -> int:
    """Measure the sets named on the command line; 1 when a set fell or a find failed."""
    arguments = arguments_of()
    console = screen(stderr=True)
    known = read_baseline(arguments.baseline)
    rows: list[Row] = []
    found: dict[str, Remembered] = {}
    verdicts = []
    with folders(arguments) as kept:
        plan = Plan(kept, arguments.queries or sys.maxsize)
        for folder in arguments.sets:
            wanted = read_set(folder)
            row, asked = measure(plan, wanted, console)
            rows.append(row)
            made_of = fingerprint(wanted, arguments.provider)
            found[wanted.name] = remembered(made_of, row, asked)
            ndcg = [one.ndcg for one in asked.judged]
            verdicts.append(verdict_on(wanted.name, made_of, ndcg, known))
            console.print(f"{row.set}: nDCG@10 {row.ndcg10}", highlight=False, markup=False)
    console.print(table_of(rows))
    say(verdict.line for verdict in verdicts)
    if arguments.json is not None:
        text = json.dumps([asdict(row) for row in rows], indent=1)
        arguments.json.write_text(text + "\n", encoding="utf-8")
    failed = any(row.errors for row in rows)
    if arguments.write_baseline and not failed:
        write_baseline(arguments.baseline, found)
        return 0
    return int(failed or any(verdict.fell for verdict in verdicts))


def say(lines: Iterator[str]) -> None:
    """Print lines on stdout as they are."""
    console = Console(soft_wrap=True)
    for line in lines:
        console.print(line, highlight=False, markup=False)


if __name__ == "__main__":
    sys.exit(main())
