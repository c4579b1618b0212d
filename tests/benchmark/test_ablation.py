"""The ablation runner measures what its rows say, on a set small enough for the hash embedder."""

import json
from pathlib import Path

import numpy as np
import pytest

from contextfind.adapters.local.hash import HashEmbedder
from contextfind.answering.measures import Quality
from contextfind.domain.scope import Scope
from contextfind.domain.scoring import Calibration
from contextfind.domain.uri import ROOT
from contextfind.ports.models import Purpose
from contextfind.retrieval.walk import Ask
from examples.screen import screen
from tests.benchmark.ablation import Bench, as_json, chosen, library, measure
from tests.benchmark.sets import RetrievalSet
from tests.benchmark.tables import ablation_table, left_out, sweep_tables
from tests.benchmark.variants import ABLATIONS, FILES, FULL, Recipe, Variant, constants
from tests.benchmark.vectors import RememberingEmbedder
from tests.builders import unit
from tests.households import ANN

DOCUMENTS = {
    "ships/harbour.md": "# Harbour\n\nThe crane lifts containers from the ship.",
    "ships/anchor.md": "# Anchor\n\nAn anchor holds the ship in the bay.",
    "food/bread.md": "# Bread\n\nBread needs flour, water and salt.",
    "food/soup.md": "# Soup\n\nA soup is boiled from vegetables.",
}
QUERIES = {"crane containers": "ships/harbour.md", "flour and water": "food/bread.md"}


def small_set() -> RetrievalSet:
    root = "viking://resources/small"
    return RetrievalSet(
        "small",
        [(f"{root}/{path}", text) for path, text in DOCUMENTS.items()],
        [{"id": query, "query": query} for query in QUERIES],
        {query: {f"{root}/{path}": 1} for query, path in QUERIES.items()},
    )


def bench(folder: Path) -> Bench:
    return Bench(RememberingEmbedder(HashEmbedder("t"), folder), screen(stderr=True), 10)


async def test_every_variant_is_measured_on_every_set(tmp_path: Path) -> None:
    figures = await measure(bench(tmp_path), [small_set()], ABLATIONS)
    assert [one.ndcg for one in figures[FULL.key]["small"]] == [1.0, 1.0]
    assert all(len(figures[variant.key]["small"]) == 2 for variant in ABLATIONS)
    table = ablation_table(ABLATIONS, figures, ["small"]).splitlines()
    assert len(table) == len(ABLATIONS) + 2
    assert table[2] == "| full | 1.000 [1.000, 1.000] | 1.000 |"


@pytest.mark.parametrize("rule", [True, False])
async def test_the_rule_for_other_languages_can_be_left_out(tmp_path: Path, *, rule: bool) -> None:
    variant, scope = Variant("v", foreign_rule=rule), Scope("acme", "ann", (ROOT,))
    async with library(bench(tmp_path), small_set(), Recipe.HOUSE) as house:
        retriever = variant.retriever(house.index, Calibration(0.0, 1.0))
        walk = await retriever.retrieve(
            Ask(scope, FILES, 10, unit(1, HashEmbedder("t").dimension), ("unheard",))
        )
    assert walk.judge.words_known is not rule


@pytest.mark.parametrize(
    ("recipe", "first_line"),
    [
        (Recipe.HOUSE, "small > ships > harbour"),
        (Recipe.NO_CONTEXT, "# Harbour"),
        (Recipe.WHOLE, "small > ships > harbour"),
    ],
)
async def test_a_recipe_decides_what_is_indexed(
    tmp_path: Path, recipe: Recipe, first_line: str
) -> None:
    async with library(bench(tmp_path), small_set(), recipe) as house:
        harbour = await house.find("crane containers", ANN, limit=1)
        assert harbour[0].uri.name == "harbour.md"
        held = house.store._tree.passages.values()
    texts = [passage.indexed_text for passages in held for passage in passages]
    assert any(text.startswith(first_line) for text in texts)
    assert all(len(passages) == 1 for passages in held) or recipe is not Recipe.WHOLE


async def test_a_sweep_tells_what_leaving_a_set_out_costs(tmp_path: Path) -> None:
    embedder = bench(tmp_path)
    swept = constants(Calibration(0.1, 0.5))[:2]
    variants = [variant for one in swept for variant in one.values.values()]
    report = sweep_tables(swept, await measure(embedder, [small_set()], variants), ["small"])
    assert "| score_propagation_alpha | 0.6 | 1.0000 |" in report
    assert "| **0.5** |" in report


def test_a_set_has_no_say_in_the_value_it_is_measured_with() -> None:
    means = {"low": {"a": 0.9, "b": 0.1, "c": 0.1}, "high": {"a": 0.1, "b": 0.5, "c": 0.5}}
    assert left_out(means, ["a", "b", "c"], "low") == {"a": "high", "b": "low", "c": "low"}


def test_where_nothing_is_better_the_default_is_chosen() -> None:
    means = {"low": {"a": 0.5, "b": 0.5}, "usual": {"a": 0.5, "b": 0.5}}
    assert left_out(means, ["a", "b"], "usual") == {"a": "usual", "b": "usual"}


def test_the_default_of_a_constant_is_always_among_the_values() -> None:
    for constant in constants(Calibration(0.7, 0.2)):
        assert constant.values[constant.usual].scores == FULL.scores
        assert constant.values[constant.usual].walk == FULL.walk


def test_variants_are_chosen_by_a_word_and_come_with_the_full_one() -> None:
    assert [one.name for one in chosen(["walk alone"])] == ["full", "walk alone, no flat search"]
    assert chosen(None) == list(ABLATIONS)


class CountingEmbedder(HashEmbedder):
    """Counts the texts it is asked for."""

    asked = 0

    async def embed(self, inputs, purpose: Purpose):  # type: ignore[no-untyped-def]
        self.asked += len(inputs)
        return await super().embed(inputs, purpose)


async def test_a_text_is_embedded_once_in_all_runs(tmp_path: Path) -> None:
    inner = CountingEmbedder("t")
    first = RememberingEmbedder(inner, tmp_path)
    rows = await first.embed(["a b", "c", "a b"], "document")
    await first.aclose()
    again = RememberingEmbedder(inner, tmp_path)
    np.testing.assert_array_equal(await again.embed(["c", "a b"], "document"), rows[[1, 0]])
    assert (inner.asked, again.asked) == (2, 0)
    await again.embed(["c"], "query")  # a model may read a query otherwise
    assert again.asked == 1
    await again.aclose()


def test_figures_can_be_read_back() -> None:
    figures = {FULL.key: {"small": [Quality(0.5, 1.0, 1.0)]}}
    assert json.loads(as_json([FULL], (), figures)) == {"full": {"small": [0.5]}}
