"""The index on Qdrant beside the embedded one, on a made-up library: what a find takes in each, and what it finds.

`python -m tests.benchmark.qdrant_index --documents 100000` asks Qdrant's own engine inside this process, behind the wire
of a server: what the network adds is not in it. With QDRANT_URL set, that server is asked instead.
"""

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from qdrant_client import AsyncQdrantClient

from contextfind.adapters.embedded.index import EmbeddedIndex
from contextfind.adapters.embedded.rules import IndexRules
from contextfind.adapters.local.hash import HashEmbedder
from contextfind.adapters.local.words import WordTokenizer
from contextfind.adapters.qdrant.index import QdrantIndex
from contextfind.adapters.qdrant.place import Place
from contextfind.domain.documents import TEXT_RECIPE
from contextfind.domain.scope import Scope
from contextfind.domain.scoring import ScoreRules
from contextfind.ports import SearchIndex
from contextfind.retrieval.frontier import WalkRules
from contextfind.retrieval.walk import Ask, HierarchicalRetriever
from tests.benchmark.forest import USER
from tests.benchmark.generated import DIMENSION, Library
from tests.benchmark.postgres_index import (
    ACCOUNT,
    FINGERPRINT,
    LIMIT,
    Engine,
    changes,
    fill,
    kinds,
    measure,
)
from tests.stubs.qdrant_server import QdrantServer

GRAPH_FROM = 10_000  # KB of vectors; a server's own default


async def run(library: Library, questions: int) -> None:
    """Load, ask and print."""
    tokenizer = WordTokenizer()
    graphless = replace(IndexRules(), graphs=False, exact_below=1 << 40)
    embedded = await EmbeddedIndex.open(None, DIMENSION, FINGERPRINT, tokenizer)
    exact = await EmbeddedIndex.open(None, DIMENSION, FINGERPRINT, tokenizer, graphless)
    with tempfile.TemporaryDirectory() as home:
        server = QdrantServer(Path(home), indexing_threshold=GRAPH_FROM)
        qdrant = await opened(server)
        indexes = {"exact": exact, "embedded": embedded, "qdrant": qdrant}
        for name, index in indexes.items():
            told(f"{name}: followed in {await fill(index, changes(library)):.1f} s")
        begun = time.perf_counter()
        server.settle()
        told(f"qdrant: merged and drawn in {time.perf_counter() - begun:.1f} s")
        await embedded.rest()
        await compare(library, questions, indexes, server)
        for index in indexes.values():
            await index.aclose()


async def opened(server: QdrantServer) -> QdrantIndex:
    """Return an index on that server, or on the one that QDRANT_URL names."""
    url = os.environ.get("QDRANT_URL")
    place = Place(url or "http://localhost", prefix="bench", timeout=600)
    client = AsyncQdrantClient(
        place.url, transport=None if url else server, check_compatibility=False, timeout=600
    )
    return await QdrantIndex.open(place, DIMENSION, FINGERPRINT, WordTokenizer(), client)


async def compare(
    library: Library, questions: int, indexes: Mapping[str, SearchIndex], server: QdrantServer
) -> None:
    """Ask all indexes the same, limited in different ways."""
    embedder, tokenizer = HashEmbedder(TEXT_RECIPE, DIMENSION), WordTokenizer()
    rules = (embedder.calibration, ScoreRules(), WalkRules())
    engines = [
        Engine(name, index, HierarchicalRetriever(index, *rules)) for name, index in indexes.items()
    ]
    texts = library.questions(ACCOUNT, questions)
    vectors = await embedder.embed(texts, "query")
    for kind, (where, target) in kinds(library).items():
        scope = Scope(ACCOUNT, USER, (target,))
        asks = [
            Ask(scope, where, LIMIT, vector, tuple(tokenizer.terms(text)))
            for text, vector in zip(texts, vectors, strict=True)
        ]
        server.asked.clear()
        took, found = await measure(engines, asks)
        base = float(np.median(took["embedded"]))
        for name in indexes:
            p50, p95 = np.percentile(took[name], (50, 95))
            recall = np.mean(
                [
                    len(got & right) / len(right) if right else 1.0
                    for got, right in zip(found[name], found["exact"], strict=True)
                ]
            )
            told(
                f"{kind:18} {name:9} p50 {p50:6.1f} ms ({p50 / base:4.1f}x) p95 {p95:6.1f}"
                f"  recall@10 {recall:.4f}"
            )
        calls = Counter(server.asked)
        told(f"{'':18} requests of all finds on qdrant: {dict(calls)}")


def told(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)  # noqa: T201 - it is what a benchmark is for


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--questions", type=int, default=100)
    given = parser.parse_args()
    asyncio.run(run(Library(given.documents), given.questions))
    sys.exit(0)
