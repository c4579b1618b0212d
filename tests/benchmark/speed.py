"""How fast, how large, how steady: a real server with the hash embedder over a made-up library.

    make bench-speed N=100000
    make bench-speed N=1000000 ARGS="--keep DIR --stages finds,recall --json FILE"

Finds are measured beside a bare FastAPI route that answers as much, in the same run with the same
client; their ratio is what can be compared between machines. Nothing here passes or fails.
docs/benchmarks.md says what each stage does.
"""

import argparse
import json
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from examples.screen import screen
from tests.benchmark.enduring import Report, disk, ingest, key_lookup, memory, opening
from tests.benchmark.finding import (
    Hits,
    KeyOf,
    hits_of,
    index_figures,
    measure_finds,
    recall,
    through_httpx,
)
from tests.benchmark.forest import ACCOUNTS, USER
from tests.benchmark.generated import Library
from tests.benchmark.kinds import SMALL, Kind, kinds_of
from tests.benchmark.loading import SETTINGS, Place, load
from tests.benchmark.speed_tables import print_figures, print_finds
from tests.benchmark.watched import Watched

STAGES = ("build", "memory", "recall", "finds", "ingest", "disk")
SEED = 7
INDEX = "index"  # of the data directory; the server makes it anew
EXACT = {"CONTEXTFIND_INDEX__GRAPHS": "false"}


class Bench:
    """One run over a loaded directory; what it finds out is noted in `told`."""

    def __init__(
        self,
        asked: argparse.Namespace,
        place: Place,
        kinds: list[Kind],
        told: dict[str, Any],
    ) -> None:
        self.told = told
        told["loaded"] = asdict(place.loaded)
        self._options, self._place, self._kinds = asked, place, kinds

    def run(self, report: Report) -> None:
        """Open it without an index and again with one, and go through the stages."""
        if "build" in self._options.stages:
            report("build: opened without an index")
            shutil.rmtree(self._place.folder / "data" / INDEX, ignore_errors=True)
            with self._server() as server:
                self.told["build"] = opening(server, self._kinds[0], self._key_of(server))
        report("opened")
        with self._server() as server:
            keys = self._key_of(server)
            self.told["opening"] = opening(server, self._kinds[0], keys)
            self.told["index"] = index_figures(server)
            hits = self._stages(server, keys, report)
        if "recall" in self._options.stages:
            report("recall: exact answers")
            with self._server(EXACT) as server:
                opening(server, self._kinds[0], self._key_of(server))
                count = self._options.recall_finds
                exact = hits_of(server, self._kinds, self._key_of(server), count)
                self.told["recall"] = recall(hits, exact)

    def _stages(self, server: Watched, keys: KeyOf, report: Report) -> Hits:
        """Go through what one running server is asked; return what it found, to be held to the exact hits."""
        stages, plain = self._options.stages, self._kinds[0]
        hits: Hits = {}
        if "memory" in stages:
            report("memory after many finds")
            self.told["memory"] = memory(server, self._kinds, keys)
        if "recall" in stages:
            report("recall: answers of the graph")
            hits = hits_of(server, self._kinds, keys, self._options.recall_finds)
        if "finds" in stages:
            rows = measure_finds(server, self._kinds, keys, report)
            self.told["finds"] = rows
            report("finds through httpx")
            size = next(row.answer_bytes for row in rows if row.kind == plain.name)
            self.told["through_httpx"] = through_httpx(server, plain, keys, size)
        if "ingest" in stages:
            self.told["ingest"] = ingest(server, plain, keys, self._options.files, report)
        return hits

    def _server(self, more: dict[str, str] | None = None) -> Watched:
        return Watched(self._place.folder, self._place.keys, {**SETTINGS, **(more or {})})

    @staticmethod
    def _key_of(server: Watched) -> KeyOf:
        return key_lookup(server, (ACCOUNTS[0], SMALL), USER)


def show(console: Console, told: Mapping[str, Any]) -> None:
    """Print every figure."""
    titles = {
        "loaded": "Loaded",
        "build": "Opened without an index",
        "opening": "Opened",
        "index": "The index",
        "recall": "recall@10 against exact answers",
        "memory": "Memory of the server",
        "ingest": "Finds beside an ingest",
        "disk": "The data directory",
    }
    if "finds" in told:
        print_finds(console, told["finds"], told["documents"])
        for name, figures in told.get("through_httpx", {}).items():
            print_figures(console, f"Through httpx: {name}", figures)
    for name, title in titles.items():
        if name in told:
            print_figures(console, title, told[name])


@contextmanager
def folder_of(keep: Path | None) -> Iterator[Path]:
    """Give the directory to work in: the one that is kept, or one for this run."""
    if keep is not None:
        yield keep
        return
    with tempfile.TemporaryDirectory(prefix="contextfind-speed-") as work:
        yield Path(work)


def options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--stages", default=",".join(STAGES), help="of " + ", ".join(STAGES))
    parser.add_argument("--finds", type=int, default=400, help="per kind and concurrency")
    parser.add_argument("--recall-finds", type=int, default=200, help="per kind")
    parser.add_argument("--files", type=int, default=5_000, help="of the ingest")
    parser.add_argument("--writes", type=int, default=5_000, help="of which half is deleted")
    parser.add_argument("--keep", type=Path, help="a directory for the loaded data, used again")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    found = parser.parse_args()
    found.stages = [name for name in found.stages.split(",") if name]
    unknown = set(found.stages) - set(STAGES)
    if unknown:
        parser.error(f"unknown stages: {', '.join(sorted(unknown))}")
    return found


def main() -> int:
    """Load, measure, print; what was found out before something failed is not lost."""
    asked = options()
    console = screen(stderr=True)
    told: dict[str, Any] = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": f"{os.cpu_count()} x {platform.processor() or platform.machine()}",
        "documents": asked.documents,
    }
    try:
        with console.status("") as line, folder_of(asked.keep) as folder:
            last = ""

            def report(what: str) -> None:
                nonlocal last
                line.update(what)
                if not console.is_terminal and what != last:
                    console.print(f"{datetime.now(UTC):%H:%M:%S} {what}")
                last = what

            measure(asked, folder, told, report)
    finally:
        show(console, told)
        told["finds"] = [asdict(row) for row in told.get("finds", ())]
        text = json.dumps(told, indent=1)
        Console(soft_wrap=True).print(text, highlight=False, markup=False)
        if asked.json is not None:
            asked.json.write_text(text + "\n", encoding="utf-8")
    return 0


def measure(asked: argparse.Namespace, folder: Path, told: dict[str, Any], report: Report) -> None:
    """Go through the stages that are asked for and note what they tell."""
    if set(asked.stages) - {"disk"}:
        report("making words")
        library = Library(asked.documents, SEED)
        place = Place.kept(folder, asked.documents, SEED)
        if place is None:
            report("loading")
            place = load(library, folder, SEED)
        Bench(asked, place, kinds_of(library, asked.finds), told).run(report)
    if "disk" in asked.stages:
        told["disk"] = disk(asked.writes, report)


if __name__ == "__main__":
    sys.exit(main())
