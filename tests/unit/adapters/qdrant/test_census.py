"""What is counted in the cluster, and how long a count is believed."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest
from qdrant_client import AsyncQdrantClient, models

from contextfind.adapters.qdrant import fields
from contextfind.adapters.qdrant.census import KEPT_FOR, Counts
from contextfind.adapters.qdrant.cluster import Cluster
from contextfind.domain.errors import UnavailableError
from contextfind.domain.scope import Scope
from contextfind.domain.uri import ROOT

ANN, BEN = Scope("acme", "ann", (ROOT,)), Scope("acme", "ben", (ROOT,))


@dataclass(frozen=True)
class Counting(Cluster):
    """A cluster that knows how many passages of each owner have ten terms, and how many hold which."""

    passages: dict[str, int] = field(default_factory=dict)
    holders: dict[str, int] = field(default_factory=dict)
    mark: list[int] = field(default_factory=lambda: [1])
    asked: Counter[str] = field(default_factory=Counter)

    async def read(self, ids: list[str]) -> dict[str, dict[str, Any]]:  # type: ignore[override]
        return {point: {fields.POSITION: self.mark[0]} for point in ids}

    async def tally(self, field: str, where: models.Filter) -> dict[int, int]:
        assert field == fields.LENGTH
        self.asked["lengths"] += 1
        number = self.passages.get(said(where, fields.OWNER), 0)
        return {10: number} if number else {}

    async def count(self, where: models.Filter) -> int:
        term = said(where, fields.TERMS)
        self.asked[term] += 1
        if term == "trouble":
            raise UnavailableError("down")
        return self.holders[term]


def said(where: models.Filter, key: str) -> str:
    assert isinstance(where.must, list)
    [value] = [
        c.match.value
        for c in where.must
        if isinstance(c, models.FieldCondition)
        and c.key == key
        and isinstance(c.match, models.MatchValue)
    ]
    return str(value)


def cluster(passages: dict[str, int], **holders: int) -> Counting:
    return Counting(AsyncQdrantClient(":memory:"), "none", 1.0, passages, holders)


async def test_what_is_shared_and_what_is_owned_are_added() -> None:
    asked = cluster({"": 100, "ann": 20}, cache=7)
    found = await Counts().census(asked, ANN, ("cache", "cache"))
    assert found.lengths == {10: 120}
    assert found.holders == {"cache": 14}
    assert asked.asked == {"lengths": 2, "cache": 2}


async def test_nothing_is_counted_of_who_has_nothing_and_what_is_shared_once_for_all() -> None:
    asked, counts = cluster({"": 100}, cache=7), Counts()
    for scope in (ANN, BEN):
        found = await counts.census(asked, scope, ("cache",))
        assert found.holders == {"cache": 7}
    assert asked.asked == {"lengths": 3, "cache": 1}


@pytest.mark.parametrize(("step", "again"), [(1, ["rare"]), (3, ["rare"]), (4, ["common", "rare"])])
async def test_a_large_count_is_kept_for_some_changes_and_a_small_one_for_none(
    step: int, again: list[str]
) -> None:
    passages = 10 * KEPT_FOR
    asked = cluster({"": passages}, common=3 * KEPT_FOR, rare=KEPT_FOR - 1)
    counts = Counts()
    await counts.census(asked, ANN, ("common", "rare"))
    asked.asked.clear()
    asked.mark[0] += step
    await counts.census(asked, ANN, ("common", "rare"))
    assert sorted(term for term in asked.asked if term != "lengths") == again
    assert asked.asked["lengths"] == 1  # of who has nothing, which is a small number


async def test_a_count_that_fails_is_asked_again() -> None:
    asked, counts = cluster({"": 100}, cache=7, deploy=1), Counts()
    with pytest.raises(UnavailableError):
        await counts.census(asked, ANN, ("cache", "trouble", "deploy"))
    found = await counts.census(asked, ANN, ("cache", "deploy"))
    assert found.holders == {"cache": 7, "deploy": 1}
