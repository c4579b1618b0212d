"""Settings -> the concrete adapters of one data directory."""

from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from contextfind.adapters.embedded.rules import IndexRules
from contextfind.adapters.embedded.standing import StandingIndex
from contextfind.adapters.files.blobs import FileBlobs
from contextfind.adapters.files.shelf import LocalShelf
from contextfind.adapters.images.web import WebImages
from contextfind.adapters.local.words import WordTokenizer
from contextfind.adapters.remote.embeddings import OpenAIEmbedder
from contextfind.adapters.sqlite.compaction import SqliteCompaction
from contextfind.adapters.sqlite.identities import SqliteIdentityStore
from contextfind.adapters.sqlite.jobs import SqliteJobStore
from contextfind.adapters.sqlite.mending import SqliteMending
from contextfind.adapters.sqlite.records import SqliteRecordStore
from contextfind.adapters.sqlite.sessions import SqliteSessionStore
from contextfind.config.model import Settings
from contextfind.domain.errors import AlreadyExistsError, FailedPreconditionError
from contextfind.domain.identity import DEFAULT_ACCOUNT, DEFAULT_USER
from contextfind.ingestion.author import SummaryAuthor
from contextfind.ports import ChatModel, Embedder, IdentityStore, Reranker, SessionStore
from contextfind.retrieval.intent import IntentAnalyzer
from contextfind.retrieval.seeing import Sight
from contextfind.wiring.directory import open_directory
from contextfind.wiring.housekeeping import UPLOADS, Rooms
from contextfind.wiring.indexing import INDEX, IndexRecipe, open_index
from contextfind.wiring.models import (
    Switchboard,
    build_author,
    open_analyzer,
    open_chat,
    open_embedder,
    open_reranker,
)
from contextfind.wiring.surroundings import Surroundings


@dataclass(frozen=True, slots=True)
class Engines:
    """The concrete adapters of one data directory, opened.

    board: all models that are asked over the network. chat: the language model of all work behind the
    requests, so that its limits hold for all together.
    """

    store: SqliteRecordStore
    blobs: FileBlobs
    index: StandingIndex
    embedder: Embedder
    tokenizer: WordTokenizer
    job_store: SqliteJobStore
    identities: SqliteIdentityStore
    sessions: SessionStore
    uploads: LocalShelf
    rooms: Rooms
    board: Switchboard
    sight: Sight | None = None
    reranker: Reranker | None = None
    chat: ChatModel | None = None
    author: SummaryAuthor | None = None
    analyzer: IntentAnalyzer | None = None


async def open_engines(
    settings: Settings, around: Surroundings, stack: AsyncExitStack, *, reembed: bool
) -> Engines:
    """Open the data directory; `stack` closes everything in reverse order."""
    directory = Path(settings.storage.path)
    database, blobs = await open_directory(directory, stack)
    store = SqliteRecordStore(database)
    identities = SqliteIdentityStore(database)
    await _ensure_default_account(identities, around.clock())
    jobs = SqliteJobStore(database)
    uploads = LocalShelf(
        directory / "uploads", around.new_id, around.clock, settings.server.max_upload_bytes
    )
    stack.push_async_callback(uploads.aclose)
    await uploads.sweep(UPLOADS)
    tokenizer = WordTokenizer()
    board = Switchboard(stack)
    embedder = await open_embedder(settings.embedding, board, await store.fingerprint())
    await check_fingerprint(store, embedder, directory, reembed=reembed)
    compaction = SqliteCompaction(database)
    log = range(await compaction.forgotten(), await store.position() + 1)
    recipe = IndexRecipe(embedder, tokenizer, IndexRules(graphs=settings.index.graphs))
    index = await open_index(directory / INDEX, log, recipe)
    compaction.note_followed(await index.position())
    stack.push_async_callback(index.aclose)
    chat = open_chat(settings.vlm, board, "chat")
    return Engines(
        store=store,
        blobs=blobs,
        index=index,
        embedder=embedder,
        tokenizer=tokenizer,
        job_store=jobs,
        identities=identities,
        sessions=SqliteSessionStore(database),
        uploads=uploads,
        rooms=Rooms(jobs, uploads, blobs, compaction, SqliteMending(database)),
        board=board,
        sight=_open_sight(embedder, store, blobs, stack),
        reranker=open_reranker(settings.rerank, board),
        chat=chat,
        author=build_author(settings, chat, around.timer),
        analyzer=open_analyzer(settings, store, board),
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


async def check_fingerprint(
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
