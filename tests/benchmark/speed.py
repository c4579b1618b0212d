"""How fast a find is: a real server with the hash embedder over generated documents.

    make bench-speed N=10000

Prints p50 and p95 in milliseconds as a client sees them, finds per second, and the ratio to a bare FastAPI route with
an answer of the same size, measured in the same run with the same client. Nothing here passes or fails: the machine
decides about the figures, the ratio is what can be compared.
"""

import argparse
import http.client
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from rich.console import Console
from rich.table import Table

from contextfind.answering.measures import quantile
from examples.screen import screen
from examples.serving import Api, Server, free_port, zip_of
from tests.benchmark.generated import AREAS, Library

HASH_EMBEDDER = {"CONTEXTFIND_EMBEDDING__PROVIDER": "hash"}  # instant: the model is not measured
FIND = "/api/v1/search/find"
CONCURRENCY = (1, 8)
WARM_UP = 50  # finds before anything is measured
MEMORY_AREAS = 1  # of ten: a tenth of the documents are memories, for the filter by type
Body = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Target:
    """Where a request goes."""

    url: str
    path: str
    key: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """What one kind of find took at one concurrency; ratio: p50 over that of the bare route."""

    kind: str
    concurrency: int
    finds: int
    ms_p50: float
    ms_p95: float
    per_second: float
    answer_bytes: int
    ratio: float = 1.0


def roots() -> list[str]:
    """Return the directory of each area."""
    memories = [f"viking://user/default/memories/area-{n:02d}" for n in range(MEMORY_AREAS)]
    return memories + [
        f"viking://resources/library/area-{n:02d}" for n in range(MEMORY_AREAS, AREAS)
    ]


def ingest(api: Api, library: Library, console: Console) -> float:
    """Add every area with tags of its own; return the seconds until all could be found."""
    start = time.monotonic()
    with console.status("adding") as line:
        for number, root in enumerate(roots()):
            inside = [one for one in library.documents if one.area == number]
            archive = zip_of((one.path, one.text.encode()) for one in inside)

            def show(task: dict[str, Any], root: str = root) -> None:
                seconds = time.monotonic() - start
                line.update(f"{root}: {task.get('stage') or task['status']}, {seconds:.0f} s")

            parity = "even" if number % 2 == 0 else "odd"
            api.add(archive, root, show, [f"area={number:02d}", f"parity={parity}"])
    return time.monotonic() - start


def bodies_of(library: Library, count: int) -> dict[str, list[Body]]:
    """Return the request bodies of every kind of find."""
    questions = library.questions(count)
    places = library.topics(count, roots())
    pairs = list(zip(questions, places, strict=True))
    return {
        "plain": [{"query": text} for text in questions],
        "subtree": [{"query": text, "target_uri": place} for text, place in pairs],
        "type filter": [{"query": text, "context_type": "memory"} for text in questions],
        "tag filter": [{"query": text, "tags": ["parity=odd"]} for text in questions],
        "read_content": [{"query": text, "read_content": True} for text in questions],
    }


def send_all(target: Target, bodies: Sequence[Body]) -> tuple[list[float], int]:
    """Send the bodies one after another on one connection; milliseconds each, mean answer size."""
    place = urlsplit(target.url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=60)
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {target.key}"}
    took: list[float] = []
    size = 0
    for body in bodies:
        data = json.dumps(body).encode()
        start = time.perf_counter()
        connection.request("POST", target.path, data, headers)
        answer = connection.getresponse()
        size += len(answer.read())
        took.append(1000 * (time.perf_counter() - start))
        if answer.status != http.client.OK:
            raise RuntimeError(f"{target.path} answered {answer.status} to {body!r}")
    connection.close()
    return took, size // max(len(bodies), 1)


def measure(kind: str, target: Target, bodies: Sequence[Body], concurrency: int) -> Row:
    """Send the bodies over `concurrency` connections at a time and return the row."""
    shares = [bodies[number::concurrency] for number in range(concurrency)]
    start = time.perf_counter()
    with ThreadPoolExecutor(concurrency) as pool:
        answers = list(pool.map(lambda share: send_all(target, share), shares))
    seconds = time.perf_counter() - start
    took = [one for share, _ in answers for one in share]
    return Row(
        kind,
        concurrency,
        len(took),
        round(quantile(took, 0.5), 2),
        round(quantile(took, 0.95), 2),
        round(len(took) / seconds, 1),
        sum(size for _, size in answers) // concurrency,
    )


@contextmanager
def bare_route(size: int) -> Iterator[Target]:
    """Run the yardstick in a process of its own."""
    port = free_port()
    command = [sys.executable, "-m", "tests.benchmark.yardstick", str(port), str(size)]
    process = subprocess.Popen(command)  # noqa: S603 - our own module
    target = Target(f"http://127.0.0.1:{port}", "/find")
    try:
        for _ in range(100):
            with suppress(OSError):
                send_all(target, [{"query": "ready?"}])
                break
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.1)
        yield target
    finally:
        process.terminate()
        process.wait()


def measure_all(find: Target, library: Library, count: int) -> list[Row]:
    """Measure every kind of find at every concurrency, each against the bare route."""
    kinds = bodies_of(library, count)
    send_all(find, kinds["plain"][:WARM_UP])
    rows: list[Row] = []
    size = send_all(find, kinds["plain"][:WARM_UP])[1]
    with bare_route(size) as bare:
        send_all(bare, kinds["plain"][:WARM_UP])
        for concurrency in CONCURRENCY:
            floor = measure("bare route", bare, kinds["plain"], concurrency)
            rows.append(floor)
            for kind, bodies in kinds.items():
                row = measure(kind, find, bodies, concurrency)
                rows.append(Row(**{**asdict(row), "ratio": round(row.ms_p50 / floor.ms_p50, 2)}))
    return rows


def table_of(rows: Sequence[Row], documents: int) -> Table:
    """Return the rows as a table for people."""
    table = Table(title=f"Finds over {documents} documents, hash embedder, limit 10")
    for head in ("find", "at once", "finds", "ms p50", "ms p95", "per second", "bytes", "ratio"):
        table.add_column(head, justify="left" if head == "find" else "right")
    for row in rows:
        table.add_row(*(str(value) for value in asdict(row).values()))
    return table


def main() -> int:
    """Generate, add, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--finds", type=int, default=400, help="per kind and concurrency")
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    arguments = parser.parse_args()
    console = screen(stderr=True)
    library = Library(arguments.documents)
    with (
        tempfile.TemporaryDirectory(prefix="contextfind-speed-") as work,
        Server(Path(work), HASH_EMBEDDER) as server,
        Api(server.url, server.key) as api,
    ):
        seconds = ingest(api, library, console)
        rows = measure_all(Target(server.url, FIND, server.key), library, arguments.finds)
    console.print(table_of(rows, arguments.documents))
    console.print(
        f"ingest: {seconds:.1f} s, {arguments.documents / seconds:.0f} documents a second"
    )
    result = {
        "documents": arguments.documents,
        "ingest_s": round(seconds, 1),
        "rows": [asdict(row) for row in rows],
    }
    text = json.dumps(result, indent=1)
    Console(soft_wrap=True).print(text, highlight=False, markup=False)
    if arguments.json is not None:
        arguments.json.write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
