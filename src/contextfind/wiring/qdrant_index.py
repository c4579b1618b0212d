"""The search index on a Qdrant cluster, opened."""

import logging

from contextfind.adapters.qdrant.index import QdrantIndex
from contextfind.adapters.qdrant.place import Place
from contextfind.config.storage import QdrantSettings
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
    position, log = await index.position(), await storage.log()
    if position != 0 and position not in log:
        _log.warning(
            "the index stands at change %d, the storage leads on from %d to %d: it is built anew",
            position,
            log.start,
            log.stop - 1,
        )
        await index.rebuild(storage.store.changes, _nothing)
    return index


async def _nothing(position: int) -> None:
    del position
