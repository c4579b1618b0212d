import time
from collections.abc import Sequence
from dataclasses import replace

import pytest

from contextfind.adapters.local.hash import HashEmbedder
from contextfind.adapters.local.words import WordTokenizer
from contextfind.adapters.memory.blobs import MemoryBlobs
from contextfind.adapters.memory.index import MemoryIndex
from contextfind.adapters.memory.store import MemoryRecordStore
from contextfind.domain.documents import make_passage
from contextfind.domain.errors import InvalidArgumentError, PermissionDeniedError, UnavailableError
from contextfind.domain.filters import OneOf, Tagged
from contextfind.domain.identity import Identity, RequestContext
from contextfind.domain.queries import FindQuestion
from contextfind.domain.records import Level, Matrix, RecordId, context_type_of
from contextfind.domain.results import FindResult
from contextfind.domain.scope import Scope
from contextfind.domain.scoring import Calibration, ScoreRules
from contextfind.domain.uri import ROOT, Uri
from contextfind.ports import Commit, Hits, Probe, Purpose, RecordDraft
from contextfind.retrieval import finder
from contextfind.retrieval.finder import LONGEST_QUERY, Finder, Reading
from contextfind.retrieval.frontier import WalkRules
from contextfind.retrieval.uses import Count, uncounted
from contextfind.retrieval.walk import HierarchicalRetriever
from tests.builders import NOON
from tests.households import household

ANN = RequestContext(Identity("acme", "ann"), "r1")
BEN = RequestContext(Identity("acme", "ben"), "r2")
TEXTS = {
    "viking://resources/ops/rollback.md": "How to roll back a release: stop the canary, redeploy.",
    "viking://resources/ops/backup.md": "The database backup runs every night at two.",
    "viking://user/ann/memories/taste.md": "Ann prefers short answers about rollback.",
    "viking://user/ben/memories/locker.md": "My locker is 42.",
    "viking://agent/skills/undo/SKILL.md": "Undo a release step by step.",
}


class DeadEmbedder(HashEmbedder):
    async def embed(self, inputs: Sequence[str], purpose: Purpose) -> Matrix:  # noqa: ARG002
        raise UnavailableError("the embedder at http://127.0.0.1:9 does not answer")


class House:
    """A store, its blobs and an index that has followed it."""

    def __init__(self, embedder: HashEmbedder) -> None:
        self.store, self.blobs, self.embedder = MemoryRecordStore(), MemoryBlobs(), embedder
        self.index = MemoryIndex(WordTokenizer())

    async def fill(self, texts: dict[str, str]) -> None:
        drafts = []
        for address, text in texts.items():
            uri = Uri.parse(address)
            (content,) = await self.blobs.put([text.encode()])
            drafts.append(
                RecordDraft(
                    uri,
                    Level.DETAIL,
                    context_type_of(uri),
                    text[:40],
                    (make_passage(0, "Steps", text, uri.name),),
                    tags=("team=ops",) if "ops" in address else (),
                    content=content,
                    size=len(text.encode()),
                )
            )
        await self.store.commit(Commit("acme", NOON, put=drafts))
        pending = await self.store.pending(100)
        rows = await HashEmbedder("t").embed([one.text for one in pending], "document")
        await self.store.add_vectors([(p.digest, r) for p, r in zip(pending, rows, strict=True)])
        await self.index.follow(await self.store.changes(0, 1_000))

    def finder(self, count: Count = uncounted) -> Finder:
        async def ready() -> None:
            return None

        reading = Reading(
            self.store, self.blobs, self.embedder, WordTokenizer(), ready, time.perf_counter,
            count=count,
        )  # fmt: skip
        return Finder(
            reading,
            HierarchicalRetriever(self.index, self.embedder.calibration, ScoreRules(), WalkRules()),
        )


@pytest.fixture
async def house() -> House:
    built = House(HashEmbedder("t"))
    await built.fill(TEXTS)
    return built


def addresses(result: FindResult) -> list[str]:
    hits = [*result.memories, *result.resources, *result.skills]
    return [hit.uri.text for hit in sorted(hits, key=lambda hit: -hit.score)]


async def test_hits_are_grouped_by_kind_and_say_why(house: House) -> None:
    result = await house.finder().find(ANN, FindQuestion("rollback a release"))
    assert [hit.uri.name for hit in result.resources][:1] == ["rollback.md"]
    assert [hit.uri.name for hit in result.memories] == ["taste.md"]
    assert [hit.uri.name for hit in result.skills] == ["SKILL.md"]
    assert result.total == len(addresses(result))
    assert result.resources[0].match_reason.startswith("section 'Steps', words: ")


async def test_another_users_tree_is_invisible_and_refused_as_target(house: House) -> None:
    seen = addresses(await house.finder().find(ANN, FindQuestion("locker 42")))
    assert not any("ben" in address for address in seen)
    own = addresses(await house.finder().find(BEN, FindQuestion("locker 42")))
    assert own[0] == "viking://user/ben/memories/locker.md"
    with pytest.raises(PermissionDeniedError, match="another user's tree"):
        await house.finder().find(
            ANN, FindQuestion("locker", targets=[Uri.parse("viking://user/ben")])
        )


