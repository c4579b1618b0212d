"""The collections that an index lies in: one at a time, behind an alias by which all processes know it."""

import re
from contextlib import suppress
from dataclasses import dataclass

from qdrant_client import AsyncQdrantClient, models
from qdrant_client.http.exceptions import UnexpectedResponse

from contextfind.adapters.qdrant import fields
from contextfind.adapters.qdrant.cluster import Cluster, answering
from contextfind.adapters.qdrant.place import Place
from contextfind.domain.errors import FailedPreconditionError, UnavailableError

LEAST_VERSION = (1, 20)  # looks for parts of a keyword (`MatchSubstring`)
_CONFLICT = 409
_MAKING = 6  # times the time of a request that making a collection may take: all nodes agree on it


@dataclass(frozen=True, slots=True)
class Collections:
    """The collections of one index.

    alias: the name by which it is asked; what it stands for is `alias-1`, `alias-2`, ...
    """

    client: AsyncQdrantClient
    place: Place
    alias: str
    dimension: int

    @property
    def current(self) -> Cluster:
        """The collection that answers, whichever it is."""
        return Cluster(self.client, self.alias, self.place.timeout)

    async def check(self) -> None:
        """Refuse a server that cannot answer all that we ask.

        Raises:
            FailedPreconditionError: it is too old.
            UnavailableError: the cluster does not answer.

        """
        async with answering(self.place.timeout):
            version = (await self.client.info()).version
        parts = re.match(r"(\d+)\.(\d+)", version)
        if parts is not None and tuple(map(int, parts.groups())) < LEAST_VERSION:
            least = ".".join(map(str, LEAST_VERSION))
            raise FailedPreconditionError(
                f"the Qdrant at {self.place.url} is version {version}; {least} or newer is needed"
            )

    async def ensure(self) -> None:
        """Make the first collection where there is none; two that do so at once make the same.

        Raises:
            UnavailableError: the cluster does not answer.

        """
        if await self._target() is None:
            await self._make(f"{self.alias}-1")
            await self._turn(f"{self.alias}-1", None)

    async def are_building(self) -> bool:
        """Return whether there is another collection beside the one that answers.

        Raises:
            UnavailableError: the cluster does not answer.

        """
        return len(await self._names()) > 1

    async def begin(self) -> Cluster:
        """Make an empty collection beside the one that answers; what was left of an earlier try is removed.

        Raises:
            UnavailableError: the cluster does not answer.

        """
        target = await self._target()
        for name in await self._names():
            if name != target:
                await self._drop(name)
        name = f"{self.alias}-{1 + _number(target or '')}"
        await self._make(name)
        return Cluster(self.client, name, self.place.timeout)

    async def hand_over(self, fresh: Cluster) -> None:
        """Have a collection answer from now on, and remove the one before.

        Raises:
            UnavailableError: the cluster does not answer.

        """
        before = await self._target()
        await self._turn(fresh.name, before)
        if before is not None and before != fresh.name:
            with suppress(UnavailableError):  # the next rebuild removes it
                await self._drop(before)

    async def give_up(self, fresh: Cluster) -> None:
        """Remove a collection, unless it answers already.

        Raises:
            UnavailableError: the cluster does not answer.

        """
        if await self._target() != fresh.name:
            await self._drop(fresh.name)

    async def _target(self) -> str | None:
        async with answering(self.place.timeout):
            aliases = (await self.client.get_aliases()).aliases
        return next((a.collection_name for a in aliases if a.alias_name == self.alias), None)

    async def _names(self) -> list[str]:
        async with answering(self.place.timeout):
            every = (await self.client.get_collections()).collections
        return [one.name for one in every if one.name.startswith(f"{self.alias}-")]

    async def _drop(self, name: str) -> None:
        async with answering(self.place.timeout * _MAKING):
            await self.client.delete_collection(name)

    async def _turn(self, name: str, before: str | None) -> None:
        """Have the alias stand for another collection, at one stroke."""
        steps: list[models.AliasOperations] = []
        if before is not None:
            gone = models.DeleteAlias(alias_name=self.alias)
            steps.append(models.DeleteAliasOperation(delete_alias=gone))
        made = models.CreateAlias(collection_name=name, alias_name=self.alias)
        steps.append(models.CreateAliasOperation(create_alias=made))
        async with answering(self.place.timeout * _MAKING):
            await self.client.update_collection_aliases(steps)

    async def _make(self, name: str) -> None:
        async with answering(self.place.timeout * _MAKING):
            if not await self.client.collection_exists(name):
                await self._create(name)
            for field, schema in _indexes().items():
                await self.client.create_payload_index(name, field, schema, wait=True)

    async def _create(self, name: str) -> None:
        meaning = models.VectorParams(size=self.dimension, distance=models.Distance.DOT)
        try:
            await self.client.create_collection(
                name,
                vectors_config={fields.MEANING: meaning},
                sparse_vectors_config={fields.WORDS: models.SparseVectorParams()},
                shard_number=self.place.shards,
                replication_factor=self.place.replicas,
                # all of them, so that whichever is asked knows what was written
                write_consistency_factor=self.place.replicas,
                # else a managed cluster refuses long lists and exact searches
                strict_mode_config=models.StrictModeConfig(enabled=False),
            )
        except UnexpectedResponse as error:
            if error.status_code != _CONFLICT:  # another process made it
                raise


def _indexes() -> dict[str, models.KeywordIndexParams | models.IntegerIndexParams]:
    """Return how each field is looked up."""
    return {
        fields.ACCOUNT: _keyword(fields.ACCOUNT, is_tenant=True),
        **{name: _keyword(name) for name in fields.KEYWORDS},
        **{name: _keyword(name, prefix=True) for name in fields.SOUGHT_IN},
        **dict.fromkeys(fields.NUMBERS, _integer(lookup=True)),
        **dict.fromkeys(fields.RANGES, _integer(lookup=False)),
    }


def _keyword(
    name: str, *, is_tenant: bool = False, prefix: bool = False
) -> models.KeywordIndexParams:
    return models.KeywordIndexParams(
        type=models.KeywordIndexType.KEYWORD,
        is_tenant=is_tenant,
        prefix=prefix,
        enable_hnsw=name in fields.LINKED,
    )


def _integer(*, lookup: bool) -> models.IntegerIndexParams:
    return models.IntegerIndexParams(
        type=models.IntegerIndexType.INTEGER, lookup=lookup, range=not lookup, enable_hnsw=False
    )


def _number(name: str) -> int:
    tail = name.rpartition("-")[2]
    return int(tail) if tail.isdecimal() else 0
