"""What more data costs: the figures of several speed runs side by side, as Markdown.

    .venv/bin/python -m tests.benchmark.growth 10k.json 100k.json 1m.json

Each file is what `make bench-speed ARGS="--json FILE"` wrote; the fewest documents come first.
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

Run = Mapping[str, Any]

_FIGURES: Mapping[str, Callable[[Run], float]] = {
    "import: records a second": lambda run: run["loaded"]["records"] / run["loaded"]["import_s"],
    "import: peak memory, MiB": lambda run: run["loaded"]["import_peak_mib"],
    "data directory after it, MiB": lambda run: run["loaded"]["disk_mib"],
    "without an index: first answer, s": lambda run: run["build"]["first_answer_s"],
    "complete answers, s": lambda run: run["build"]["complete_s"],
    "graphs drawn, s": lambda run: run["build"]["drawn_s"],
    "find meanwhile, p95 ms": lambda run: run["build"]["meanwhile_find_p95_ms"],
    "peak memory of all processes, MiB": lambda run: run["build"]["peak_all_mib"],
    "with its index: /health, s": lambda run: run["opening"]["health_s"],
    "first answer, s ": lambda run: run["opening"]["first_answer_s"],
    "memory, MiB": lambda run: run["opening"]["rss_mib"],
    "without mapped files, MiB": lambda run: run["opening"]["anonymous_mib"],
    "memory after 20,000 finds over that after 2,000": lambda run: run["memory"]["ratio"],
    "ingest: files a second": lambda run: run["ingest"]["files_per_s"],
    "find p95 during it over idle": lambda run: run["ingest"]["find_p95_ratio"],
    "/health p99 during it, ms": lambda run: run["ingest"]["health_p99_ms"],
}


def tables(runs: Sequence[Run]) -> str:
    """Return a table for each concurrency, one of recall, and one of everything else; a column per run."""
    runs = sorted(runs, key=lambda run: int(run["documents"]))
    found = [run for run in runs if run.get("finds")]
    levels = sorted({row["concurrency"] for run in found for row in run["finds"]})
    parts = [_finds(found, concurrency) for concurrency in levels]
    parts += [_recall([run for run in runs if "recall" in run]), _others(runs)]
    return "\n".join(part for part in parts if part)


def _finds(runs: Sequence[Run], concurrency: int) -> str:
    """Return p50, how often it holds that of the bare route and of the plain find, CPU, and the rate."""
    heads = [
        f"{run['documents']:,}: {name}"
        for run in runs
        for name in ("p50 ms", "x bare", "x plain", "CPU ms", "finds/s")
    ]
    lines = [_row([f"{concurrency} at once", *heads]), _rule(1 + len(heads))]
    rows = [_rows_of(run, concurrency) for run in runs]
    for kind in rows[0]:
        cells = [cell for each in rows for cell in _cells(each.get(kind), each["plain"])]
        lines.append(_row([kind, *cells]))
    return "\n".join([*lines, ""])


def _rows_of(run: Run, concurrency: int) -> dict[str, Mapping[str, Any]]:
    return {row["kind"]: row for row in run["finds"] if row["concurrency"] == concurrency}


def _cells(row: Mapping[str, Any] | None, plain: Mapping[str, Any]) -> list[str]:
    if row is None:
        return [""] * 5
    figures = (row["ms_p50"], row["ratio"], row["ms_p50"] / plain["ms_p50"], row["cpu_ms"])
    return [*(f"{figure:.2f}" for figure in figures), f"{row['per_second']:,.0f}"]


def _recall(runs: Sequence[Run]) -> str:
    if not runs:
        return ""
    heads = ["recall@10", *(f"{run['documents']:,}" for run in runs)]
    kinds = runs[0]["recall"]
    lines = [
        _row([kind, *(f"{run['recall'].get(kind, float('nan')):.3f}" for run in runs)])
        for kind in kinds
    ]
    return "\n".join([_row(heads), _rule(len(heads)), *lines, ""])


def _others(runs: Sequence[Run]) -> str:
    heads = ["", *(f"{run['documents']:,}" for run in runs)]
    lines = [_row(heads), _rule(len(heads))]
    for name, figure in _FIGURES.items():
        cells = []
        for run in runs:
            try:
                cells.append(f"{figure(run):,.2f}".removesuffix(".00"))
            except KeyError:  # this run left the stage out
                cells.append("")
        if any(cells):
            lines.append(_row([name.strip(), *cells]))
    return "\n".join([*lines, ""])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _rule(columns: int) -> str:
    return "|---" * columns + "|"


if __name__ == "__main__":
    sys.stdout.write(tables([json.loads(Path(name).read_text("utf-8")) for name in sys.argv[1:]]))