async def test_an_empty_target_list_means_nothing_and_none_means_everything(house: House) -> None:
    assert (await house.finder().find(ANN, FindQuestion("rollback", targets=[]))).total == 0
    assert (await house.finder().find(ANN, FindQuestion("rollback"))).total > 0


async def test_unknown_targets_are_named_and_spoil_nothing(house: House) -> None:
    there, gone = Uri.parse("viking://resources/ops"), Uri.parse("viking://resources/gone")
    result = await house.finder().find(ANN, FindQuestion("rollback", targets=[there, gone]))
    assert list(result.unknown_targets) == [gone]
    assert addresses(result)[0] == "viking://resources/ops/rollback.md"


async def test_the_threshold_is_inclusive_on_the_shown_score(house: House) -> None:
    first = await house.finder().find(ANN, FindQuestion("rollback a release"))
    scores = sorted((h.score for h in first.resources), reverse=True)
    cut = await house.finder().find(
        ANN, FindQuestion("rollback a release", score_threshold=scores[1])
    )
    assert len(cut.resources) == len([s for s in scores if s >= scores[1]])


async def test_without_text_the_filter_selects_with_score_zero(house: House) -> None:
    question = FindQuestion(where=Tagged("team=ops"), selective=True)
    result = await house.finder().find(ANN, question)
    assert [hit.uri.name for hit in result.resources] == ["backup.md", "rollback.md"]
    assert {hit.score for hit in result.resources} == {0.0}


async def test_without_text_and_filter_it_is_refused_with_the_ways_out(house: House) -> None:
    with pytest.raises(InvalidArgumentError, match="context_type"):
        await house.finder().find(ANN, FindQuestion("  "))


async def test_content_is_read_and_a_lost_body_keeps_its_hit(house: House) -> None:
    house.blobs = MemoryBlobs()
    await house.blobs.put([TEXTS["viking://resources/ops/backup.md"].encode()])
    result = await house.finder().find(
        ANN, FindQuestion("release backup", read_content=True, limit=10)
    )
    by_name = {hit.uri.name: hit for hit in result.resources}
    assert by_name["backup.md"].content == TEXTS["viking://resources/ops/backup.md"]
    assert by_name["rollback.md"].content is None


