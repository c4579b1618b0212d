"""When a search may stop, and when it has to ask again."""

from collections.abc import Sequence
from typing import Any

import pytest
from qdrant_client import AsyncQdrantClient, models

from contextfind.adapters.qdrant.words import MEAN_LENGTH, Asked, Census, Text, stored_weights
from contextfind.domain.filters import Everything, Filter, OneOf
from contextfind.domain.scope import Scope
from contextfind.domain.uri import ROOT
from contextfind.ports.index import Probe, SearchIndex
from tests.builders import make_change, make_record, unit
from tests.clusters import MISERLY, local_index, miserly_index

ANN = Scope("acme", "ann", (ROOT,))


async def found(index: SearchIndex, probe: Probe) -> list[int]:
    [hits] = await index.search([probe])
    return [hit.id for hit in hits]


def by_words(*terms: str, limit: int = 1) -> Probe:
    return Probe(ANN, Everything(), limit, None, terms)


async def test_who_ranks_lower_by_the_bound_may_be_worth_more() -> None:
    index = await miserly_index()
    texts = ["cache cache" + 10 * " the", "cache"]  # the longer one is ranked first in the cluster
    await index.follow(
        [
            make_change(i, make_record(i, f"viking://resources/{i}.md"), [text])
            for i, text in enumerate(texts, 1)
        ]
    )
    assert await found(index, by_words("cache")) == [2]
    await index.aclose()


async def test_of_many_equally_near_the_first_in_tree_order_is_shown() -> None:
    index = await miserly_index()
    await index.follow(
        [
            make_change(i, make_record(i, f"viking://resources/{99 - i}.md"), ["cache"], [1])
            for i in range(1, 40)
        ]
    )
    assert await found(index, Probe(ANN, Everything(), 1, unit(1))) == [39]
    assert await found(index, by_words("cache")) == [39]
    await index.aclose()


async def test_a_record_of_many_passages_leaves_room_for_others() -> None:
    index = await miserly_index()
    many = make_record(1, "viking://resources/many.md")
    other = make_record(2, "viking://resources/other.md")
    await index.follow(
        [make_change(1, many, ["cache"] * 50, [1] * 50), make_change(2, other, ["the"], [2])]
    )
    assert await found(index, Probe(ANN, Everything(), 2, unit(1))) == [1, 2]
    await index.aclose()


class Forgetful(AsyncQdrantClient):
    """Passes most points over unless it is told to look at all, as a graph may do."""

    async def query_batch_points(
        self, collection_name: str, requests: Sequence[models.QueryRequest], **kwargs: Any
    ) -> list[models.QueryResponse]:
        answers = await super().query_batch_points(collection_name, requests, **kwargs)
        for request, answer in zip(requests, answers, strict=True):
            if request.params is not None and not request.params.exact:
                answer.points = answer.points[::7]
        return answers


@pytest.mark.parametrize("where", [Everything(), OneOf("level", frozenset({"2"}))])
async def test_what_a_graph_passes_over_is_found_all_the_same(where: Filter) -> None:
    index = await local_index(Forgetful(":memory:"), rules=MISERLY)
    await index.follow(
        [
            make_change(i, make_record(i, f"viking://resources/{i}.md"), ["cache"], [i])
            for i in range(10, 40)
        ]
    )
    assert len(await found(index, Probe(ANN, where, 25, unit(1)))) == 25
    await index.aclose()


def test_no_word_is_worth_less_than_nothing_though_counts_were_made_at_different_times() -> None:
    asked = Asked.of(("cache", "deploy"), Census({10: 5}, {"cache": 9, "deploy": 5}))
    assert min(asked.idf.values()) > 0


@pytest.mark.parametrize("mean", [MEAN_LENGTH / 9, MEAN_LENGTH, 3 * MEAN_LENGTH])
@pytest.mark.parametrize("length", [3, 40, 2_000])
@pytest.mark.parametrize("repeats", [1, 3])
def test_no_passage_is_worth_more_than_its_bound(mean: float, length: int, repeats: int) -> None:
    terms = ["cache"] * repeats + ["the"] * (length - repeats)
    filling = round((2_000 * mean - 2_000) / 1_999)  # so that the mean is about that
    census = Census({2_000: 1, filling: 1_999}, {"cache": 5, "the": 9})
    asked = Asked.of(("cache", "the", "unheard"), census)
    weights, stored = asked.weights, stored_weights(terms)
    assert weights is not None
    assert stored is not None
    held = dict(zip(stored.indices, stored.values, strict=True))
    ranked = sum(w * held.get(n, 0.0) for n, w in zip(weights.indices, weights.values, strict=True))
    worth = asked.score(Text.of(0, terms))
    assert worth <= asked.bound(ranked)
    assert asked.bound(ranked) <= 3 * worth  # and it says something
