"""Following the log into a cluster that others follow and search too, and that fails in the middle."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from qdrant_client import AsyncQdrantClient, models

from contextfind.adapters.qdrant.cluster import Cluster
from contextfind.adapters.qdrant.following import follow
from contextfind.adapters.qdrant.index import QdrantIndex
from contextfind.domain.errors import UnavailableError
from contextfind.domain.filters import Everything
from contextfind.domain.scope import Scope
from contextfind.domain.uri import ROOT
from contextfind.ports.index import Hit, Probe
from contextfind.ports.store import Change
from tests.builders import make_change, make_record, make_removal, unit
from tests.clusters import local_index
from tests.fakes import SimpleTokenizer

ANN = Scope("acme", "ann", (ROOT,))
CACHE = Probe(ANN, Everything(), 10, unit(1), ("cache", "deploy"))

first = make_change(1, make_record(1), ["cache", "cache the", "deploy"], [1, 2, 3])
second = make_change(2, make_record(2, "viking://resources/b.md"), ["deploy"], [4])
shorter = make_change(3, make_record(1), ["deploy"], [5])
removed = make_removal(4, 2)
LOG = [first, second, shorter, removed]


async def hits(index: QdrantIndex) -> list[Hit]:
    [found] = await index.search([CACHE])
    return list(found)


async def expected(log: Sequence[Change]) -> list[Hit]:
    index = await local_index()
    await index.follow(log)
    return await hits(index)


class Failing(AsyncQdrantClient):
    """Takes some updates more, and then none until it is told to."""

    left: int | None = None

    async def batch_update_points(
        self, collection_name: str, update_operations: Sequence[models.UpdateOperation], **_: Any
    ) -> list[models.UpdateResult]:
        done = []
        for step in update_operations:
            if self.left == 0:
                raise TimeoutError
            self.left = None if self.left is None else self.left - 1
            done += await super().batch_update_points(collection_name, [step])
        return done


@pytest.mark.parametrize("taken", range(8))
async def test_whatever_of_it_was_written_before_it_failed_repeating_makes_it_whole(
    taken: int,
) -> None:
    client = Failing(":memory:")
    index = await local_index(client)
    await index.follow(LOG[:2])
    await hits(index)  # counts what is there, and keeps that
    client.left = taken
    try:
        await index.follow(LOG[2:])
    except UnavailableError:
        assert await index.position() == 2
        await hits(index)
    client.left = None
    await index.follow(LOG[2:])
    assert await hits(index) == await expected(LOG)
    assert await index.position() == 4


async def test_what_one_process_follows_another_finds_with_its_counts() -> None:
    client = AsyncQdrantClient(":memory:")
    one, other = await local_index(client), await local_index(client)
    for change in LOG:
        await one.follow([change])
        assert await hits(other) == await hits(one)
    assert await other.position() == 4
    assert await hits(other) == await expected(LOG)


class _Late(Cluster):
    """Still believes that nothing was followed."""

    async def read(self, ids: Sequence[str]) -> dict[str, dict[str, Any]]:  # noqa: ARG002 - it knows nothing
        return {}


async def test_who_follows_late_overwrites_nothing_newer() -> None:
    """It read the log when only two changes were there, and writes when four have been followed."""
    client = AsyncQdrantClient(":memory:")
    index = await local_index(client)
    await index.follow(LOG)
    stale = _Late(index._cluster.client, index._cluster.name, index._cluster.timeout)
    await follow(stale, SimpleTokenizer(), LOG[:2])
    assert await index.position() == 4
    found = await hits(index)
    assert [(hit.id, hit.passage) for hit in found] == [(1, 0)]
    assert found[0].cosine == pytest.approx(float(unit(1) @ unit(5)), abs=1e-6)
    await index.follow([replace(shorter, position=5)])  # sweeps what the late one left
    assert await hits(index) == await expected([*LOG, replace(shorter, position=5)])


async def test_many_at_once_come_to_the_same() -> None:
    client = AsyncQdrantClient(":memory:")
    indexes = [await local_index(client) for _ in range(4)]
    await asyncio.gather(
        *(index.follow(LOG[low : low + 2]) for low in range(0, len(LOG), 2) for index in indexes)
    )
    assert await hits(indexes[0]) == await expected(LOG)


async def test_a_record_of_many_passages_is_written_in_parts() -> None:
    index = await local_index()
    texts = [f"w{number} cache" for number in range(300)]
    await index.follow([make_change(1, make_record(1), texts, [1] * 300)])
    [found] = await index.search([Probe(ANN, Everything(), 1, None, ("w299",))])
    assert [(hit.id, hit.passage) for hit in found] == [(1, 299)]


async def test_counts_are_kept_while_only_other_accounts_change() -> None:
    client = AsyncQdrantClient(":memory:")
    index = await local_index(client)
    await index.follow([first])
    await hits(index)
    asked: list[str] = []
    count = client.count

    async def counting(*args: Any, **kwargs: Any) -> models.CountResult:
        asked.append("count")
        return await count(*args, **kwargs)

    client.count = counting  # type: ignore[method-assign]
    foreign = make_record(9, "viking://resources/x.md", account="bolt")
    await index.follow([make_change(2, foreign, ["cache"], [1])])
    await hits(index)
    assert asked == []
    await index.follow([replace(second, position=3)])
    await hits(index)
    assert asked != []
