"""A whole house on memory adapters: the services as wired, without a disk."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count

from contextfind.adapters.local.hash import HashEmbedder
from contextfind.adapters.local.words import WordTokenizer
from contextfind.adapters.memory.blobs import MemoryBlobs
from contextfind.adapters.memory.index import MemoryIndex
from contextfind.adapters.memory.jobs import MemoryJobStore
from contextfind.adapters.memory.sources import MemoryShelf, MemorySource
from contextfind.adapters.memory.store import MemoryRecordStore
from contextfind.domain.errors import NotFoundError
from contextfind.domain.identity import Identity, RequestContext
from contextfind.domain.queries import FindQuestion
from contextfind.domain.results import MatchedContext
from contextfind.domain.scoring import ScoreRules
from contextfind.domain.uri import Uri
from contextfind.ingestion.adding import AddDesk, Adding
from contextfind.ingestion.embedding import EmbeddingWorker
from contextfind.ingestion.follower import Follower
from contextfind.ingestion.ingest import AddPlan, Ingest, Outcome
from contextfind.ingestion.jobs import Jobs
from contextfind.ingestion.passages import PassageRules
from contextfind.ingestion.pulse import Pulse
from contextfind.ingestion.settling import Settling
from contextfind.ingestion.summaries import SummaryWorker
from contextfind.ingestion.writing import Desk, Writer
from contextfind.ports import Embedder, FileSource, RecordStore, SearchIndex
from contextfind.retrieval.browsing import Browser
from contextfind.retrieval.finder import Finder, Reading
from contextfind.retrieval.frontier import WalkRules
from contextfind.retrieval.walk import HierarchicalRetriever
from tests.builders import NOON

ANN = Identity("acme", "ann")
BEN = Identity("acme", "ben")
OTHER = Identity("bolt", "ann")
DOCS = Uri("viking://resources/docs")


@dataclass
class ServerFolders:
    """A `ServerPaths` over a dict of path to source."""

    sources: dict[str, FileSource] = field(default_factory=dict)

    def source(self, path: str) -> FileSource:
        if path not in self.sources:
            raise NotFoundError(f"nothing at {path!r}")
        return self.sources[path]


@dataclass
class Household:
    """The services and the engines below them."""

    store: RecordStore
    blobs: MemoryBlobs
    index: SearchIndex
    job_store: MemoryJobStore
    uploads: MemoryShelf
    folders: ServerFolders
    served: ServerFolders
    writer: Writer
    browser: Browser
    finder: Finder
    reading: Reading
    ingest: Ingest
    adding: Adding
    jobs: Jobs
    settling: Settling
    workers: Sequence["asyncio.Task[None]"] = ()

    async def add(
        self,
        files: Mapping[str, bytes | str],
        root: Uri = DOCS,
        source: str = "docs",
        **plan: object,
    ) -> Outcome:
        """Ingest a dict of files as a tree and wait until all of it can be found."""
        data = {p: b.encode() if isinstance(b, str) else b for p, b in files.items()}

        async def ignore(done: int, total: int) -> None:
            assert done <= total

        outcome = await self.ingest.add(
            AddPlan(ANN, root, **plan),  # type: ignore[arg-type]
            MemorySource(data, source),
            ignore,
        )
        await self.settled()
        return outcome

    async def settled(self) -> None:
        state = await self.settling.settle(None, None, 10)
        assert (state.texts, state.directories) == (0, 0), state.note

    async def find(self, query: str, who: Identity = ANN, **fields: object) -> list[MatchedContext]:
        question = FindQuestion(query, **fields)  # type: ignore[arg-type]
        found = await self.finder.find(RequestContext(who, "r"), question)
        hits = [*found.memories, *found.resources, *found.skills]
        return sorted(hits, key=lambda hit: (-hit.score, hit.uri))

    async def addresses(self, who: Identity = ANN) -> list[str]:
        listing = await self.browser.tree(who, DOCS, 99, 1_000)
        return [entry.uri.text.removeprefix(DOCS.folder) for entry in listing.entries]


@asynccontextmanager
async def household(
    embedder: Embedder | None = None,
    *,
    store: RecordStore | None = None,
    index: SearchIndex | None = None,
    job_store: MemoryJobStore | None = None,
    max_file_bytes: int = 100_000,
    collapse_duplicates: bool = True,
) -> AsyncIterator[Household]:
    """Build the house and run its workers; who brings a store or an index closes it."""
    embedder = embedder or HashEmbedder("t")
    store = MemoryRecordStore() if store is None else store
    blobs = MemoryBlobs()
    jobs_store = MemoryJobStore() if job_store is None else job_store
    tokenizer, pulse, new_id = WordTokenizer(), Pulse(), map("id{}".format, count(1)).__next__
    index = MemoryIndex(tokenizer) if index is None else index
    with ThreadPoolExecutor(1) as cpu:
        desk = Desk(store, blobs, lambda: NOON, cpu, PassageRules())
        follower = Follower(store, index, pulse)
        worker = EmbeddingWorker(store, embedder, pulse, time.perf_counter)
        summaries = SummaryWorker(desk, pulse)
        settling = Settling(store, index, worker, pulse)
        ingest = Ingest(desk, summaries, max_file_bytes)
        uploads, folders = MemoryShelf(new_id), ServerFolders()
        served = ServerFolders()
        jobs = Jobs(jobs_store, lambda: NOON, new_id)
        adding = Adding(AddDesk(ingest, settling, uploads, folders, served), jobs)
        jobs.take_on(adding)
        reading = Reading(
            store,
            blobs,
            embedder,
            tokenizer,
            lambda: follower.ready(10),
            time.perf_counter,
            collapse_duplicates=collapse_duplicates,
        )
        retriever = HierarchicalRetriever(index, embedder.calibration, ScoreRules(), WalkRules())
        tasks = [
            asyncio.create_task(work) for work in (follower.run(), worker.run(), summaries.run())
        ]
        try:
            yield Household(
                store, blobs, index, jobs_store, uploads, folders, served, Writer(desk),
                Browser(store, blobs), Finder(reading, retriever), reading, ingest, adding, jobs, settling, tasks,
            )  # fmt: skip
        finally:
            await jobs.aclose()
            for task in tasks:
                task.cancel()
            ends = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(end, asyncio.CancelledError) for end in ends), ends
