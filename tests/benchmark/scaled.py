"""PostgreSQL beside the embedded engine, in one run: the same library, the same finds, over HTTP.

    make bench-postgres N=100000
    make bench-postgres N=100000 ARGS="--keep DIR --processes 1,2,4 --json FILE"

Two servers stand side by side, one on a data directory, one on a schema of the tests' PostgreSQL (its settings are in
tests/databases.py: fsync is off, which finds do not notice; CONTEXTFIND_TEST_BUFFERS=4GB in the environment of whoever
starts it gives it the memory of a database, and with CONTEXTFIND_TEST_HOME=DIR a --schema is there the next time). They are asked the same finds in turns. What PostgreSQL finds
is held to the exact answers of the embedded engine. docs/scaling.md has the figures.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from contextfind.answering.measures import quantile
from examples.screen import screen
from examples.serving import ServerFailedError
from tests import databases
from tests.benchmark.clients import Clients, Load, sent
from tests.benchmark.enduring import key_lookup
from tests.benchmark.finding import KeyOf, hits_of, index_figures, recall
from tests.benchmark.forest import ACCOUNTS, USER
from tests.benchmark.generated import Library
from tests.benchmark.kinds import FIND, SMALL, Kind, kinds_of
from tests.benchmark.loading import SETTINGS, Place, load
from tests.benchmark.speed_tables import print_figures
from tests.benchmark.watched import Watched, environment_of, program

SEED = 7
TURNS = 4
CALLERS = 8
EXACT = {"CONTEXTFIND_INDEX__GRAPHS": "false"}
_WARM = 20  # finds before any is measured
_ASKED_SECONDS = 20.0  # that a server is asked to wait
_FOLLOWED_SECONDS = 7_200.0  # until an index of a million records stands


class Pair:
    """A loaded data directory, and a schema that holds the same."""

    def __init__(self, place: Place, schema: str) -> None:
        self.place = place
        self.shared = {
            **SETTINGS,
            "CONTEXTFIND_STORAGE__BACKEND": "postgres",
            "CONTEXTFIND_STORAGE__DSN": databases.server(),
            "CONTEXTFIND_STORAGE__DB_SCHEMA": schema,
        }

    def fill(self) -> float:
        """Move all of it into the schema by an export, and return the seconds of the import."""
        file = self.place.folder / "moved.jsonl.zst"
        self._run(["export", str(file)], SETTINGS)
        began = time.perf_counter()
        self._run(["import", str(file)], self.shared)
        file.unlink()
        return time.perf_counter() - began

    def embedded(self, more: Mapping[str, str] | None = None) -> Watched:
        """Return a server on the directory."""
        return Watched(self.place.folder, self.place.keys, {**SETTINGS, **(more or {})})

    def on_postgres(self) -> Watched:
        """Return a server on the schema."""
        return Watched(self.place.folder, self.place.keys, self.shared)

    def _run(self, command: Sequence[str], settings: Mapping[str, str]) -> None:
        environment = environment_of(self.place.folder, self.place.keys, settings)
        subprocess.run(  # noqa: S603 - our own program, no input from outside
            [*program(), *command], env=environment, cwd=self.place.folder, check=True
        )


def main() -> int:
    """Measure and tell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--finds", type=int, default=200, help="per kind")
    parser.add_argument("--processes", default="1,2", help="API processes on one database")
    parser.add_argument("--keep", type=Path, help="a directory for the loaded data, used again")
    parser.add_argument("--schema", help="one that is kept, and used again")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    told: dict[str, Any] = {
        "machine": f"{os.cpu_count()} cores, {platform.machine()}",
        "date": datetime.now(UTC).isoformat(timespec="minutes"),
        "documents": asked.documents,
    }
    with _folder(asked.keep) as folder:
        _measure(asked, folder, told, screen())
    if asked.json is not None:
        asked.json.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    return 0


