"""The figures of a speed run as tables for people."""

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

from tests.benchmark.finding import Row

_HEADS = ("at once", "finds", "p50 ms", "p95 ms", "p99 ms", "finds/s", "CPU ms", "bytes", "ratio")


def print_finds(console: Console, rows: Sequence[Row], documents: int) -> None:
    """Print a line for each kind of find and concurrency."""
    table = Table(title=f"Finds among {documents:,} files, hash embedder, limit 10")
    table.add_column("find")
    for head in _HEADS:
        table.add_column(head, justify="right")
    table.add_column("the index chose")
    for row in rows:
        failed = f" ({row.failed} failed)" if row.failed else ""
        table.add_row(
            row.kind,
            str(row.concurrency),
            f"{row.finds}{failed}",
            *(f"{value:.2f}" for value in (row.ms_p50, row.ms_p95, row.ms_p99)),
            f"{row.per_second:.0f}",
            f"{row.cpu_ms:.2f}",
            str(row.answer_bytes),
            f"{row.ratio:.1f}",
            ", ".join(f"{name} {count}" for name, count in row.plans.items()),
        )
    console.print(table)


def print_figures(console: Console, title: str, figures: Mapping[str, object]) -> None:
    """Print one line for each figure."""
    table = Table(title=title, show_header=False)
    table.add_column("figure")
    table.add_column("value", justify="right")
    for name, value in figures.items():
        table.add_row(
            name.replace("_", " "), f"{value:,}" if isinstance(value, int) else f"{value}"
        )
    console.print(table)
