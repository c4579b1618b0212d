"""Where an index lies: one collection for each embedder, and how a new one takes the place of the old."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

import pytest
from qdrant_client import AsyncQdrantClient

from contextfind.adapters.qdrant.index import QdrantIndex
from contextfind.domain.errors import UnavailableError
from contextfind.domain.filters import Everything
from contextfind.domain.scope import Scope
from contextfind.domain.uri import ROOT
from contextfind.ports.index import Probe
from contextfind.ports.store import Change
from tests.builders import DIMENSION, make_change, make_record, make_removal, unit, units
from tests.clusters import NOWHERE, local_index
from tests.fakes import SimpleTokenizer

LOG = [
    make_change(1, make_record(1), ["cache", "deploy"], [1, 2]),
    make_change(2, make_record(2, "viking://resources/b.md"), ["cache"], [3]),
    make_removal(4, 2),
    make_change(5, make_record(3, "viking://resources/c.md"), ["cache"], [4]),
]
PROBE = Probe(Scope("acme", "ann", (ROOT,)), Everything(), 9, unit(1), ("cache",))


@pytest.fixture
async def client() -> AsyncIterator[AsyncQdrantClient]:
    made = AsyncQdrantClient(":memory:")
    yield made
    await made.close()


async def read(after: int, limit: int) -> Sequence[Change]:
    return [change for change in LOG if change.position > after][:limit]


async def passed(position: int) -> None:
    assert position > 0


async def found(index: QdrantIndex) -> list[int]:
    [hits] = await index.search([PROBE])
    return [hit.id for hit in hits]


async def names(client: AsyncQdrantClient) -> list[str]:
    return [one.name.rpartition("-")[2] for one in (await client.get_collections()).collections]


async def test_an_index_that_is_opened_again_goes_on(client: AsyncQdrantClient) -> None:
    await (await local_index(client)).follow(LOG)
    again = await local_index(client)
    assert await again.position() == 5
    assert await again.kept() == 5
    assert await found(again) == [1, 3]
    assert await names(client) == ["1"]


@pytest.mark.parametrize(("dimension", "fingerprint"), [(DIMENSION + 1, "tests"), (8, "other")])
async def test_vectors_of_another_embedder_never_meet_ours(
    client: AsyncQdrantClient, dimension: int, fingerprint: str
) -> None:
    await (await local_index(client)).follow(LOG)
    other = await QdrantIndex.open(NOWHERE, dimension, fingerprint, SimpleTokenizer(), client)
    assert await other.position() == 0
    [hits] = await other.search([replace(PROBE, vector=unit(1, dimension))])
    assert list(hits) == []


async def test_deployments_of_one_cluster_are_told_apart_by_their_prefix(
    client: AsyncQdrantClient,
) -> None:
    await (await local_index(client)).follow(LOG)
    place = replace(NOWHERE, prefix="another")
    other = await QdrantIndex.open(place, DIMENSION, "tests", SimpleTokenizer(), client)
    assert await other.position() == 0


async def test_two_that_open_at_once_share_one_collection(client: AsyncQdrantClient) -> None:
    one, other = await asyncio.gather(local_index(client), local_index(client))
    await one.follow(LOG)
    assert await found(other) == [1, 3]
    assert await names(client) == ["1"]


async def test_a_rebuilt_index_takes_the_place_of_the_old_for_all(
    client: AsyncQdrantClient,
) -> None:
    one, other = await local_index(client), await local_index(client)
    await one.follow(LOG)
    await one._cluster.client.delete(  # what only a rebuild mends
        one._cluster.name, [str(p.id) for p in (await client.scroll(one._cluster.name))[0]][:2]
    )
    steps: list[int] = []

    async def step(position: int) -> None:
        steps.append(position)

    before = await one.position()
    if before != 5:  # the point of the position was among those that were lost
        await one.follow(LOG)
    assert await one.rebuild(read, step) == []
    assert steps[-1] == 5
    assert await found(one) == await found(other) == [1, 3]
    assert await other.position() == 5
    assert await names(client) == ["2"]
    assert one.stats() == {"position": 5, "records": 2, "rows": 3}
    await one.rebuild(read, step)
    assert await names(client) == ["3"]


async def test_damaged_vectors_are_left_out_of_a_rebuilt_index_and_named(
    client: AsyncQdrantClient,
) -> None:
    index = await local_index(client)
    await index.follow(LOG)
    damaged = replace(LOG[0], vectors=units([1, 2], DIMENSION + 2))

    async def log(after: int, limit: int) -> Sequence[Change]:
        return [change for change in [damaged, *LOG[1:]] if change.position > after][:limit]

    assert await index.rebuild(log, passed) == [1]
    [hits] = await index.search([PROBE])
    assert [(hit.id, hit.cosine is None) for hit in hits] == [(1, True), (3, False)]


@pytest.mark.parametrize("error", [UnavailableError("no log"), asyncio.CancelledError()])
async def test_a_rebuild_that_fails_leaves_the_old_one(
    client: AsyncQdrantClient, error: BaseException
) -> None:
    index = await local_index(client)
    await index.follow(LOG)

    async def failing(position: int) -> None:
        assert position == 5
        raise error

    with pytest.raises(type(error)):
        await index.rebuild(read, failing)
    assert await found(index) == [1, 3]
    assert await names(client) == ["1"]


async def test_what_a_killed_rebuild_left_is_removed_by_the_next(
    client: AsyncQdrantClient,
) -> None:
    index = await local_index(client)
    await index.follow(LOG)
    await index._collections.begin()
    assert await names(client) == ["1", "2"]
    await index.rebuild(read, passed)
    assert await names(client) == ["2"]
    assert await found(index) == [1, 3]


async def test_what_is_followed_during_a_rebuild_is_in_it(client: AsyncQdrantClient) -> None:
    index = await local_index(client)
    other = await local_index(client)
    await index.follow(LOG[:2])

    async def step(position: int) -> None:
        if position == 2:
            await index.follow(LOG[2:])
        assert await other.kept() == 0  # it needs all of the log

    async def two(after: int, limit: int) -> Sequence[Change]:
        return await read(after, min(limit, 2))

    await index.rebuild(two, step)
    assert await other.kept() == 5
    assert await found(index) == [1, 3]
