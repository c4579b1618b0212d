"""The one place where concrete things are built: settings -> engines -> services -> House."""

import asyncio
import logging
import shutil
import time
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from contextfind.adapters.embedded.index import EmbeddedIndex
from contextfind.adapters.files.allowed import AllowedPaths
from contextfind.adapters.files.blobs import FileBlobs
from contextfind.adapters.files.lock import DirectoryLock
from contextfind.adapters.files.shelf import LocalShelf
from contextfind.adapters.images.web import WebImages
from contextfind.adapters.local import hash as hashed
from contextfind.adapters.local import nano
from contextfind.adapters.local.hash import HashEmbedder
from contextfind.adapters.local.nano import NanoEmbedder
from contextfind.adapters.local.words import WordTokenizer
from contextfind.adapters.openai import embeddings
from contextfind.adapters.openai.embeddings import OpenAIEmbedder
from contextfind.adapters.openai.endpoint import EndpointSettings
from contextfind.adapters.sqlite.database import Database
from contextfind.adapters.sqlite.identities import SqliteIdentityStore
from contextfind.adapters.sqlite.jobs import SqliteJobStore
from contextfind.adapters.sqlite.records import SqliteRecordStore
from contextfind.config.model import EmbeddingSettings, Settings
from contextfind.domain.documents import TEXT_RECIPE
from contextfind.domain.errors import AlreadyExistsError, FailedPreconditionError
from contextfind.domain.identity import DEFAULT_ACCOUNT, DEFAULT_USER
from contextfind.domain.scoring import Calibration, ScoreRules
from contextfind.ingestion.embedding import EmbeddingWorker
from contextfind.ingestion.follower import Follower
from contextfind.ingestion.ingest import Ingest
from contextfind.ingestion.jobs import JobDesk, Jobs
from contextfind.ingestion.passages import PassageRules
from contextfind.ingestion.pulse import Pulse
from contextfind.ingestion.settling import Settling
from contextfind.ingestion.summaries import SummaryWorker
from contextfind.ingestion.writing import Desk, Writer
from contextfind.ports import Clock, Embedder, IdentityStore, IdMaker, UploadShelf
from contextfind.retrieval.browsing import Browser
from contextfind.retrieval.finder import Finder, Reading
from contextfind.retrieval.frontier import WalkRules
from contextfind.retrieval.seeing import Sight
from contextfind.retrieval.walk import HierarchicalRetriever

_log = logging.getLogger(__name__)

