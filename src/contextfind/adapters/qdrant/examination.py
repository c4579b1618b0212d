"""One look at a Qdrant cluster and what we have there. Nothing is made or changed."""

from collections.abc import Sequence
from dataclasses import dataclass

from qdrant_client import AsyncQdrantClient, models

from contextfind.adapters.qdrant import fields
from contextfind.adapters.qdrant.cluster import Cluster, answering
from contextfind.adapters.qdrant.collections import Collections
from contextfind.adapters.qdrant.following import position_of
from contextfind.adapters.qdrant.place import Place


@dataclass(frozen=True, slots=True)
class Standing:
    """An index: the alias it is asked by, and how the collection behind it is.

    state: `green`, `yellow` while the cluster optimises, `grey` when it will, `red` when something failed. points:
    passages, and marks of what is gone; about. position: how far the log was followed. dimension: of its vectors.
    """

    alias: str
    collection: str
    state: str
    points: int
    position: int
    dimension: int

    def made_by(self, place: Place, fingerprint: str) -> bool:
        """Return whether it is the index of an embedder, made in the way this version does."""
        return self.alias == place.name(self.dimension, fingerprint)


@dataclass(frozen=True, slots=True)
class Examined:
    """What was seen; indexes: those of our prefix."""

    version: str
    indexes: Sequence[Standing]


async def examined(place: Place, client: AsyncQdrantClient | None = None) -> Examined:
    """Look at a cluster; each request takes `place.timeout` at most.

    Raises:
        UnavailableError: it does not answer. FailedPreconditionError: it is too old.

    """
    asked = client or place.client()
    try:
        await Collections(asked, place, "", 0).check()
        async with answering(place.timeout):
            version = (await asked.info()).version
            aliases = (await asked.get_aliases()).aliases
        ours = sorted(
            (one for one in aliases if one.alias_name.startswith(f"{place.prefix}-")),
            key=lambda one: one.alias_name,
        )
        return Examined(version, [await _standing(asked, place, one) for one in ours])
    finally:
        if client is None:
            await asked.close()


async def _standing(
    client: AsyncQdrantClient, place: Place, alias: models.AliasDescription
) -> Standing:
    async with answering(place.timeout):
        told = await client.get_collection(alias.collection_name)
    vectors = told.config.params.vectors
    meaning = vectors.get(fields.MEANING) if isinstance(vectors, dict) else None
    return Standing(
        alias.alias_name,
        alias.collection_name,
        told.status.value,
        told.points_count or 0,
        await position_of(Cluster(client, alias.collection_name, place.timeout)),
        meaning.size if meaning is not None else 0,
    )
