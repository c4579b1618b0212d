"""The index in PostgreSQL beside the embedded one, on a made-up library: what a find takes in each, and what it finds.

`python -m tests.benchmark.postgres_index --documents 100000 --schema bench` loads the library into a schema of the
tests' server once and asks both; the schema stays for the next run (`--drop` takes it away). One process, no HTTP.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

import numpy as np

from contextfind.adapters.embedded.index import EmbeddedIndex
from contextfind.adapters.embedded.rules import IndexRules
from contextfind.adapters.local.hash import HashEmbedder
from contextfind.adapters.local.words import WordTokenizer
from contextfind.adapters.postgres.database import Database
from contextfind.adapters.postgres.index import PostgresIndex
from contextfind.adapters.postgres.place import Place
from contextfind.domain.documents import TEXT_RECIPE
from contextfind.domain.filters import Between, Everything, Filter, OneOf, Tagged
from contextfind.domain.records import RecordId
from contextfind.domain.scope import Scope
from contextfind.domain.scoring import ScoreRules
from contextfind.domain.uri import ROOT, Uri
from contextfind.ports import Probe, SearchIndex
from contextfind.ports.store import Change
from contextfind.retrieval.frontier import WalkRules
from contextfind.retrieval.walk import Ask, HierarchicalRetriever
from tests import databases
from tests.benchmark.forest import USER
from tests.benchmark.generated import DAYS, DIMENSION, END, Library
from tests.benchmark.kinds import RECENT
from tests.benchmark.loading import entry_of

ACCOUNT = "default"  # has more than half of everything
BATCH = 2_000  # changes followed at once
LIMIT = 10
FINGERPRINT = "bench"


@dataclass(frozen=True, slots=True)
class Engine:
    """An index under its name, and what asks it."""

    name: str
    index: SearchIndex
    retriever: HierarchicalRetriever


def changes(library: Library) -> Iterator[Change]:
    """Yield the log of the library, a change for each record."""
    for number, node in enumerate(library.nodes(), start=1):
        copy = entry_of(node).copy
        record = replace(copy.record, id=RecordId(number))
        yield Change(number, record.id, record, copy.passages, node.vector[None, :])


async def fill(index: SearchIndex, log: Iterator[Change]) -> float:
    """Have an index follow what it does not know yet; return the seconds that took it."""
    spent, there = 0.0, await index.position()
    batch: list[Change] = []

    async def hand_over() -> None:
        nonlocal spent
        begun = time.perf_counter()
        await index.follow(batch)
        spent += time.perf_counter() - begun
        batch.clear()

    for change in log:
        if change.position > there:
            batch.append(change)
        if len(batch) == BATCH:
            await hand_over()
    await hand_over()
    return spent


async def measure(
    engines: Sequence[Engine], asks: Sequence[Ask]
) -> tuple[dict[str, list[float]], dict[str, list[set[int]]]]:
    """Ask all engines everything in turns; return what each find took in ms, and its best hits."""
    took: dict[str, list[float]] = {engine.name: [] for engine in engines}
    found: dict[str, list[set[int]]] = {engine.name: [] for engine in engines}
    for ask in asks:
        for engine in engines:
            begun = time.perf_counter()
            walk = await engine.retriever.retrieve(ask)
            took[engine.name].append(1_000 * (time.perf_counter() - begun))
            found[engine.name].append({scored.hit.id for scored in walk.ranked(LIMIT)})
    return took, found


def kinds(library: Library) -> dict[str, tuple[Filter, Uri]]:
    """Return what finds are limited to."""
    place = Uri.parse(library.places(ACCOUNT, 1)[0])
    tags = {f"tag of {name}": Tagged(f"{name}=yes") for name in ("hundredth", "tenth", "most")}
    return {
        "everything": (Everything(), ROOT),
        **{name: (where, ROOT) for name, where in tags.items()},
        "time, a tenth": (Between("updated_at", END - timedelta(days=DAYS * RECENT), None), ROOT),
        "memories": (OneOf("context_type", frozenset({"memory"})), ROOT),
        "subtree": (Everything(), place),
    }


async def run(library: Library, questions: int, schema: str) -> None:
    """Load, ask and print."""
    embedder, tokenizer = HashEmbedder(TEXT_RECIPE, DIMENSION), WordTokenizer()
    graphless = replace(IndexRules(), graphs=False, exact_below=1 << 40)
    embedded = await EmbeddedIndex.open(None, DIMENSION, FINGERPRINT, tokenizer)
    exact = await EmbeddedIndex.open(None, DIMENSION, FINGERPRINT, tokenizer, graphless)
    database = await Database.open(Place(databases.server(), schema))
    postgres = await PostgresIndex.open(database, DIMENSION, FINGERPRINT, tokenizer)
    for name, index in (("embedded", embedded), ("exact", exact), ("postgres", postgres)):
        print(f"{name}: followed in {await fill(index, changes(library)):.1f} s", flush=True)  # noqa: T201
    await embedded.rest()
    begun = time.perf_counter()
    await postgres.rest()
    print(f"postgres: graph drawn in {time.perf_counter() - begun:.1f} s")  # noqa: T201
    rules = (embedder.calibration, ScoreRules(), WalkRules())
    engines = [
        Engine(name, index, HierarchicalRetriever(index, *rules))
        for name, index in (("exact", exact), ("embedded", embedded), ("postgres", postgres))
    ]
    texts = library.questions(ACCOUNT, questions)
    vectors = await embedder.embed(texts, "query")
    for kind, (where, target) in kinds(library).items():
        scope = Scope(ACCOUNT, USER, (target,))
        asks = [
            Ask(scope, where, LIMIT, vector, tuple(tokenizer.terms(text)))
            for text, vector in zip(texts, vectors, strict=True)
        ]
        took, found = await measure(engines, asks)
        base = float(np.median(took["embedded"]))
        for engine in engines[1:]:
            shares = [
                len(got & right) / len(right) if right else 1.0
                for got, right in zip(found[engine.name], found["exact"], strict=True)
            ]
            p50, p95 = np.percentile(took[engine.name], (50, 95))
            print(  # noqa: T201
                f"{kind:18} {engine.name:9} p50 {p50:6.1f} ms ({p50 / base:4.1f}x) p95 {p95:6.1f}"
                f"  recall@10 {np.mean(shares):.4f}",
                flush=True,
            )
        first = asks[0]
        probe = Probe(first.scope, where, WalkRules().candidates, first.vector, first.terms)
        [told] = await postgres.explain([probe])
        print(f"{'':18} {told}")  # noqa: T201
    print(postgres.stats())  # noqa: T201
    for closing in (embedded, exact, postgres, database):
        await closing.aclose()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--schema", default="bench")
    parser.add_argument("--drop", action="store_true")
    given = parser.parse_args()
    asyncio.run(run(Library(given.documents), given.questions, given.schema))
    if given.drop:
        databases.drop(given.schema)
    sys.exit(0)