async def test_texts_that_are_too_much_for_one_answer_are_left_out_from_the_end(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    ops = [Uri("viking://resources/ops")]
    question = FindQuestion("release backup", targets=ops, read_content=True, limit=10)
    first, second = (await house.finder().find(ANN, question)).resources
    size = sum(len((hit.content or "").encode()) for hit in (first, second))
    for most, second_is_read in ((size, True), (size - 1, False), (0, False)):
        monkeypatch.setattr(finder, "MOST_READ", most)
        found = await house.finder().find(ANN, question)
        assert [hit.uri for hit in found.resources] == [first.uri, second.uri]
        assert found.resources[0].content == first.content
        assert found.resources[1].content == (second.content if second_is_read else None)
        told = "the texts of the last 1 hits would be too much for one answer"
        assert found.notes == ([] if second_is_read else [told])


async def test_a_dead_embedder_leaves_the_words_and_a_note(house: House) -> None:
    house.embedder = DeadEmbedder("t")
    question = FindQuestion("database backup", include_provenance=True)
    result = await house.finder().find(ANN, question)
    assert addresses(result)[0] == "viking://resources/ops/backup.md"
    assert "searched by words only" in result.notes[0]
    assert result.words_only
    (told,) = result.query_results
    assert told.trace.formulas[0].startswith("own = square root of words")


async def test_what_was_deleted_is_not_found_even_when_the_index_lags(house: House) -> None:
    gone = Uri.parse("viking://resources/ops/rollback.md")
    await house.store.commit(Commit("acme", NOON, remove=[gone]))
    result = await house.finder().find(ANN, FindQuestion("rollback a release", limit=2))
    assert gone.text not in addresses(result)
    assert result.total == 2


async def test_a_filter_narrows_hits(house: House) -> None:
    where = OneOf("context_type", frozenset({"skill"}))
    result = await house.finder().find(ANN, FindQuestion("rollback release", where=where))
    assert result.total == len(result.skills) == 1


async def test_the_trace_tells_the_walk_the_hits_the_runners_up_and_the_end(house: House) -> None:
    question = FindQuestion("rollback a release", limit=1, include_provenance=True)
    result = await house.finder().find(ANN, question)
    (told,) = result.query_results
    events = [step.event for step in told.trace.steps]
    assert events == sorted(events, key=["open", "keep", "cut", "end"].index)
    assert Uri("viking://resources/ops") in told.searched_directories
    (kept,) = [step for step in told.trace.steps if step.event == "keep"]
    assert kept.uri == result.resources[0].uri
    assert kept.score == result.resources[0].score
    cuts = [step for step in told.trace.steps if step.event == "cut"]
    assert cuts
    assert all(step.reason.startswith("beyond limit 1; own ") for step in cuts)
    assert told.trace.candidates == len(cuts) + 1
    assert told.trace.steps[-1].reason == "converged: the best 1 stayed the same for a round"


async def test_the_trace_names_the_threshold_that_cut_a_hit(house: House) -> None:
    question = FindQuestion("rollback", score_threshold=0.99, include_provenance=True)
    (told,) = (await house.finder().find(ANN, question)).query_results
    reasons = [step.reason for step in told.trace.steps if step.event == "cut"]
    assert reasons
    assert all(reason.startswith("below score_threshold 0.99") for reason in reasons)


async def test_nothing_of_others_is_told_in_a_trace(house: House) -> None:
    question = FindQuestion("locker 42", include_provenance=True)
    (told,) = (await house.finder().find(ANN, question)).query_results
    named = {step.uri.text for step in told.trace.steps if step.uri is not None}
    assert not any("ben" in address for address in named)


async def test_the_trace_says_of_a_hit_that_it_was_deleted_a_moment_ago(house: House) -> None:
    gone = Uri.parse("viking://resources/ops/rollback.md")
    await house.store.commit(Commit("acme", NOON, remove=[gone]))
    question = FindQuestion("rollback a release", include_provenance=True)
    (told,) = (await house.finder().find(ANN, question)).query_results
    (step,) = [step for step in told.trace.steps if step.uri == gone]
    assert (step.event, step.rule) == ("cut", "deleted a moment ago")


class ExplainingIndex(MemoryIndex):
    """Counts how often it is asked to explain itself."""

    explained = 0

    async def explain(self, probes: Sequence[Probe]) -> Sequence[str]:
        self.explained += 1
        return await super().explain(probes)


async def test_without_being_asked_no_trace_is_made_and_the_index_explains_nothing(
    house: House,
) -> None:
    house.index = ExplainingIndex(WordTokenizer())
    await house.index.follow(await house.store.changes(0, 1_000))
    assert (await house.finder().find(ANN, FindQuestion("rollback"))).query_results == ()
    assert house.index.explained == 0
    await house.finder().find(ANN, FindQuestion("rollback", include_provenance=True))
    assert house.index.explained == 1


async def test_a_hit_counts_as_used_when_its_body_is_given_along(house: House) -> None:
    used: list[RecordId] = []
    finder = house.finder(used.append)
    await finder.find(ANN, FindQuestion("rollback a release", limit=2))
    assert used == []
    found = await finder.find(ANN, FindQuestion("rollback a release", limit=2, read_content=True))
    assert len(used) == len(set(used)) == found.total == 2


async def test_of_a_very_long_query_the_beginning_is_searched_and_a_note_says_so(
    house: House,
) -> None:
    beginning = "rollback " * (LONGEST_QUERY // 9)
    long = beginning.ljust(LONGEST_QUERY) + "locker " * 100_000
    found = await house.finder().find(ANN, FindQuestion(long))
    assert found.notes == [f"of the query the first {LONGEST_QUERY} characters were searched"]
    exact = await house.finder().find(ANN, FindQuestion(beginning.ljust(LONGEST_QUERY)))
    assert exact.notes == []
    assert (found.resources, found.memories) == (exact.resources, exact.memories)


async def test_a_filter_does_not_change_what_a_score_means() -> None:
    house = House(HashEmbedder("t", calibration=Calibration(-1.0, 2.0)))  # any pair means something
    await house.fill(TEXTS)
    query = "nightly database"  # words of a resource; no skill has any of them
    every = await house.finder().find(ANN, FindQuestion(query))
    where = OneOf("context_type", frozenset({"skill"}))
    skills = await house.finder().find(ANN, FindQuestion(query, where=where))
    assert [hit.score for hit in skills.skills] == [hit.score for hit in every.skills]
    assert every.skills[0].score > 0


class LyingIndex(MemoryIndex):
    """Calls every record it finds by the number of somebody else's."""

    def __init__(self, foreign: RecordId) -> None:
        super().__init__(WordTokenizer())
        self.foreign = foreign

    async def search(self, probes: Sequence[Probe]) -> Sequence[Hits]:
        answers = await super().search(probes)
        return [Hits.of(replace(hit, id=self.foreign) for hit in hits) for hits in answers]


async def test_an_index_that_is_wrong_shows_nobody_anything(house: House) -> None:
    everyone = Scope("acme", "ben", (ROOT,))
    (locker,) = await house.store.at(everyone, Uri.parse("viking://user/ben/memories/locker.md"))
    house.index = LyingIndex(locker.id)
    await house.index.follow(await house.store.changes(0, 1_000))
    assert (await house.finder().find(ANN, FindQuestion("rollback a release"))).total == 0


async def test_words_that_are_neighbours_in_the_question_as_it_was_asked_lift_a_text() -> None:
    async with household() as house:
        await house.add({"x.md": "cache pancake queue", "y.md": "pancake cache queue"})
        asked = "queue deploy cache queue"  # each word once would leave `cache queue` apart
        best, other = await house.find(asked, where=OneOf("level", frozenset({"2"})))
    assert (best.uri.name, other.uri.name) == ("y.md", "x.md")
    assert best.score > other.score
