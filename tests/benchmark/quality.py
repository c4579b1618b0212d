"""How good the answers are: nDCG@10, recall@10, MRR@10 of a real server on retrieval sets.

    make bench-quality DATA="path/to/set1 path/to/set2"

A set is a folder with corpus.jsonl {uri, title, text}, queries.jsonl {id, query, target_uri?} and qrels.jsonl
{id, uri, rel}; its addresses lie below viking://resources/SET, where SET is the folder's name. The server runs with its
default configuration. Every set is uploaded as one zip, then each query is one find at level 2, limit 10, one at a time.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from examples.screen import screen
from examples.serving import Api, Server, ServerFailedError, zip_of
from tests.benchmark.measures import DEPTH, Quality, mean_of, quality_of, quantile


@dataclass(frozen=True, slots=True)
class RetrievalSet:
    """A corpus with judged queries; documents are (address, text)."""

    name: str
    documents: Sequence[tuple[str, str]]
    queries: Sequence[Mapping[str, str]]
    relevant: Mapping[str, Mapping[str, int]]

    @property
    def root(self) -> str:
        """Where its documents lie."""
        return f"viking://resources/{self.name}"


@dataclass(frozen=True, slots=True)
class Row:
    """What was measured on one set; times as a client sees them."""

    set: str
    documents: int
    queries: int
    ndcg10: float
    recall10: float
    mrr10: float
    ms_p50: float
    ms_p95: float
    ingest_s: float
    errors: int


def read_set(folder: Path) -> RetrievalSet:
    """Read the three files of a set; queries without a judgement are left out."""
    relevant: dict[str, dict[str, int]] = {}
    for row in read_lines(folder / "qrels.jsonl"):
        relevant.setdefault(row["id"], {})[row["uri"]] = row["rel"]
    return RetrievalSet(
        folder.name,
        [(row["uri"], row["text"]) for row in read_lines(folder / "corpus.jsonl")],
        [row for row in read_lines(folder / "queries.jsonl") if row["id"] in relevant],
        relevant,
    )


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a JSON-lines file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


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


def ask_all(api: Api, wanted: RetrievalSet, queries: int) -> tuple[list[Quality], list[float], int]:
    """Ask each query once; return the judgements, the milliseconds and how many failed."""
    judged: list[Quality] = []
    took: list[float] = []
    errors = 0
    for query in wanted.queries[:queries]:
        target = query.get("target_uri") or wanted.root
        start = time.perf_counter()
        try:
            hits = api.find(query["query"], target_uri=target, level=2, limit=DEPTH)
        except ServerFailedError:
            hits, errors = [], errors + 1
        took.append(1000 * (time.perf_counter() - start))
        judged.append(quality_of([hit["uri"] for hit in hits], wanted.relevant[query["id"]]))
    return judged, took, errors


def measure(api: Api, folder: Path, queries: int, console: Console) -> Row:
    """Add one set, ask its queries, and return the row of the table."""
    wanted = read_set(folder)
    seconds = ingest(api, wanted, console)
    judged, took, errors = ask_all(api, wanted, queries)
    mean = mean_of(judged)
    return Row(
        wanted.name,
        len(wanted.documents),
        len(judged),
        round(mean.ndcg, 4),
        round(mean.recall, 4),
        round(mean.mrr, 4),
        round(quantile(took, 0.5), 1),
        round(quantile(took, 0.95), 1),
        round(seconds, 1),
        errors,
    )


def table_of(rows: Sequence[Row]) -> Table:
    """Return the rows as a table for people."""
    table = Table(title="Retrieval quality, find at level 2, limit 10")
    heads = ("set", "documents", "queries", "nDCG@10", "recall@10", "MRR@10")
    for head in (*heads, "ms p50", "ms p95", "ingest s", "errors"):
        table.add_column(head, justify="left" if head == "set" else "right")
    for row in rows:
        table.add_row(*(str(value) for value in asdict(row).values()))
    return table


def main() -> int:
    """Measure the sets named on the command line; 1 when a find failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("sets", nargs="+", type=Path)
    parser.add_argument(
        "--queries", type=int, default=sys.maxsize, help="only the first N of a set"
    )
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    arguments = parser.parse_args()
    console = screen(stderr=True)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="contextfind-quality-") as work:
        for folder in arguments.sets:
            # A server per set: what one set added must not slow down or colour the next.
            data = Path(work) / folder.name
            data.mkdir()
            with Server(data) as server, Api(server.url, server.key) as api:
                rows.append(measure(api, folder.resolve(), arguments.queries, console))
            console.print(rows[-1])
    console.print(table_of(rows))
    text = json.dumps([asdict(row) for row in rows], indent=1)
    Console(soft_wrap=True).print(text, highlight=False, markup=False)
    if arguments.json is not None:
        arguments.json.write_text(text + "\n", encoding="utf-8")
    return int(any(row.errors for row in rows))


if __name__ == "__main__":
    sys.exit(main())
