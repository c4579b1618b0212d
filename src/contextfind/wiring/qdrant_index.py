"""The search index on a Qdrant cluster, opened."""

import logging

from contextfind.adapters.qdrant.index import QdrantIndex
from contextfind.adapters.qdrant.place import Place
from contextfind.config.storage import QdrantSettings
from contextfind.domain.uri import ROOT
from contextfind.ingestion.reindexing import rebuilt
from contextfind.wiring.indexing import HouseIndex, IndexRecipe
from contextfind.wiring.storage import Storage

_log = logging.getLogger(__name__)


def place_of(settings: QdrantSettings) -> Place:
    """Return where the index lies that the settings name."""
    return Place(
        settings.url,
        settings.api_key,
        settings.prefix,
        settings.timeout,
        settings.shards,
        settings.replicas,
    )


async def open_qdrant_index(
    settings: QdrantSettings, storage: Storage, recipe: IndexRecipe
) -> HouseIndex:
    """Return the index, built anew first when an older state of it, or of the storage, was put back.

    Raises:
        UnavailableError: the cluster does not answer. FailedPreconditionError: it is too old.

    """
    embedder = recipe.embedder
    place = place_of(settings)
    index = await QdrantIndex.open(
        place, embedder.dimension, embedder.fingerprint, recipe.tokenizer
    )
    await _put_right(index, storage)
    return index


async def _put_right(index: QdrantIndex, storage: Storage) -> None:
    """Build the index anew if it does not go with the log; one process does, whoever comes meanwhile waits for it."""
    if await _goes_on(index, storage):
        return
    async with storage.company.holding("putting right", "", ROOT):
        if await _goes_on(index, storage):
            return
        _log.warning("the index and the storage are of different times; the index is built anew")
        await rebuilt(index, storage.store.changes, _nothing, storage.company)


async def _goes_on(index: QdrantIndex, storage: Storage) -> bool:
    position = await index.position()
    return position == 0 or position in await storage.log()


async def _nothing(position: int) -> None:
    del position
