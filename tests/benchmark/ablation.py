"""What each ingredient of the scorer is worth: nDCG@10 with it left out, in process, paired with the full one.

    make bench-ablation DATA="path/to/set1 path/to/set2"

What a set is: see `sets`. Documents are ingested, embedded, indexed and searched by the services of the house on a store
in memory and the embedded index. Vectors are remembered in a file below --cache, so a second run, or a variant
that embeds the same texts, asks the model for nothing. The answer is Markdown on stdout.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.progress import track

from contextfind.adapters.embedded.index import EmbeddedIndex
from contextfind.adapters.local.words import WordTokenizer
from contextfind.adapters.memory.sources import MemorySource
from contextfind.answering.measures import DEPTH, Quality, quality_of
from contextfind.config.model import EmbeddingSettings
from contextfind.domain.identity import RequestContext
from contextfind.domain.queries import FindQuestion
from contextfind.domain.uri import Uri
from contextfind.ingestion.ingest import AddPlan
from contextfind.retrieval.finder import Finder
from contextfind.wiring.models import Switchboard, open_embedder
from examples.screen import screen
from tests.benchmark.sets import RetrievalSet, read_set
from tests.benchmark.tables import Figures, ablation_table, sweep_tables
from tests.benchmark.variants import (
    ABLATIONS,
    FILES,
    Constant,
    Recipe,
    RecipeStore,
    Variant,
    constants,
)
from tests.benchmark.vectors import RememberingEmbedder
from tests.households import ANN, Household, household

LONGEST_FILE = 10_000_000  # bytes; the server's own limit is of this order
LOOK_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Bench:
    """What every set is measured with; queries: at most so many of each set."""

    embedder: RememberingEmbedder
    console: Console
    queries: int


@asynccontextmanager
async def library(bench: Bench, wanted: RetrievalSet, recipe: Recipe) -> AsyncIterator[Household]:
    """Give a house that holds the set, everything findable."""
    embedder = bench.embedder
    size = (embedder.dimension, embedder.fingerprint)
    index = await EmbeddedIndex.open(None, *size, WordTokenizer())
    store = RecipeStore(recipe)
    try:
        async with household(
            embedder, store=store, index=index, max_file_bytes=LONGEST_FILE
        ) as house:
            await add(bench, house, wanted, recipe)
            yield house
    finally:
        await index.aclose()


async def add(bench: Bench, house: Household, wanted: RetrievalSet, recipe: Recipe) -> None:
    """Ingest the set and wait for its vectors."""
    inside = len(wanted.root) + 1
    source = MemorySource(
        {uri[inside:]: text.encode() for uri, text in wanted.documents}, wanted.name
    )

    async def show(done: int, total: int) -> None:
        line.update(f"{wanted.name}, {recipe.value}: {done}/{total} documents")

    with bench.console.status(f"{wanted.name}, {recipe.value}") as line:
        outcome = await house.ingest.add(AddPlan(ANN, Uri(wanted.root)), source, show)
        if outcome.skipped or outcome.failed:
            raise RuntimeError(f"not everything was added: {outcome.skipped + outcome.failed}")
        while True:
            left = await house.settling.settle(None, None, LOOK_SECONDS)
            for worker in house.workers:
                if worker.done():
                    worker.result()  # raises what ended it: nobody would do its work any more
            line.update(f"{wanted.name}, {recipe.value}: {left.texts} texts without a vector")
            if not left.texts and not left.directories and not left.note:
                return


async def ask_all(
    bench: Bench, house: Household, wanted: RetrievalSet, variant: Variant
) -> list[Quality]:
    """Ask each query once with a variant."""
    reading = replace(house.reading, collapse_duplicates=variant.collapse)
    finder = Finder(reading, variant.retriever(house.index, bench.embedder.calibration))
    told = f"{wanted.name}: {variant.name}"
    asked = wanted.queries[: bench.queries]
    judged: list[Quality] = []
    for query in track(asked, told, console=bench.console, transient=True):
        targets = [Uri(query.get("target_uri") or wanted.root)]
        question = FindQuestion(query["query"], targets, DEPTH, where=FILES)
        found = await finder.find(RequestContext(ANN, "ablation"), question)
        hits = [*found.memories, *found.resources, *found.skills]
        hits.sort(key=lambda hit: (-hit.score, hit.uri))
        ranked = [hit.uri.text for hit in hits]
        judged.append(quality_of(ranked, wanted.relevant[query["id"]]))
    return judged


async def measure(
    bench: Bench, sets: Sequence[RetrievalSet], variants: Sequence[Variant]
) -> Figures:
    """Return what every variant gave on every set; equal variants are measured once."""
    figures: Figures = {}
    for wanted in sets:
        for recipe in Recipe:
            these = [variant for variant in variants if variant.recipe is recipe]
            if not these:
                continue
            async with library(bench, wanted, recipe) as house:
                for variant in these:
                    per_set = figures.setdefault(variant.key, {})
                    if wanted.name not in per_set:
                        per_set[wanted.name] = await ask_all(bench, house, wanted, variant)
    return figures


async def run(arguments: argparse.Namespace) -> int:
    """Measure, print, and write the figures per query if asked to."""
    sets = [read_set(folder) for folder in arguments.sets]
    console = screen(stderr=True)
    async with AsyncExitStack() as stack:
        settings = EmbeddingSettings(provider=arguments.provider)
        embedder = RememberingEmbedder(
            await open_embedder(settings, Switchboard(stack)), arguments.cache
        )
        stack.push_async_callback(embedder.aclose)
        for database in arguments.vectors.rglob("contextfind.db") if arguments.vectors else ():
            console.print(f"{embedder.absorb(database)} vectors from {database}")
        swept = constants(embedder.calibration) if arguments.sweep else ()
        ablations = [] if arguments.sweep else chosen(arguments.only)
        variants = [*ablations, *(v for one in swept for v in one.values.values())]
        bench = Bench(embedder, console, arguments.queries)
        figures = await measure(bench, sets, variants)
    names = [one.name for one in sets]
    report = sweep_tables(swept, figures, names) if swept else ablation_table(ablations, figures, names)  # fmt: skip
    sys.stdout.write(report)
    if arguments.json is not None:
        arguments.json.write_text(as_json(ablations, swept, figures) + "\n", encoding="utf-8")
    return 0


def chosen(only: Sequence[str] | None) -> list[Variant]:
    """Return the variants whose names hold one of the words, and the full one; all without words."""
    if only is None:
        return list(ABLATIONS)
    full, *others = ABLATIONS
    return [full, *(one for one in others if any(word in one.name for word in only))]


def as_json(ablations: Sequence[Variant], swept: Sequence[Constant], figures: Figures) -> str:
    """Return nDCG@10 per query by variant and set."""
    named = {variant.name: variant for variant in ablations}
    for constant in swept:
        named |= {f"{constant.name}={value}": v for value, v in constant.values.items()}
    held = {
        name: {
            of: [round(one.ndcg, 4) for one in judged]
            for of, judged in figures[variant.key].items()
        }
        for name, variant in named.items()
    }
    return json.dumps(held)


def main() -> int:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(
        prog="make bench-ablation", description=__doc__.splitlines()[0] if __doc__ else ""
    )
    parser.add_argument("sets", nargs="+", type=Path)
    parser.add_argument("--cache", type=Path, default=Path(".bench"), help="remember vectors there")
    parser.add_argument(
        "--vectors",
        type=Path,
        metavar="DIR",
        help="take over the vectors of all data directories below (of bench-quality --keep)",
    )
    parser.add_argument("--provider", default="local", choices=["local", "hash"])
    parser.add_argument(
        "--queries", type=int, default=sys.maxsize, help="only the first N of a set"
    )
    parser.add_argument(
        "--only", nargs="+", metavar="WORD", help="variants with a WORD in their name"
    )
    parser.add_argument(
        "--sweep", action="store_true", help="other values of every constant instead of ablations"
    )
    parser.add_argument("--json", type=Path, help="also write nDCG per query to this file")
    return asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main())
