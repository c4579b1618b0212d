import asyncio
from collections.abc import Sequence
from datetime import datetime

import pytest

from contextfind.adapters.memory.jobs import MemoryJobStore
from contextfind.adapters.memory.sessions import MemorySessionStore
from contextfind.domain.conversation import Archive, ArchiveState, Session
from contextfind.domain.errors import InvalidArgumentError, NotFoundError
from contextfind.domain.identity import Identity
from contextfind.domain.uri import Uri
from contextfind.ports import Job, JobState
from tests.builders import NOON
from tests.households import ANN, BEN
from tests.offices import BROKEN, MEMORY, FakeChat, FakeExtractor, office


async def test_a_commit_archives_at_once_and_summarises_behind_the_request() -> None:
    async with office(FakeChat(), FakeExtractor()) as here:
        await here.say("How do I brew green tea?", "With hot water please.", "And now?")
        done = await here.committer.commit(ANN, "s1", 1)
        assert done.archive is not None
        assert (done.archive.id, done.archive.message_count) == ("archive_001", 2)
        assert done.active_tokens == 1
        assert [one.text for one in await here.sessions.pending(ANN, "s1")] == ["And now?"]
        assert done.job is not None
        job = await here.jobs.finished(ANN, done.job.id, 10)
        assert (job.kind, job.state, job.stage) == ("session_commit", JobState.COMPLETED, "done")
        assert (job.done, job.total) == (1, 1)
        assert job.result == {
            "session_id": "s1",
            "archive_uri": "viking://user/ann/sessions/s1/history/archive_001",
            "memories_extracted": {"created": 1, "updated": 0},
            "memories": [MEMORY.text],
            "invalid_count": 1,
            "invalid": ["memory 2 of the answer: no text"],
            "note": "",
        }
        [archive] = await here.archives()
        assert (archive.state, archive.abstract) == (ArchiveState.DONE, "By the model.")
        assert (archive.overview, archive.error) == ("- by the model", "")
        session = await here.sessions.get(ANN, "s1")
        assert session is not None
        assert (session.commit_count, session.memories_extracted) == (1, 1)
        assert here.settling.asked == [("acme", Uri("viking://user/ann/memories"))]


async def test_without_a_model_an_archive_is_quoted() -> None:
    async with office() as here:
        await here.say("How do I brew green tea at home?")
        job = await here.commit()
        assert job.result is not None
        assert job.result["note"] == ""
        assert job.result["memories_extracted"] == {"created": 0, "updated": 0}
        [archive] = await here.archives()
        assert archive.state is ArchiveState.DONE
        assert archive.abstract == "How do I brew green tea at home?"
        assert "- **user**: How do I brew green tea at home?" in archive.overview
        assert archive.error == ""
        assert here.settling.asked == []


@pytest.mark.parametrize(("said", "keep"), [(0, 0), (2, 2), (2, 99)])
async def test_where_nothing_is_to_be_archived_nothing_happens(said: int, keep: int) -> None:
    async with office(FakeChat(), FakeExtractor()) as here:
        await here.sessions.create(ANN, "s1", {}, NOON)
        await here.say(*["words"] * said)
        done = await here.committer.commit(ANN, "s1", keep)
        assert (done.archive, done.job) == (None, None)
        assert done.reason == "nothing to archive"
        assert done.active_tokens == said
        assert await here.jobs.list(ANN, 10) == []


async def test_a_job_that_is_seen_to_have_ended_is_in_nobodys_way() -> None:
    class Slow(MemoryJobStore):
        async def save(self, job: Job) -> None:
            await super().save(job)
            if job.state.ended:
                saved.set()
                await asyncio.Event().wait()

    saved = asyncio.Event()
    async with office(None, FakeExtractor(fault=BROKEN)) as here:
        here.job_store = Slow()
        here.open()
        await here.say("I like green tea.")
        await here.committer.commit(ANN, "s1")
        await saved.wait()
        again = await here.committer.commit(ANN, "s1")
        assert again.reason.startswith("nothing new to archive; what a model owes")


async def test_an_unknown_session_is_not_found_nor_is_one_of_somebody_else() -> None:
    async with office() as here:
        await here.say("words")
        for who, name in ((ANN, "nope"), (BEN, "s1")):
            with pytest.raises(NotFoundError) as fault:
                await here.committer.commit(who, name)
            assert fault.value.details == {"resource": name, "type": "session"}
        with pytest.raises(InvalidArgumentError):
            await here.committer.commit(ANN, "../x")


async def test_R095_of_two_commits_at_once_the_first_archives() -> None:  # noqa: N802 - a case
    async with office(FakeChat(), FakeExtractor()) as here:
        await here.say("I like green tea.")
        both = await asyncio.gather(*(here.committer.commit(ANN, "s1") for _ in range(2)))
        started = [one.job for one in both if one.job is not None]
        assert len(started) == 1
        assert [one.reason for one in both] == [
            "",
            f"nothing new to archive; task {started[0].id} is not through with the last commit yet",
        ]
        await here.jobs.finished(ANN, started[0].id, 10)
        assert len(await here.archives()) == 1
        assert here.extractor is not None
        assert len(here.extractor.seen) == 1


