"""Settings -> the concrete adapters of one house."""

from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime

from contextfind.adapters.embedded.rules import IndexRules
from contextfind.adapters.embedded.standing import StandingIndex
from contextfind.adapters.images.web import WebImages
from contextfind.adapters.local.words import WordTokenizer
from contextfind.adapters.remote.embeddings import OpenAIEmbedder
from contextfind.config.model import Settings
from contextfind.domain.errors import AlreadyExistsError, FailedPreconditionError
from contextfind.domain.identity import DEFAULT_ACCOUNT, DEFAULT_USER
from contextfind.ingestion.author import SummaryAuthor
from contextfind.ports import (
    BlobStore,
    ChatModel,
    Embedder,
    IdentityStore,
    Reranker,
    SessionStore,
)
from contextfind.retrieval.intent import IntentAnalyzer
from contextfind.retrieval.seeing import Sight
from contextfind.wiring.backends import open_index_of, open_storage
from contextfind.wiring.housekeeping import UPLOADS
from contextfind.wiring.indexing import HouseIndex, IndexRecipe
from contextfind.wiring.models import (
    Switchboard,
    build_author,
    open_analyzer,
    open_chat,
    open_embedder,
    open_reranker,
)
from contextfind.wiring.storage import HouseStore, Storage
from contextfind.wiring.surroundings import Surroundings


@dataclass(frozen=True, slots=True)
class Engines:
    """The concrete adapters of one house, opened.

    board: all models that are asked over the network. chat: the language model of all work behind the
    requests, so that its limits hold for all together.
    """

    storage: Storage
    index: HouseIndex
    embedder: Embedder
    tokenizer: WordTokenizer
    board: Switchboard
    sight: Sight | None = None
    reranker: Reranker | None = None
    chat: ChatModel | None = None
    author: SummaryAuthor | None = None
    analyzer: IntentAnalyzer | None = None

    @property
    def shares_index(self) -> bool:
        """Whether other processes may search and follow the same index."""
        return not (self.storage.company.alone or isinstance(self.index, StandingIndex))

    @property
    def store(self) -> HouseStore:
        """The records."""
        return self.storage.store

    @property
    def blobs(self) -> BlobStore:
        """Their bodies."""
        return self.storage.blobs

    @property
    def sessions(self) -> SessionStore:
        """The conversations."""
        return self.storage.sessions


async def open_engines(
    settings: Settings, around: Surroundings, stack: AsyncExitStack, *, reembed: bool
) -> Engines:
    """Open the storage and the index; `stack` closes everything in reverse order."""
    storage = await open_storage(settings, around, stack)
    store = storage.store
    await _ensure_default_account(storage.identities, around.clock())
    await storage.uploads.sweep(UPLOADS)
    tokenizer = WordTokenizer()
    board = Switchboard(stack)
    embedder = await open_embedder(settings.embedding, board, await store.fingerprint())
    await check_fingerprint(storage, embedder, reembed=reembed)
    recipe = IndexRecipe(embedder, tokenizer, IndexRules(graphs=settings.index.graphs))
    index = await open_index_of(settings, storage, recipe, stack)
    storage.upkeep.note_followed(await index.position())
    chat = open_chat(settings.vlm, board, "chat")
    return Engines(
        storage=storage,
        index=index,
        embedder=embedder,
        tokenizer=tokenizer,
        board=board,
        sight=_open_sight(embedder, storage, stack),
        reranker=open_reranker(settings.rerank, board),
        chat=chat,
        author=build_author(settings, chat, around.timer),
        analyzer=open_analyzer(settings, store, board),
    )


def _open_sight(embedder: Embedder, storage: Storage, stack: AsyncExitStack) -> Sight | None:
    """Return what pictures are looked at with, None when the embedder takes text only."""
    if not (isinstance(embedder, OpenAIEmbedder) and embedder.accepts_images):
        return None
    fetcher = WebImages()
    stack.push_async_callback(fetcher.aclose)
    return Sight(embedder, fetcher, storage.store, storage.blobs)


async def check_fingerprint(storage: Storage, embedder: Embedder, *, reembed: bool) -> None:
    """Refuse vectors of another embedder: their cosines with ours would mean nothing."""
    store = storage.store
    before = await store.fingerprint()
    if before == embedder.fingerprint:
        return
    if before is not None and not reembed:
        raise FailedPreconditionError(
            f"the data in {storage.place} was made by embedder {before!r}, but the configuration names "
            f"{embedder.fingerprint!r}; go back to the former one, or embed everything again with: "
            f"contextfind serve {storage.named_by}--reembed"
        )
    if before is None:
        await store.set_fingerprint(embedder.fingerprint)
    else:
        await store.forget_vectors(embedder.fingerprint)


async def _ensure_default_account(identities: IdentityStore, now: datetime) -> None:
    """Make the tenant of dev mode and of the one ready key, so that keys can be made for it."""
    try:
        await identities.add_account(DEFAULT_ACCOUNT, DEFAULT_USER, now)
    except AlreadyExistsError:
        return