_CPU_THREADS = 2  # parsing beside the event loop; more only fight for the same two cores
_FORGOTTEN = timedelta(days=7)  # uploads this old that no task has used are not wanted any more
_INDEX_PATIENCE = 30.0  # seconds a find waits for an index that is being rebuilt after a start


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What comes from outside: time and identifiers."""

    clock: Clock
    new_id: IdMaker
    timer: Callable[[], float]

    @classmethod
    def real(cls) -> "Surroundings":
        """Return the clock on the wall and identifiers nobody can guess."""
        return cls(lambda: datetime.now(UTC), lambda: uuid.uuid4().hex, time.perf_counter)


@dataclass(frozen=True, slots=True)
class Engines:
    """The concrete adapters of one data directory, opened."""

    store: SqliteRecordStore
    blobs: FileBlobs
    index: EmbeddedIndex
    embedder: Embedder
    tokenizer: WordTokenizer
    job_store: SqliteJobStore
    identities: SqliteIdentityStore
    uploads: LocalShelf
    sight: Sight | None = None


@dataclass(frozen=True, slots=True)
class Workers:
    """The services that run behind the requests, and their tasks by name."""

    follower: Follower
    embedding: EmbeddingWorker
    summaries: SummaryWorker
    tasks: Mapping[str, "asyncio.Task[None]"]


@dataclass(frozen=True, slots=True)
class House:
    """Everything a server needs; `open` builds it, leaving the context closes it in reverse."""

    settings: Settings
    finder: Finder
    browser: Browser
    writer: Writer
    jobs: Jobs
    settling: Settling
    uploads: UploadShelf
    identities: IdentityStore
    clock: Clock
    new_id: IdMaker
    _engines: Engines
    _workers: Workers

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        settings: Settings,
        surroundings: Surroundings | None = None,
        *,
        served: Sequence[Path] = (),
        reembed: bool = False,
    ) -> AsyncIterator["House"]:
        """Open the data directory, start the workers, and give the house.

        served: paths that the server itself may add (`Jobs.add_resource(own=True)`), and nobody else.
        reembed: drop all vectors when they were made by another embedder, and make them anew.

        Raises:
            FailedPreconditionError: the directory is in use, newer, or made by another embedder.
            UnavailableError: a file cannot be opened, or the embedder's dimension cannot be learnt.

        """
        around = surroundings or Surroundings.real()
        async with AsyncExitStack() as stack:
            engines = await _open_engines(settings, around, stack, reembed=reembed)
            cpu = ThreadPoolExecutor(_CPU_THREADS, "parsing")
            stack.callback(cpu.shutdown)
            passages = settings.ingestion
            rules = PassageRules(passages.passage_target, passages.passage_longest)
            desk = Desk(engines.store, engines.blobs, around.clock, cpu, rules)
            pulse = Pulse()
            workers = _start_workers(engines, desk, pulse, around)
            stack.push_async_callback(_stop, workers)
            settling = Settling(engines.store, engines.index, workers.embedding, pulse)
            ingest = Ingest(desk, workers.summaries, settings.ingestion.max_file_bytes)
            jobs = Jobs(_job_desk(settings, engines, around, ingest, settling, served))
            stack.push_async_callback(jobs.aclose)
            resumed = await jobs.resume()
            if resumed:
                _log.info("%d unfinished tasks of the last run go on", resumed)
            yield cls(
                settings=settings,
                finder=_finder(settings, engines, workers, around),
                browser=Browser(engines.store, engines.blobs),
                writer=Writer(desk),
                jobs=jobs,
                settling=settling,
                uploads=engines.uploads,
                identities=engines.identities,
                clock=around.clock,
                new_id=around.new_id,
                _engines=engines,
                _workers=workers,
            )

    async def readiness(self) -> Mapping[str, str]:
        """Return `ok` or one line of what is wrong for: store, index, embedder, and each worker."""
        await self._engines.store.position()  # an answer of the store is all that is asked
        return {
            "store": "ok",
            "index": self._workers.follower.standing,
            "embedder": self._workers.embedding.failing or "ok",
            **{
                f"worker {name}": "stopped; the log says why" if task.done() else "ok"
                for name, task in self._workers.tasks.items()
            },
        }

    async def status(
        self, account: str | None = None, user: str | None = None
    ) -> dict[str, object]:
        """Return counts, the work that waits, and the engines' figures.

        Of an account as one of its users may know it, or of all of them.
        """
        backlog = await self._engines.store.backlog(account, user=user)
        embedder = self._engines.embedder
        return {
            "counts": await self._engines.store.counts(account, user),
            "backlog": {"texts": backlog.texts, "directories": backlog.directories},
            "index": self._engines.index.stats(),
            "embedder": {"fingerprint": embedder.fingerprint, "dimension": embedder.dimension},
        }


async def _open_engines(
    settings: Settings, around: Surroundings, stack: AsyncExitStack, *, reembed: bool
) -> Engines:
    directory = Path(settings.storage.path)
    lock = DirectoryLock(directory)
    await asyncio.to_thread(lock.acquire)
    stack.callback(lock.release)
    database = await Database.open(directory)
    store = SqliteRecordStore(database)
    stack.push_async_callback(store.aclose)
    identities = SqliteIdentityStore(database)
    await _ensure_default_account(identities, around.clock())
    blobs = FileBlobs(directory / "blobs")
    stack.push_async_callback(blobs.aclose)
    uploads = LocalShelf(
        directory / "uploads", around.new_id, around.clock, settings.server.max_upload_bytes
    )
    stack.push_async_callback(uploads.aclose)
    await uploads.sweep(_FORGOTTEN)
    tokenizer = WordTokenizer()
    embedder = await _open_embedder(settings.embedding, stack)
    await _check_fingerprint(store, embedder, directory, reembed=reembed)
    index = await _open_index(directory / "index", store, embedder, tokenizer)
    stack.push_async_callback(index.aclose)
    return Engines(
        store=store,
        blobs=blobs,
        index=index,
        embedder=embedder,
        tokenizer=tokenizer,
        job_store=SqliteJobStore(database),
        identities=identities,
        uploads=uploads,
        sight=_open_sight(embedder, store, blobs, stack),
    )


def _open_sight(
    embedder: Embedder, store: SqliteRecordStore, blobs: FileBlobs, stack: AsyncExitStack
) -> Sight | None:
    """Return what pictures are looked at with, None when the embedder takes text only."""
    if not (isinstance(embedder, OpenAIEmbedder) and embedder.accepts_images):
        return None
    fetcher = WebImages()
    stack.push_async_callback(fetcher.aclose)
    return Sight(embedder, fetcher, store, blobs)


async def _open_index(
    directory: Path, store: SqliteRecordStore, embedder: Embedder, tokenizer: WordTokenizer
) -> EmbeddedIndex:
    """Return the index, built anew when an older database was put back beside it."""
    sizes = (embedder.dimension, embedder.fingerprint)
    index = await EmbeddedIndex.open(directory, *sizes, tokenizer)
    ahead = await index.position() - await store.position()
    if ahead <= 0:
        return index
    _log.warning("the index is %d changes ahead of the database and is built anew", ahead)
    await index.aclose()
    await asyncio.to_thread(shutil.rmtree, directory)
    return await EmbeddedIndex.open(directory, *sizes, tokenizer)


async def _open_embedder(settings: EmbeddingSettings, stack: AsyncExitStack) -> Embedder:
    embedder = _embedder(settings)
    stack.push_async_callback(embedder.aclose)
    if isinstance(embedder, OpenAIEmbedder):
        await embedder.open()  # may have to ask for its dimension
    return embedder


def _embedder(settings: EmbeddingSettings) -> Embedder:
    if settings.provider == "hash":
        size = hashed.DIMENSION if settings.dimension is None else settings.dimension
        return HashEmbedder(TEXT_RECIPE, size, _calibration(settings, hashed.CALIBRATION))
    if settings.provider == "local":
        return NanoEmbedder(TEXT_RECIPE, _calibration(settings, nano.CALIBRATION))
    asked = embeddings.EmbeddingSettings(
        model=settings.model,
        recipe=TEXT_RECIPE,
        batch_size=settings.batch_size,
        max_characters=settings.max_characters,
        dimension=settings.dimension,
        query_prefix=settings.query_prefix,
        document_prefix=settings.document_prefix,
        query_fields=settings.query_fields,
        document_fields=settings.document_fields,
        calibration=_calibration(settings, embeddings.CALIBRATION),
        accepts_images=settings.accepts_images,
    )
    endpoint = EndpointSettings(
        base_url=settings.api_base,
        timeout=settings.timeout,
        concurrency=settings.concurrency,
        api_key=settings.api_key,
    )
    return OpenAIEmbedder(asked, endpoint)


def _calibration(settings: EmbeddingSettings, usual: Calibration) -> Calibration:
    floor, span = settings.calibration_floor, settings.calibration_span
    return usual if floor is None or span is None else Calibration(floor, span)


async def _check_fingerprint(
    store: SqliteRecordStore, embedder: Embedder, directory: Path, *, reembed: bool
) -> None:
    """Refuse vectors of another embedder: their cosines with ours would mean nothing."""
    before = await store.fingerprint()
    if before == embedder.fingerprint:
        return
    if before is not None and not reembed:
        raise FailedPreconditionError(
            f"the data in {directory} was made by embedder {before!r}, but the configuration names "
            f"{embedder.fingerprint!r}; go back to the former one, or embed everything again with: "
            f"contextfind serve --data {directory} --reembed"
        )
    if before is not None:
        await store.forget_vectors()
    await store.set_fingerprint(embedder.fingerprint)


async def _ensure_default_account(identities: IdentityStore, now: datetime) -> None:
    """Make the tenant of dev mode and of the one ready key, so that keys can be made for it."""
    try:
        await identities.add_account(DEFAULT_ACCOUNT, DEFAULT_USER, now)
    except AlreadyExistsError:
        return


def _start_workers(engines: Engines, desk: Desk, pulse: Pulse, around: Surroundings) -> Workers:
    follower = Follower(engines.store, engines.index, pulse)
    embedding = EmbeddingWorker(engines.store, engines.embedder, pulse, around.timer)
    summaries = SummaryWorker(desk, pulse)
    tasks = {
        "follower": _task("follower", follower.run()),
        "embedding": _task("embedding", embedding.run()),
        "summaries": _task("summaries", summaries.run()),
    }
    return Workers(follower, embedding, summaries, tasks)


def _task(name: str, work: Coroutine[None, None, None]) -> "asyncio.Task[None]":
    task = asyncio.create_task(work, name=name)
    task.add_done_callback(_report_end)
    return task


def _report_end(task: "asyncio.Task[None]") -> None:
    if not task.cancelled() and task.exception() is not None:
        _log.error("worker %s stopped", task.get_name(), exc_info=task.exception())


async def _stop(workers: Workers) -> None:
    for task in workers.tasks.values():
        task.cancel()
    await asyncio.gather(*workers.tasks.values(), return_exceptions=True)


def _job_desk(
    settings: Settings,
    engines: Engines,
    around: Surroundings,
    ingest: Ingest,
    settling: Settling,
    served: Sequence[Path],
) -> JobDesk:
    return JobDesk(
        jobs=engines.job_store,
        ingest=ingest,
        settling=settling,
        uploads=engines.uploads,
        paths=AllowedPaths([Path(path) for path in settings.server.allowed_paths]),
        own_paths=AllowedPaths(served),
        clock=around.clock,
        new_id=around.new_id,
    )


def _finder(settings: Settings, engines: Engines, workers: Workers, around: Surroundings) -> Finder:
    knobs = settings.retrieval
    scores = ScoreRules(knobs.score_propagation_alpha, knobs.meaning_weight, knobs.directory_own)
    walk = WalkRules(
        candidates=knobs.candidates,
        global_search_topk=knobs.global_search_topk,
        batch=knobs.batch,
        children=knobs.children,
        max_convergence_rounds=knobs.max_convergence_rounds,
    )
    retriever = HierarchicalRetriever(engines.index, engines.embedder.calibration, scores, walk)
    reading = Reading(
        store=engines.store,
        blobs=engines.blobs,
        embedder=engines.embedder,
        tokenizer=engines.tokenizer,
        ready=lambda: workers.follower.ready(_INDEX_PATIENCE),
        timer=around.timer,
        sight=engines.sight,
    )
    return Finder(reading, retriever)