class SlowSessions(MemorySessionStore):
    """Lets everybody else go first, many times, before it looks and before it archives."""

    async def get(self, identity: Identity, session_id: str) -> Session | None:
        found = await super().get(identity, session_id)
        for _ in range(20):
            await asyncio.sleep(0)
        return found

    async def archive(
        self, identity: Identity, session_id: str, keep: int, now: datetime
    ) -> Archive | None:
        for _ in range(20):
            await asyncio.sleep(0)
        return await super().archive(identity, session_id, keep, now)


async def test_R095_a_store_that_is_slow_changes_nothing_of_that() -> None:  # noqa: N802 - a case
    async with office() as here:
        here.sessions = SlowSessions()
        here.open()
        await here.say("I like green tea.")
        both = await asyncio.gather(*(here.committer.commit(ANN, "s1") for _ in range(2)))
        [job] = await here.jobs.list(ANN, 10)
        assert [one.job is None for one in both] == [False, True]
        ended = await here.jobs.finished(ANN, job.id, 10)
        assert ended.result is not None
        assert ended.result["note"] == ""
        assert [one.state for one in await here.archives()] == [ArchiveState.DONE]


class TestACrash:
    """The process ends between two steps; the next one opens the same stores."""

    async def test_behind_the_archive_leaves_a_job_that_summarises_it(self) -> None:
        async with office(FakeChat(), FakeExtractor()) as here:
            await here.say("I like green tea.")
            await here.committer.commit(ANN, "s1")
            await here.jobs.aclose()
            [archive] = await here.archives()
            assert archive.state is ArchiveState.PENDING
            here.open()
            assert await here.jobs.resume() == 1
            [job] = await here.jobs.list(ANN, 10)
            assert (await here.jobs.finished(ANN, job.id, 10)).state is JobState.COMPLETED
            [archive] = await here.archives()
            assert archive.abstract == "By the model."
            assert here.extractor is not None
            assert len(here.extractor.known) == 1

    async def test_before_the_archive_leaves_the_messages_as_they_are(self) -> None:
        class Crashing(MemorySessionStore):
            async def archive(
                self, identity: Identity, session_id: str, keep: int, now: datetime
            ) -> Archive | None:
                raise ConnectionAbortedError(identity, session_id, keep, now)

        async with office() as here:
            whole = here.sessions
            await here.say("I like green tea.")
            here.sessions = Crashing()
            here.sessions._held = whole._held
            here.open()
            with pytest.raises(ConnectionAbortedError):
                await here.committer.commit(ANN, "s1")
            await here.jobs.aclose()
            here.sessions = whole
            here.open()
            assert await here.jobs.resume() == 1
            [job] = await here.jobs.list(ANN, 10)
            ended = await here.jobs.finished(ANN, job.id, 10)
            assert ended.result is not None
            assert ended.result["note"] == "no archive waited"
            assert await here.archives() == []
            assert len(await here.sessions.pending(ANN, "s1")) == 1

    async def test_in_the_middle_of_the_memories_repeats_them(self) -> None:
        extractor = FakeExtractor(hanging=True)
        async with office(None, extractor) as here:
            await here.say("I like green tea.")
            await here.committer.commit(ANN, "s1")
            while not extractor.seen:  # noqa: ASYNC110 - the pool says nothing
                await asyncio.sleep(0.001)
            await here.jobs.aclose()
            extractor.hanging = False
            here.open()
            assert await here.jobs.resume() == 1
            [job] = await here.jobs.list(ANN, 10)
            ended = await here.jobs.finished(ANN, job.id, 10)
            assert ended.result is not None
            assert ended.result["memories_extracted"] == {"created": 1, "updated": 0}


async def test_a_session_deleted_meanwhile_ends_its_job() -> None:
    async with office(FakeChat(), FakeExtractor()) as here:
        await here.say("I like green tea.")
        done = await here.committer.commit(ANN, "s1")
        await here.sessions.delete(ANN, "s1")
        assert done.job is not None
        job = await here.jobs.finished(ANN, done.job.id, 10)
        assert job.state is JobState.COMPLETED
        assert job.result is not None
        assert (job.result["archive_uri"], job.result["note"]) == (None, "no archive waited")


class Overtaken(MemorySessionStore):
    """Archives once more, as another process might, while somebody looks which archives wait."""

    looks = 0

    async def archives(
        self, identity: Identity, session_id: str, limit: int | None = None
    ) -> Sequence[Archive]:
        self.looks += 1
        if self.looks == 2:
            await self.archive(identity, session_id, 0, NOON)
        return await super().archives(identity, session_id, limit)


async def test_an_archive_that_comes_meanwhile_is_left_to_the_job_that_it_has() -> None:
    async with office() as here:
        here.sessions = Overtaken()
        here.open()
        await here.say("one", "two")
        await here.commit(keep=1)
        first, second = await here.archives()
        assert (first.state, second.state) == (ArchiveState.DONE, ArchiveState.PENDING)
        kinds = [job.kind for job in await here.jobs.list(ANN, 10)]
        assert kinds == ["session_commit"]  # none that would try again later
