"""The search index on a Qdrant cluster, opened."""

from contextfind.adapters.qdrant.index import QdrantIndex
from contextfind.adapters.qdrant.place import Place
from contextfind.config.storage import QdrantSettings
from contextfind.wiring.indexing import HouseIndex, IndexRecipe


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


async def open_qdrant_index(settings: QdrantSettings, recipe: IndexRecipe) -> HouseIndex:
    """Return the index; an empty one where none of this embedder is yet.

    Raises:
        UnavailableError: the cluster does not answer. FailedPreconditionError: it is too old.

    """
    embedder = recipe.embedder
    place = place_of(settings)
    return await QdrantIndex.open(place, embedder.dimension, embedder.fingerprint, recipe.tokenizer)
