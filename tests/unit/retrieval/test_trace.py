"""What a trace tells of a find in a small house."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from contextfind.adapters.local.hash import HashEmbedder
from contextfind.domain.filters import OneOf
from contextfind.domain.identity import RequestContext
from contextfind.domain.queries import FindQuestion
from contextfind.domain.records import Level
from contextfind.domain.results import Step, Trace
from contextfind.domain.scoring import ScoreRules
from contextfind.domain.uri import Uri
from contextfind.retrieval.finder import Finder
from contextfind.retrieval.frontier import WalkRules
from contextfind.retrieval.walk import HierarchicalRetriever
from tests.households import ANN, DOCS, Household, household

FILES = {
    "release/rollback.md": "Roll back a release with the zebra switch.",
    "release/notes.md": "The notes of the release.",
    "release/old/copy.md": "Roll back a release with the zebra switch.",
    "food/menu.md": "Soup on Mondays, pancakes on Fridays.",
}


@pytest.fixture
async def house() -> AsyncIterator[Household]:
    async with household() as built:
        await built.add(FILES)
        yield built


async def traced(house: Household, query: str = "zebra switch", **fields: object) -> Trace:
    question = FindQuestion(query, include_provenance=True, **fields)  # type: ignore[arg-type]
    (told,) = (await house.finder.find(RequestContext(ANN, "r"), question)).query_results
    return told.trace


def scored_by(rules: ScoreRules, house: Household) -> Household:
    retriever = HierarchicalRetriever(
        house.index, HashEmbedder("t").calibration, rules, WalkRules()
    )
    return replace(house, finder=Finder(house.reading, retriever))


def of(trace: Trace, event: str) -> list[Step]:
    return [step for step in trace.steps if step.event == event]


def at(trace: Trace, path: str, level: Level = Level.DETAIL) -> Step:
    uri = Uri(f"{DOCS.text}/{path}")
    return next(step for step in trace.steps if (step.uri, step.level) == (uri, level))


async def test_directories_are_told_in_the_order_and_round_they_were_opened_in(
    house: Household,
) -> None:
    opened = of(await traced(house), "open")
    rounds = [step.round for step in opened]
    assert rounds[0] == 1
    assert rounds == sorted(rounds, key=lambda number: number or 0)
    assert all(step.reason.startswith(f"round {step.round}: ") for step in opened)


async def test_a_hit_tells_both_channels_and_that_it_is_the_best_of_its_directory(
    house: Household,
) -> None:
    step = at(await traced(house), "release/rollback.md")
    parts = step.parts
    assert parts is not None
    assert parts.meaning is not None
    assert parts.words is not None
    assert parts.witness == step.uri
    assert parts.evidence == parts.own
    assert (parts.reranked, parts.hotness) == (None, None)
    assert step.reason == (
        f"own {parts.own:.2f} (meaning {parts.meaning:.2f}, words {parts.words:.2f}), "
        "the best of its directory"
    )


async def test_a_hit_that_its_directory_lifts_names_the_file_that_did_it(house: Household) -> None:
    trace = await traced(house)
    best, lifted = at(trace, "release/rollback.md"), at(trace, "release/notes.md")
    assert best.parts is not None
    assert lifted.parts is not None
    assert lifted.parts.witness == best.uri
    assert lifted.parts.evidence == best.parts.own
    assert lifted.reason.endswith(f"its directory {best.parts.own:.2f} by rollback.md")


async def test_a_directory_names_the_file_below_that_makes_it_interesting(
    house: Household,
) -> None:
    step = at(await traced(house), "release", Level.ABSTRACT)
    assert step.parts is not None
    assert step.parts.witness == Uri(f"{DOCS.text}/release/rollback.md")
    assert "files below" in step.reason
    assert step.reason.endswith(" by rollback.md")


async def test_a_copy_is_cut_by_the_name_of_the_hit_that_stands_for_it(house: Household) -> None:
    copies = [step for step in of(await traced(house), "cut") if "same text" in step.rule]
    assert [step.rule for step in copies] == [f"the same text as {DOCS.text}/release/rollback.md"]


async def test_the_summary_of_a_directory_of_copies_names_the_hit_that_stands_for_it(
    house: Household,
) -> None:
    told = [step for step in of(await traced(house), "cut") if "its best file" in step.rule]
    leader = f"{DOCS.text}/release/rollback.md"
    assert {step.rule for step in told} == {f"its best file says the same as {leader}"}
    assert {step.uri for step in told} == {Uri(f"{DOCS.text}/release/old")}


async def test_each_cut_names_its_rule_and_a_kept_hit_has_none(house: Household) -> None:
    trace = await traced(house, limit=1)
    assert {step.rule for step in of(trace, "keep")} == {""}
    assert {step.rule for step in of(trace, "cut")} >= {"beyond limit 1"}
    assert all(step.reason.startswith(step.rule) for step in of(trace, "cut"))
    strict = await traced(house, score_threshold=1.0)
    assert {step.rule for step in of(strict, "cut")} == {"below score_threshold 1"}


async def test_how_scores_are_made_is_said_once(house: Household) -> None:
    assert list((await traced(house)).formulas) == [
        "own = 0.5 meaning + 0.5 words",
        "meaning = how near it is to the question: 0.6 its best passage + 0.4 mean of its best four",
        "words = how much of the question one passage holds + 0.3 how much of it side by side",
        "score of a file = 0.6 own + 0.4 best own of its directory",
        "score of a directory = its best file below, times 0.8 + 0.2 own",
    ]
    unknown = (await traced(house, "quokka")).formulas
    assert unknown[0] == "own = meaning: no word of the question is known here"
    assert not [line for line in unknown if line.startswith("words")]


async def test_ingredients_that_are_switched_off_are_not_told_of(house: Household) -> None:
    plain = ScoreRules(support_weight=0.0, phrase_weight=0.0)
    assert list((await traced(scored_by(plain, house))).formulas)[1:3] == [
        "meaning = how near it is to the question: its best passage",
        "words = how much of the question one passage holds",
    ]


async def test_no_part_of_a_score_is_told_as_more_than_all(house: Household) -> None:
    keen = scored_by(ScoreRules(phrase_weight=1.0), house)
    step = at(await traced(keen, "roll back release with zebra switch"), "release/rollback.md")
    assert step.parts is not None
    assert step.parts.words == 1.0


async def test_the_plan_of_the_index_is_told_for_hits_and_under_a_filter_for_directories(
    house: Household,
) -> None:
    (hits,) = (await traced(house)).plans
    assert hits.startswith("hits: exact scan of ")
    plans = (await traced(house, where=OneOf("level", frozenset({"2"})))).plans
    assert [plan.partition(":")[0] for plan in plans] == ["hits", "directories to start from"]
    assert all("exact scan of " in plan for plan in plans)
