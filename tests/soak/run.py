"""A day of traffic in some minutes, and whether the server stays as it is: `make soak MINUTES=15`.

One real server with hashed vectors and everything that callers do, at a bounded rate; what is added is
removed again. Every few seconds the process is looked at. Flat is what has the same median in the second
and in the last quarter of the time (`tests/soak/verdict.py`); anything else, an answer that was not
expected, or an end that is not clean makes the exit code 1.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.processes import ServerProcess
from tests.soak.traffic import Books, traffic
from tests.soak.verdict import Finding, Sample, findings

SAMPLE_SECONDS = 5.0
SHOWN = 16  # rows of the table; the others lie in between
END_SECONDS = 120.0
COLUMNS = (
    "minute",
    "rss_mib",
    "anon_mib",
    "handles",
    "threads",
    "tasks",
    "data_mib",
    "log",
    "requests",
)
METRICS = {
    "tasks": "contextfind_event_loop_tasks",
    "log": "contextfind_log_position",
    "requests": "contextfind_request_seconds_count",
}


def sample(server: ServerProcess, begun: float) -> dict[str, float]:
    """Return what the process holds now."""
    assert server.process is not None
    place = Path(f"/proc/{server.process.pid}")
    status = dict(
        line.split(":", 1) for line in (place / "status").read_text().splitlines() if ":" in line
    )
    told = server.http.get("/metrics").text
    return {
        "minute": (time.monotonic() - begun) / 60,
        "rss_mib": _kib(status["VmRSS"]) / 1024,
        "anon_mib": _kib(status["RssAnon"]) / 1024,
        "handles": sum(1 for _ in (place / "fd").iterdir()),
        "threads": int(status["Threads"]),
        "data_mib": _bytes_below(server.data) / 2**20,
        **{name: _sum_of(told, metric) for name, metric in METRICS.items()},
    }


def _kib(line: str) -> int:
    return int(line.split(maxsplit=1)[0])


def _bytes_below(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.lstat().st_size
        except FileNotFoundError:  # tidied up meanwhile
            continue
    return total


def _sum_of(told: str, metric: str) -> float:
    lines = [line for line in told.splitlines() if line.startswith((f"{metric} ", f"{metric}{{"))]
    return sum(float(line.rpartition(" ")[2]) for line in lines)


def soaked(server: ServerProcess, seconds: float, books: Books, console: Console) -> list[Sample]:
    """Return the samples of so many seconds of traffic."""
    begun = time.monotonic()
    samples: list[Sample] = []
    with traffic(server.url, books):
        while time.monotonic() - begun < seconds:
            time.sleep(SAMPLE_SECONDS)  # noqa: TID251 - nothing else to do
            samples.append(sample(server, begun))
            if len(samples) % 12 == 0:
                console.print("  ".join(f"{name} {samples[-1][name]:.0f}" for name in COLUMNS))
    return samples


def table_of(samples: Sequence[Sample]) -> Table:
    table = Table(title="what the server held")
    for name in COLUMNS:
        table.add_column(name, justify="right")
    step = max(len(samples) // SHOWN, 1)
    for one in [*samples[:-1:step], samples[-1]]:
        table.add_row(
            *(f"{one[name]:.1f}" if "mi" in name else f"{one[name]:.0f}" for name in COLUMNS)
        )
    return table


def verdict_of(found: Sequence[Finding], faults: Sequence[str], console: Console) -> bool:
    """Print what was found and return whether all is well."""
    for one in found:
        word = "flat" if one.flat else "GROWS"
        console.print(f"{one.name:<8} {one.before:8.1f} -> {one.after:8.1f}  {word}")
    for fault in faults:
        console.print(fault, style="red", markup=False)
    well = all(one.flat for one in found) and not faults
    console.print("verdict: flat" if well else "verdict: NOT flat")
    return well


def end_of(server: ServerProcess, console: Console) -> list[str]:
    """Stop the server; return what was wrong with that."""
    begun = time.monotonic()
    code = server.stop(END_SECONDS)
    console.print(f"stopped in {time.monotonic() - begun:.1f} s, exit code {code}")
    said = server.output()
    wrong = [line for line in said.splitlines() if "Traceback" in line or " ERROR " in line]
    return [*([f"exit code {code}"] if code else []), *wrong[:10]]


def main() -> int:
    """Run, print, and return the exit code."""
    parser = argparse.ArgumentParser(prog="make soak")
    parser.add_argument("--minutes", type=float, default=15.0)
    parser.add_argument("--keep-log", type=Path, help="where the server's log goes")
    asked = parser.parse_args()
    console, books = Console(width=110), Books()
    with (
        tempfile.TemporaryDirectory() as folder,
        ServerProcess(Path(folder) / "data").start() as server,
    ):
        server.wait_healthy()
        samples = soaked(server, asked.minutes * 60, books, console)
        faults = end_of(server, console)
        if asked.keep_log:
            asked.keep_log.write_text(server.output())
    faults += [f"{count} x {what}" for what, count in books.unexpected.most_common(10)]
    console.print(table_of(samples))
    counted = ", ".join(f"{count} {kind}" for kind, count in books.asked.most_common())
    console.print(f"{asked.minutes:g} minutes, {books.asked.total()} requests: {counted}")
    return 0 if verdict_of(findings(samples), faults, console) else 1


if __name__ == "__main__":
    sys.exit(main())