def _measure(
    asked: argparse.Namespace, folder: Path, told: dict[str, Any], console: Console
) -> None:
    library = Library(asked.documents, SEED)
    kinds = kinds_of(library, asked.finds)
    place = Place.kept(folder, asked.documents, SEED) or load(library, folder, SEED)
    schema = asked.schema or f"bench_{os.getpid()}"
    pair = Pair(place, schema)
    try:
        if not (asked.schema and databases.holds(schema)):
            told["import_s"] = round(pair.fill(), 1)
        with pair.embedded() as embedded, pair.on_postgres() as shared:
            keys = {server: _keys(server) for server in (embedded, shared)}
            told["followed_s"] = round(_followed(shared) + _drawn(shared), 1)
            told["finds"] = _in_turns(keys, kinds)
            found = hits_of(shared, kinds, keys[shared], asked.finds)
        with pair.embedded(EXACT) as exact:
            _followed(exact)
            right = hits_of(exact, kinds, _keys(exact), asked.finds)
        told["recall"] = recall(found, right)
        told["processes"] = {
            count: _together(pair, kinds[0], count)
            for count in map(int, asked.processes.split(","))
        }
    finally:
        if not asked.schema:
            databases.drop(schema)
    for title, figures in told["finds"].items():
        print_figures(console, title, figures)
    print_figures(console, "recall@10 against the embedded engine's exact answers", told["recall"])
    for count, figures in told["processes"].items():
        print_figures(console, f"{count} API processes, {CALLERS} callers", figures)


def _in_turns(keys: Mapping[Watched, KeyOf], kinds: Sequence[Kind]) -> dict[str, dict[str, float]]:
    """Return for each kind the p50 and p95 of both servers, one caller, and how they compare."""
    told: dict[str, dict[str, float]] = {}
    for kind in kinds:
        loads = {s: Load(s.port, FIND, kind.bodies, key(kind.account)) for s, key in keys.items()}
        ms: dict[Watched, list[float]] = {server: [] for server in loads}
        failed = 0
        for one in loads.values():
            sent(replace(one, bodies=kind.bodies[:_WARM]))
        for turn in range(TURNS):
            for server, one in loads.items():
                answers = sent(replace(one, bodies=one.bodies[turn::TURNS]))
                ms[server] += answers.ms
                failed += answers.failed
        embedded, shared = ms.values()
        told[kind.name] = {
            "embedded p50": round(quantile(embedded, 0.5), 2),
            "postgres p50": round(quantile(shared, 0.5), 2),
            "embedded p95": round(quantile(embedded, 0.95), 2),
            "postgres p95": round(quantile(shared, 0.95), 2),
            "times": round(quantile(shared, 0.5) / quantile(embedded, 0.5), 2),
            "failed": failed,
        }
    return told


def _together(pair: Pair, kind: Kind, count: int) -> dict[str, float]:
    """Return finds a second of so many processes on one database, the callers spread over them."""
    with ExitStack() as stack:
        servers = [stack.enter_context(pair.on_postgres()) for _ in range(count)]
        loads = [
            Load(
                server.port,
                FIND,
                kind.bodies,
                _keys(server)(kind.account),
                concurrency=max(CALLERS // count, 1),
            )
            for server in servers
        ]
        for one in loads:
            sent(replace(one, bodies=kind.bodies[:_WARM]))
        began = time.perf_counter()
        clients = [stack.enter_context(Clients(one)) for one in loads]
        ended = [one.result() for one in clients]
        seconds = time.perf_counter() - began
    ms = [one for answers in ended for one in answers.ms]
    return {
        "finds/s": round(len(ms) / seconds, 1),
        "p50": round(quantile(ms, 0.5), 2),
        "p95": round(quantile(ms, 0.95), 2),
        "failed": sum(answers.failed for answers in ended),
    }


def _keys(server: Watched) -> KeyOf:
    return key_lookup(server, (ACCOUNTS[0], SMALL), USER)


def _followed(server: Watched) -> float:
    """Return the seconds until the index shows everything."""
    began = time.perf_counter()
    with server.api() as api:
        while True:
            try:
                api.call("POST", "/api/v1/system/wait", json={"timeout": _ASKED_SECONDS})
            except ServerFailedError:  # not yet
                if time.perf_counter() - began > _FOLLOWED_SECONDS:
                    raise
            else:
                return time.perf_counter() - began


def _drawn(server: Watched) -> float:
    """Return the seconds until the vectors are in a graph."""
    began = time.perf_counter()
    while time.perf_counter() - began < _FOLLOWED_SECONDS:
        if index_figures(server)["graph_rows"] > 0:
            break
        time.sleep(1.0)  # noqa: TID251 - a benchmark waits for another process
    return time.perf_counter() - began


@contextmanager
def _folder(kept: Path | None) -> Iterator[Path]:
    if kept is not None:
        yield kept
        return
    with tempfile.TemporaryDirectory(prefix="contextfind-scaled-") as folder:
        yield Path(folder)


if __name__ == "__main__":
    sys.exit(main())
