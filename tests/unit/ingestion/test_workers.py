import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from contextfind.adapters.local.words import WordTokenizer
from contextfind.adapters.memory.index import MemoryIndex
from contextfind.adapters.memory.store import MemoryRecordStore
from contextfind.domain.errors import ConflictError, InvalidArgumentError, UnavailableError
from contextfind.domain.records import ContextType, Level
from contextfind.domain.scope import visible_to
from contextfind.domain.uri import Uri
from contextfind.ingestion import embedding, summaries
from contextfind.ingestion.drafting import Drafted, draft_directory
from contextfind.ingestion.embedding import EmbeddingWorker
from contextfind.ingestion.follower import Follower
from contextfind.ingestion.pulse import Pulse
from contextfind.ingestion.settling import Settling
from contextfind.ports import Change, Commit, Committed, PendingText, RecordDraft
from tests.builders import NOON, make_passages
from tests.fakes import FakeEmbedder
from tests.households import ANN, DOCS, Household, household


class MoodyStore(MemoryRecordStore):
    """Fails its first reads of the log."""

    def __init__(self, failures: int) -> None:
        super().__init__()
        self.failures = failures

    async def changes(self, after: int, limit: int) -> Sequence[Change]:
        if self.failures:
            self.failures -= 1
            raise UnavailableError("the disk is busy")
        return await super().changes(after, limit)


async def test_the_follower_outlives_a_store_that_fails_and_says_so_meanwhile(
    caplog: pytest.LogCaptureFixture,
) -> None:
    follower = Follower(MoodyStore(1), MemoryIndex(WordTokenizer()), Pulse())
    task = asyncio.create_task(follower.run())
    said = [follower.standing]
    async with asyncio.timeout(20):
        while said[-2:] != ["does not follow: the disk is busy", "ok"]:
            await asyncio.sleep(0.001)
            if follower.standing != said[-1]:
                said.append(follower.standing)
    assert not task.done()
    assert "trying again" in caplog.text
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_summaries_are_written_after_all_when_the_disk_was_full_for_a_while(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with household() as house:
        put, failures = house.blobs.put, [2]

        async def failing(blobs: Sequence[bytes]) -> Sequence[str]:
            if failures[0] and any(blob.startswith(b"# docs") for blob in blobs):
                failures[0] -= 1
                raise UnavailableError("no space left")
            return await put(blobs)

        house.blobs.put = failing  # type: ignore[method-assign]
        await house.writer.write(ANN, DOCS.child("a.md"), "the quokka", "create")
        await house.settled()
        assert failures == [0]
        assert "a.md" in await house.browser.overview(ANN, Uri("viking://resources/docs"))
        assert "no space left" in caplog.text


def once_drafted(house: Household, meanwhile: Callable[[], Awaitable[object]]) -> None:
    """Let something happen between the first drafting of the summary of `docs` and its commit."""
    put, left = house.blobs.put, [meanwhile]

    async def interrupted(blobs: Sequence[bytes]) -> Sequence[str]:
        if left and any(blob.startswith(b"# docs") for blob in blobs):
            await left.pop()()
        return await put(blobs)

    house.blobs.put = interrupted  # type: ignore[method-assign]


async def test_a_directory_removed_while_it_is_summarised_does_not_come_back() -> None:
    async with household() as house:
        removed: list[int] = []

        async def remove() -> None:
            removed.append(await house.writer.remove(ANN, DOCS, recursive=True))

        once_drafted(house, remove)
        await house.writer.write(ANN, DOCS.child("a.md"), "the quokka", "create")
        await house.settled()
        assert removed == [3]
        assert await house.store.known(visible_to(ANN, [DOCS]), [DOCS]) == [False]
        assert await house.store.stale(9) == []
        assert await house.find("docs") == []


async def test_a_directory_written_to_while_it_is_summarised_is_only_summarised_anew() -> None:
    async with household() as house:
        write, seen = house.store.commit, list[tuple[list[str], bool]]()

        async def watched(commit: Commit) -> Committed:
            done = await write(commit)
            if any(fresh.uri == DOCS for fresh in commit.fresh):
                records = await house.store.at(visible_to(ANN, [DOCS]), DOCS)
                stale = any(one.uri == DOCS for one in await house.store.stale(9))
                seen.append(([record.abstract for record in records], stale))
            return done

        house.store.commit = watched  # type: ignore[method-assign]
        once_drafted(
            house, lambda: house.writer.write(ANN, DOCS.child("b.md"), "the numbat", "create")
        )
        await house.writer.write(ANN, DOCS.child("a.md"), "the quokka", "create")
        await house.settled()
        assert seen[0] == (["docs", "docs"], True)
        assert len(seen) == 2
        overview = await house.browser.overview(ANN, DOCS)
        assert "a.md" in overview
        assert "b.md" in overview


async def test_a_file_written_in_place_of_a_directory_does_not_end_the_summaries() -> None:
    async with household() as house:

        async def replace() -> None:
            await house.writer.remove(ANN, DOCS, recursive=True)
            await house.writer.write(ANN, DOCS, "a file now", "create")

        once_drafted(house, replace)
        await house.writer.write(ANN, DOCS.child("a.md"), "the quokka", "create")
        await house.settled()
        (record,) = await house.store.at(visible_to(ANN, [DOCS]), DOCS)
        assert record.is_leaf
        await house.writer.write(ANN, Uri("viking://resources/more/b.md"), "x", "create")
        await house.settled()
        assert "b.md" in await house.browser.overview(ANN, Uri("viking://resources/more"))


async def test_the_summaries_outlive_a_conflict_and_say_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with household() as house:
        write, failures = house.store.commit, [1]

        async def failing(commit: Commit) -> Committed:
            if commit.fresh and failures[0]:
                failures[0] -= 1
                raise ConflictError("it is a file")
            return await write(commit)

        house.store.commit = failing  # type: ignore[method-assign]
        await house.writer.write(ANN, DOCS.child("a.md"), "the quokka", "create")
        await house.settled()
        assert failures == [0]
        assert "it is a file" in caplog.text
        assert "a.md" in await house.browser.overview(ANN, DOCS)


class LateStore(MemoryRecordStore):
    """Learns of its own commits later than its readers do, as a store with a writer of its own may."""

    async def position(self) -> int:
        return 0


async def test_control_characters_in_abstracts_do_not_end_the_summaries() -> None:
    texts = {f"{n}.md": f"Text{chr(1) * 6} number {n} says something." for n in range(9)}
    async with household() as house, asyncio.timeout(30):
        await house.add(texts)
        overview = await house.browser.overview(ANN, DOCS)
        assert "says something" in overview
        assert "\x01" not in overview
        assert not house.workers[2].done()


async def test_a_summary_that_cannot_be_drafted_holds_up_nobody_else(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def draft(uri: Uri, *rest: Any) -> Drafted:
        if uri.name == "bad":
            raise InvalidArgumentError("it is no text")
        return draft_directory(uri, *rest)

    monkeypatch.setattr(summaries, "draft_directory", draft)
    async with household() as house, asyncio.timeout(30):
        await house.add({"a.md": "# Bad"}, DOCS.child("bad"), "bad")
        await house.add({"b.md": "# Good\n\nRollback."}, DOCS.child("good"), "good")
        assert "Rollback" in await house.browser.overview(ANN, DOCS.child("good"))
    assert "docs/bad: it is no text" in caplog.text


async def test_a_directory_whose_summary_cannot_be_drafted_costs_its_neighbours_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refused: list[Uri] = []

    def draft(uri: Uri, *rest: Any) -> Drafted:
        if uri.name == "bad":
            refused.append(uri)
            raise InvalidArgumentError("it is no text")
        return draft_directory(uri, *rest)

    monkeypatch.setattr(summaries, "draft_directory", draft)
    async with household() as house, asyncio.timeout(30):
        # One ingest: their directories become stale together.
        await house.add({"bad/a.md": "# Bad", "good/b.md": "# Good\n\nRollback."})
        assert "Rollback" in await house.browser.overview(ANN, DOCS.child("good"))
    assert refused


class AskedStore(MemoryRecordStore):
    """Counts how often it is asked for texts without a vector."""

    asked = 0

    async def pending(self, limit: int) -> Sequence[PendingText]:
        self.asked += 1
        return await super().pending(limit)


@pytest.mark.parametrize("alone", [True, False])
async def test_who_embeds_alone_looks_for_texts_when_the_log_moves_and_not_by_the_clock(
    monkeypatch: pytest.MonkeyPatch, *, alone: bool
) -> None:
    monkeypatch.setattr(embedding, "_LOOK_SECONDS", 0.01)
    store, pulse = AskedStore(), Pulse()
    worker = EmbeddingWorker(store, FakeEmbedder(), pulse, time.perf_counter, alone=alone)
    task = asyncio.create_task(worker.run())
    await asyncio.sleep(0.2)
    looked = store.asked
    assert looked == 1 if alone else looked > 1
    passages = make_passages("the quokka")
    draft = RecordDraft(DOCS.child("a.md"), Level.DETAIL, ContextType.RESOURCE, "a", passages)
    await store.commit(Commit("acme", NOON, put=[draft]))
    async with asyncio.timeout(30):
        while worker.embedded == 0:
            await pulse.wait(0.1, pulse.beats)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_settling_waits_for_the_position_that_belongs_to_the_backlog() -> None:
    store, index, pulse = LateStore(), MemoryIndex(WordTokenizer()), Pulse()
    draft = RecordDraft(DOCS.child("a.md"), Level.DETAIL, ContextType.RESOURCE, "a", ())
    await store.commit(Commit("acme", NOON, put=[draft]))
    worker = EmbeddingWorker(store, FakeEmbedder(), pulse, time.perf_counter)
    settled = asyncio.create_task(Settling(store, index, worker, pulse).settle(None, None, 10))
    await asyncio.sleep(0.05)
    assert not settled.done()
    await index.follow(await store.changes(0, 10))
    pulse.beat()
    await settled


async def test_settling_says_when_the_index_was_not_there_in_time() -> None:
    store, index, pulse = MemoryRecordStore(), MemoryIndex(WordTokenizer()), Pulse()
    draft = RecordDraft(DOCS.child("a.md"), Level.DETAIL, ContextType.RESOURCE, "a", ())
    await store.commit(Commit("acme", NOON, put=[draft]))
    worker = EmbeddingWorker(store, FakeEmbedder(), pulse, time.perf_counter)
    settled = await Settling(store, index, worker, pulse).settle(None, None, 0)
    assert "not finished within 0 s" in settled.note
